// What a monitor has printed and what its session is told of it.
// W1 The newest 128 lines are kept, here until they are written and in the store after that.
// W2 The session is told once, and not again before it has acknowledged that: by a commit of the turn that took it in, or by
//    somebody who took the lines. Lines that come meanwhile are told together then. So a flood is one turn, not a thousand.
// W3 What is printed to the standard error opens no turn.
import type { CheckedMonitor } from "../../kernel/monitor.ts";
import { asTurnId, type InputId } from "../../model/ids.ts";
import type { JobEvent, JobRecord, JobWake } from "../../model/job.ts";
import { TEXTS } from "../../model/texts.ts";
import type { JobLine, JobWrites } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { type WakeInput, wakeInput } from "../jobs/wake.ts";

/** W1 */
export const LINES_MAX = 128;
/** How many lines are told at once; of more, the newest. */
const TOLD_MAX = 20;

/** Something that the session was told and has perhaps not taken in. */
interface Told {
  readonly inputId: InputId;
  readonly isNotice: boolean;
  /** The last line of which it tells; 0 where that is not known. */
  readonly upTo: number;
}

export class Telling {
  readonly #core: Core;
  readonly #record: () => JobRecord;
  readonly #spec: CheckedMonitor;
  /** Lines that are not written yet. */
  #lines: JobLine[] = [];
  #n = 0;
  #printed = 0;
  /** Lines that the session has not been told of, and how many older ones of them were dropped. */
  #untold: JobLine[] = [];
  #dropped = 0;
  #wake: Told | undefined;
  #notice: Told | undefined;
  #isEnding = false;

  constructor(core: Core, record: () => JobRecord, spec: CheckedMonitor) {
    this.#core = core;
    this.#record = record;
    this.#spec = spec;
  }

  /** How many lines the command has printed. */
  get count(): number {
    return this.#printed;
  }
  get hasLines(): boolean {
    return this.#lines.length > 0;
  }
  get hasMore(): boolean {
    return this.hasLines || this.#untold.length > 0;
  }

  /** An earlier run has said so many lines. */
  goOnAfter(n: number): void {
    this.#n = n;
    this.#printed = n;
  }
  /** An earlier run has told this: whether as a wake is not known, so nothing else is before it is acknowledged. */
  told(inputId: InputId): void {
    this.#wake = { inputId, isNotice: false, upTo: 0 };
  }

  hear(channel: JobLine["channel"], text: string): void {
    const line = { n: ++this.#n, at: this.#core.world.now(), channel, text };
    if (channel !== "note") this.#printed++;
    this.#lines.push(line);
    if (this.#lines.length > LINES_MAX) this.#lines.shift();
    if (this.#spec.wake === "none") return;
    this.#untold.push(line);
    if (this.#untold.length <= TOLD_MAX) return;
    this.#untold.shift();
    this.#dropped++;
  }

  /** What is to be written now; undefined when there is nothing. */
  async next(): Promise<JobWrites | undefined> {
    const how = await this.#how();
    const wakes = how === "none" ? [] : [this.#input(how === "notify")];
    const lines = [...this.#lines];
    if (lines.length === 0 && wakes.length === 0) return undefined;
    return { says: { lines, max: LINES_MAX }, ...(wakes.length === 0 ? {} : { wakes }) };
  }

  /** This was written. */
  wrote({ says, wakes: [wake] = [] }: JobWrites): void {
    const upTo = says?.lines.at(-1)?.n ?? 0;
    this.#lines = this.#lines.filter(({ n }) => n > upTo);
    if (wake === undefined) return;
    const told = { inputId: wake.id, isNotice: wake.place === "injected", upTo: Number(wake.key?.split("/").at(-1)) };
    if (told.isNotice) this.#notice = told;
    else this.#wake = told;
    this.#untold = this.#untold.filter(({ n }) => n > told.upTo);
    this.#dropped = 0;
  }

  /** What goes with the end of the job: the last lines, and how it ended. */
  async last(ended: Extract<JobEvent, { readonly kind: "ended" }>): Promise<JobWrites> {
    const { state, error } = ended;
    const note = error?.message ?? TEXTS.monitorOver(state);
    if (!this.#isEnding) this.hear("note", note); // A write that failed is tried again.
    this.#isEnding = true;
    const says = { lines: [...this.#lines], max: LINES_MAX };
    const { wake } = this.#spec;
    if (wake === "none" || state === "cancelled") return { says };
    await this.#acknowledge();
    const { label } = this.#record();
    const lines = this.#untold.filter(({ channel }) => channel !== "note").map(shown);
    const text = TEXTS.monitorEnded(label, this.#id, note, lines, this.#dropped);
    // A turn that waits to be opened for its lines takes this in too; one that runs may have no boundary left.
    const isNotice = wake === "notify" || (await this.#isWaiting(this.#wake));
    return { says, wakes: [this.#wakeInput("end", text, isNotice)] };
  }

  /** W2: whether the session can be told now, and how. */
  async #how(): Promise<JobWake> {
    if (this.#untold.length === 0) return "none";
    await this.#acknowledge();
    if (this.#untold.length === 0) return "none";
    const isWake = this.#spec.wake === "wake" && this.#untold.some(({ channel }) => channel === "out"); // W3
    if (this.#wake !== undefined) return "none";
    if (isWake) return "wake";
    return this.#notice === undefined ? "notify" : "none";
  }

  async #acknowledge(): Promise<void> {
    const { store } = this.#core;
    const { taken } = await store.jobs.lines(this.#record().id);
    const left = this.#untold.filter(({ n }) => n > taken);
    if (left.length < this.#untold.length) this.#dropped = 0;
    this.#untold = left;
    if (await this.#isAcknowledged(this.#wake, taken)) this.#wake = undefined;
    if (await this.#isAcknowledged(this.#notice, taken)) this.#notice = undefined;
  }

  async #isAcknowledged(told: Told | undefined, taken: number): Promise<boolean> {
    if (told === undefined || (await this.#isWaiting(told))) return false; // Whoever takes it in will be told the rest.
    if (told.upTo > 0 && told.upTo <= taken) return true;
    const turn = await this.#core.store.find(asTurnId(told.inputId.replace(/^inp_/, "trn_")));
    return turn === undefined || turn.state === "ended" || turn.state === "withdrawn";
  }

  /** It waits to be taken in. */
  async #isWaiting(told: Told | undefined): Promise<boolean> {
    if (told === undefined) return false;
    const waiting = await this.#core.store.inputs.list(this.#record().sessionId);
    return waiting.some(({ id }) => id === told.inputId);
  }

  #input(isNotice: boolean): WakeInput {
    const record = this.#record();
    const last = this.#untold.at(-1)?.n ?? 0;
    const text = TEXTS.monitorLines(record.label, this.#id, this.#untold.map(shown), this.#dropped);
    return this.#wakeInput(`lines/${last}`, text, isNotice);
  }
  /** Another monitor may have had the same job id long ago, and have told as much. */
  #wakeInput(name: string, text: string, isNotice: boolean): WakeInput {
    const record = this.#record();
    return wakeInput(this.#core, record, `${record.createdAt}/${name}`, text, isNotice);
  }
  get #id(): string {
    return this.#spec.id ?? this.#record().id;
  }
}

const MARKS = { out: "", err: "(error output) ", note: "(note) " } as const;
const shown = ({ channel, text }: JobLine): string => `${MARKS[channel]}${text}`;
