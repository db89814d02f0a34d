// Runs one trial: starts the processes of a scenario, kills or suspends them, and judges the result. `plan.ts` chooses
// the trials.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import type { CrashBackend, TrialResources } from "./backends/backend.ts";
import { type Death, judgeEffects, judgeInputs, judgePicture, judgeSteps, type Wrong, withoutKey } from "./judge.ts";
import { type Line, readLines } from "./ledger.ts";
import type { Orders } from "./life.ts";
import { type Picture, remainsOf, shownIn } from "./picture.ts";
import type { Trial } from "./plan.ts";
import { begin, type Ended, type Life } from "./spawn.ts";

export interface Setting {
  readonly scenario: URL;
  readonly place: CrashBackend;
  /** The name or the URL of the place, by which a process finds it. */
  readonly where: string;
  readonly execArgv: readonly string[];
  readonly timeoutMs: number;
  readonly around?: URL;
  /** The scenario's own check. */
  check?(final: Picture, told: { readonly clean: Picture; readonly acts: readonly string[] }): unknown;
}

export interface Tried {
  readonly wrong: readonly Wrong[];
  readonly kills: number;
  readonly stops: number;
  readonly places: readonly string[];
  /** The result of a run without a kill. */
  readonly clean?: { readonly picture: Picture; readonly places: readonly string[] };
}

/** A crash loop must end within this many lives: the runtime abandons a turn after 5 resumes. */
const LIVES_MAX = 10;
/** The speed of the clock, so that a lease of 30 seconds expires in 1.5. */
const STOP_SPEED = 20;
const LEASE_MS = 30_000;

/** Runs one trial on its own place, and judges it. */
export class Stage {
  readonly #setting: Setting;
  readonly #at: TrialResources;
  readonly #folder: string;
  readonly #ledger: string;
  readonly #deaths: Death[] = [];
  readonly #wrong: Wrong[] = [];
  readonly #begun: Life[] = [];
  #isLoop = false;
  #clock: Orders["clock"];

  constructor(setting: Setting, { folder, name }: TrialResources) {
    this.#setting = setting;
    this.#at = { folder: join(folder, "place"), name };
    this.#folder = join(folder, "own");
    this.#ledger = join(folder, "ledger.jsonl");
    for (const each of [this.#at.folder, this.#folder]) mkdirSync(each, { recursive: true });
  }

  async play(trial: Trial | undefined, clean: Picture | undefined): Promise<Tried> {
    try {
      await this.#run(trial);
      return await this.#judged(trial, clean);
    } finally {
      await this.#end();
      await this.#setting.place.drop?.(this.#at);
    }
  }

  /** After an error processes may be left, including suspended ones. */
  async #end(): Promise<void> {
    for (const { child } of this.#begun) child.kill("SIGKILL");
    await Promise.all(this.#begun.map(({ ended }) => ended));
  }

  async #run(trial: Trial | undefined): Promise<void> {
    if (trial === undefined) await this.#finish();
    else if (trial.kind === "kills") {
      for (const killAt of trial.at) if (!(await this.#killed({ killAt }))) break;
      await this.#finish();
    } else if (trial.kind === "loop") await this.#loop(trial.place);
    else if (trial.kind === "stop") await this.#stop(trial.at);
    else await this.#pair(trial.at);
  }

  get #lines(): readonly Line[] {
    return readLines(this.#ledger);
  }

  #begin(orders: Partial<Orders>): Life & { readonly life: number } {
    const { scenario, where, around } = this.#setting;
    const life = this.#begun.length + 1;
    const whole: Orders = {
      place: where,
      at: this.#clock === undefined ? this.#at : { ...this.#at, isHastened: true },
      folder: this.#folder,
      ledger: this.#ledger,
      life,
      worker: 0,
      ...(around === undefined ? {} : { around: around.href }),
      ...(this.#clock === undefined ? {} : { clock: this.#clock }),
      ...orders,
    };
    const begun = begin(scenario, whole, this.#setting);
    this.#begun.push(begun);
    return { ...begun, life };
  }

  /** Runs a process until it is killed. Returns false if it ended before. */
  async #killed(orders: Partial<Orders>): Promise<boolean> {
    const { ended, life } = this.#begin(orders);
    return !this.#isDone(await ended, life) && this.#remember();
  }

  /** Runs a process to its end. */
  async #finish(orders: Partial<Orders> = {}): Promise<void> {
    const { ended, life } = this.#begin(orders);
    this.#isDone(await ended, life);
  }

  /** Returns whether the process ended otherwise than by its planned kill. Records a wrong end. */
  #isDone({ signal, isLate, errors, code }: Ended, life: number): boolean {
    const lines = this.#lines.filter((line) => line.life === life);
    const last = lines.at(-1);
    if (last?.kind === "done") return true;
    if (last?.kind === "killed" && signal === "SIGKILL" && !isLate) return false;
    const end = last === undefined ? "nothing" : JSON.stringify(last).slice(0, 300);
    if (isLate) this.#wrong.push({ kind: "stuck", problem: `life ${life} did not end; its last word was ${end}` });
    else if (last?.kind === "failed") {
      const wasStopped = lines.some((line) => line.kind === "continued");
      // Two failures are correct: a suspended process has lost its lease, and a scenario whose turn was abandoned gets
      // no answer.
      if (!(wasStopped && last.code === "lease.lost") && !(this.#isLoop && last.code === "ERR_ASSERTION"))
        this.#wrong.push({ kind: "failed", problem: `in life ${life}: ${last.problem}` });
    } else
      this.#wrong.push({ kind: "failed", problem: `life ${life} ended (${signal ?? code}) after ${end}: ${errors}` });
    return true;
  }

  /** Stores what was durable when a process died. */
  async #remember(during: "still" | "shared" = "still"): Promise<true> {
    const before = this.#lines.length;
    const { place, where } = this.#setting;
    const shown = await place.look(this.#at, shownIn, during);
    // A look that changes data would hide problems that the next process must find.
    if (during === "still" && !isDeepStrictEqual(await place.look(this.#at, shownIn, during), shown))
      throw new Error(`A second look at the place ${where} shows something else. Its look must change nothing.`);
    this.#deaths.push({ before, after: this.#lines.length, recorded: shown.recorded });
    return true;
  }

  async #loop(place: string): Promise<void> {
    this.#isLoop = true;
    let turn: string | undefined; // The first turn that reaches the place. Only that turn is killed again.
    for (let life = 1; life < LIVES_MAX; life++) {
      if (!(await this.#killed({ killAt: { place, ...(turn === undefined ? {} : { turn }) } }))) return;
      turn ??= this.#lines.flatMap((line) => (line.kind === "killed" && line.turn !== undefined ? [line.turn] : []))[0];
    }
    this.#wrong.push({ kind: "stuck", problem: `a turn that kills its process at ${place} is resumed for ever` });
    await this.#finish();
  }

  async #stop(stopAt: number): Promise<void> {
    this.#clock = { from: Date.now(), speed: STOP_SPEED };
    const sleeper = this.#begin({ stopAt });
    const isStopped = await this.#sees(sleeper, "stopped");
    if (!isStopped) return void this.#isDone(await sleeper.ended, sleeper.life);
    await sleep(LEASE_MS / STOP_SPEED + 50);
    await this.#remember();
    await this.#finish({ worker: 1 });
    await this.#remember();
    sleeper.child.kill("SIGCONT");
    this.#isDone(await sleeper.ended, sleeper.life);
  }

  /** Waits until a process has written a line of this kind. Returns false if it ended without. */
  async #sees({ ended, life }: Life & { readonly life: number }, kind: Line["kind"]): Promise<boolean> {
    let isOver = false;
    void ended.then(() => (isOver = true));
    while (!isOver) {
      if (this.#lines.some((line) => line.life === life && line.kind === kind)) return true;
      await sleep(5);
    }
    return false;
  }

  async #pair(killAt: number): Promise<void> {
    const first = this.#begin({ killAt, together: 2 });
    const second = this.#begin({ worker: 1, together: 2 });
    if (!this.#isDone(await first.ended, first.life)) {
      await this.#remember("shared");
      await this.#finish();
    }
    this.#isDone(await second.ended, second.life);
  }

  async #judged(trial: Trial | undefined, clean: Picture | undefined): Promise<Tried> {
    const lines = this.#lines;
    const wrong = [...this.#wrong, ...judgeEffects(lines, this.#deaths), ...judgeSteps(lines, this.#deaths)];
    const struck = lines.flatMap((line) => (line.kind === "killed" || line.kind === "stopped" ? [line] : []));
    const kills = struck.filter(({ kind }) => kind === "killed").length;
    const tried = {
      kills,
      stops: struck.length - kills,
      places: struck.map(({ at, place }) => `${at} ${place}`),
    };
    if (!lines.some(({ kind }) => kind === "ready")) return { ...tried, wrong }; // The place was never opened.
    const remains = await this.#setting.place.look(this.#at, remainsOf, "still");
    wrong.push(...remains.wrong, ...judgeInputs(lines, remains));
    const { picture } = remains;
    // An abandoned turn ends differently from the run without a kill.
    if (trial?.kind !== "loop")
      for (const { kind, problem } of await this.#compared(picture, clean ?? picture, lines))
        wrong.push({ kind, problem: problem + withoutKey(lines) });
    const places = lines.findLast((line) => line.kind === "done")?.places ?? [];
    return { ...tried, wrong, clean: { picture, places } };
  }

  async #compared(picture: Picture, clean: Picture, lines: readonly Line[]): Promise<readonly Wrong[]> {
    const { check } = this.#setting;
    if (check === undefined) return judgePicture(picture, clean);
    const acts = lines.flatMap((line) => (line.kind === "act" ? [line.what] : []));
    try {
      await check(picture, { clean, acts });
      return [];
    } catch (error) {
      return [{ kind: "different", problem: error instanceof Error ? error.message : String(error) }];
    }
  }
}
