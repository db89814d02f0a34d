// The code of a turn: which segments of cells have run, and the executor that runs the next one.
// Not its job: when a segment may run (`turn/work.ts`), and running it (the plugin in the slot `codeExecutor`).
// code-1 Only the folded events define which segments have run, so that a resumed turn has the same record on any machine.
// code-2 The live code is used only if it has run exactly the recorded segments. A lost or dropped answer leaves it ahead of
//        the record. Then it is restored from the state at the turn's beginning and the recorded segments.
// code-3 A stopped cell is removed from the record, so its effects are undone.
// code-4 One call of the executor at a time. An abandoned segment may still run when the turn ends, and the next call waits
//        for it.
import type { CellProgress, CodeContext, CodeExecutor, CodePast, RanSegment } from "../../kernel/code.ts";
import { within } from "../../kernel/deadline.ts";
import { isThenable } from "../../model/awaitable.ts";
import { hasCode, passingFault, RuntimeError } from "../../model/errors.ts";
import { asCallId, asEffectName, type EffectName } from "../../model/ids.ts";
import { describeThrown, frozen, isObject, type Json, toJson } from "../../model/json.ts";
import type { CellStatus } from "../../model/message.ts";
import type { Any } from "../../model/schema.ts";
import { LazyScope, type Scope } from "../../model/scope.ts";
import type { Attachable, ToolManifest } from "../../model/tool.ts";
import type { Catalog } from "../../tools/catalog.ts";
import { areNext } from "../../turn/cell.ts";
import type { EffectOf } from "../../turn/effect.ts";
import type { Answer } from "../../turn/event.ts";
import type { TurnState } from "../../turn/state.ts";
import type { Body } from "./answer.ts";
import type { LiveTurn } from "./turn.ts";

/** How often lost code is restored before the turn fails. Code of other sessions causes each loss. */
const RESTORES_MAX = 100;

/** How long an executor may take to end an abandoned segment. After that the turn does not keep the state of its code. */
const ENDING_MS = 30_000;
/** How long an executor may take to release what it uses. The next turn waits no longer. */
const RELEASE_MS = 1_000;

/** The longest sleep of code: a week, as for waits. */
const SLEEP_MS_MAX = 7 * 24 * 3_600_000;

export class TurnCode {
  readonly #live: LiveTurn;
  /** code-1 */
  #ran: RanSegment[] = [];
  #isFresh = false;
  /** How many segments the live code has run (code-2). Undefined without live code. */
  #done: number | undefined;
  #holds = false;
  /** code-4: the last call of the executor, and whether it has answered. */
  #last: { readonly over: Promise<void>; isOver: boolean } | undefined;

  constructor(live: LiveTurn) {
    this.#live = live;
  }

  /** code-1: takes an event before it is folded. It may be the answer of a segment. */
  took({ open }: TurnState, event: Answer): void {
    const effect = open.find(({ name }) => name === event.effect);
    if (effect?.kind !== "exec") return;
    if (effect.isFresh === true) this.#clear();
    if (event.kind !== "called" && event.kind !== "executed") {
      this.#done = undefined;
      return;
    }
    this.#ran.push({ segment: segmentOf(effect), progress: progressOf(event) });
    if (event.kind === "executed" && event.output.state === "stopped") this.#undoCell(cellOf(effect.name));
  }

  /** A frame with a new task began: the code starts without state. */
  #clear(): void {
    this.#ran = [];
    this.#isFresh = true;
  }

  /** code-3 */
  #undoCell(name: EffectName): void {
    const from = this.#ran.findIndex(({ segment }) => segment.name === name);
    if (from < 0) return;
    this.#ran = this.#ran.slice(0, from);
    this.#done = undefined;
  }

  async run(effect: EffectOf<"exec">, scope: Scope): Promise<Body> {
    const executor = this.#live.hooks.slot("codeExecutor");
    if (executor === undefined) throw new RuntimeError("code.unavailable", {});
    if (effect.isFresh === true) {
      this.#clear();
      this.#done = undefined;
    }
    const segment = segmentOf(effect);
    const execute = (context: CodeContext<Any>) => executor.execute(segment, context);
    const progress = await this.#inStep(executor, effect.name, scope, execute, 1);
    const problem = progressProblem(progress, this.#live.state);
    if (problem !== undefined) throw new RuntimeError("code.stopped", { problem });
    return bodyOf(this.#live, effect, progress);
  }

  /**
   * At the end of a turn in which cells ran: the answer of this effect records the state of the code. Returns false if there
   * is such a state but no executor, because the turn was resumed without its plugin. A cancel does not stop this call: the
   * turn is committed anyway, and would lose what its cells have made.
   */
  async keep(effect: EffectName): Promise<boolean> {
    const { hooks, state } = this.#live;
    const executor = hooks.slot("codeExecutor");
    if (executor === undefined) return this.#ran.length === 0;
    if (executor.snapshot === undefined) return true;
    if (state.code === "cleared") {
      this.#clear();
      this.#done = undefined;
    }
    const last = this.#ran.at(-1);
    if (last !== undefined && last.progress.kind !== "executed") this.#undoCell(last.segment.name); // The turn was stopped.
    if (this.#ran.length === 0 && !this.#isFresh) return true;
    const snapshot = async (context: CodeContext<Any>): Promise<void> => {
      if ((await executor.dirty?.(context)) !== false) await executor.snapshot?.(this.#past(), context);
    };
    await this.#inStep(executor, effect, new LazyScope(), snapshot, 0);
    return true;
  }

  /** Releases the live code. */
  async release(): Promise<void> {
    if (!this.#holds) return;
    this.#holds = false;
    this.#done = undefined;
    const trace = (problem: string): void => this.#live.trace("code.release", { problem });
    try {
      // A running segment would continue with released code.
      if (this.#last !== undefined) await isOver(this.#last, ENDING_MS);
      const released = this.#live.hooks.slot("codeExecutor")?.release?.();
      if (!isThenable(released)) return;
      const letting = { over: Promise.resolve(released).then(ignored), isOver: false };
      if (!(await isOver(letting, RELEASE_MS))) trace(`it took more than ${RELEASE_MS} ms`);
    } catch (error) {
      trace(describeThrown(error));
    }
  }

  /** code-4 */
  async #inStep<T>(
    executor: CodeExecutor<Any>,
    effect: EffectName,
    scope: Scope,
    run: (context: CodeContext<Any>) => T | PromiseLike<T>,
    segments: number,
  ): Promise<T> {
    if (!this.#holds) await this.#live.session.releasing;
    if (this.#last !== undefined && !(await isOver(this.#last, ENDING_MS)))
      throw new RuntimeError("code.stopped", { problem: "its earlier code does not end." });
    const running = this.#alone(executor, effect, scope, run, segments);
    const last = { over: running.then(ignored, ignored).then(() => void (last.isOver = true)), isOver: false };
    this.#last = last;
    return running;
  }

  /** code-2: runs a call when the live code is at the end of the record. Afterwards it is `segments` ahead of the record. */
  async #alone<T>(
    executor: CodeExecutor<Any>,
    effect: EffectName,
    scope: Scope,
    run: (context: CodeContext<Any>) => T | PromiseLike<T>,
    segments: number,
  ): Promise<T> {
    this.#holds = true;
    for (let tries = 1; ; tries++) {
      try {
        if (this.#done !== this.#ran.length)
          await this.#call(effect, scope, (context) => executor.restore?.(this.#past(), context));
        this.#done = undefined; // Undefined until the result of the call shows how far the code ran.
        const found = await this.#call(effect, scope, run);
        this.#done = this.#ran.length + segments;
        return found;
      } catch (error) {
        if (passingFault(error, this.#live.core.store) !== undefined) throw error;
        const isLost = hasCode(error, "code.lost");
        if (isLost && tries < RESTORES_MAX && !scope.signal.aborted) continue;
        throw isOfCode(error) && !isLost
          ? error
          : new RuntimeError("code.stopped", { problem: describeThrown(error) }, { cause: error });
      }
    }
  }

  /** Calls the executor like a handler: with a probe and a deadline. Its errors keep their codes. */
  async #call<T>(effect: EffectName, scope: Scope, run: (context: CodeContext<Any>) => T | PromiseLike<T>): Promise<T> {
    const { hooks } = this.#live;
    const callContext = this.#live.context(scope, effect);
    const made = await hooks.callSlotWith(
      "codeExecutor",
      async (event) => {
        try {
          return { value: await run(this.#contextOf(event, effect)) };
        } catch (error) {
          return { error };
        }
      },
      callContext,
    );
    if ("error" in made) throw made.error;
    return made.value;
  }

  #contextOf(event: object, effect: EffectName): CodeContext<Any> {
    const live = this.#live;
    const plugin = live.hooks.ownerOf("codeExecutor");
    const { catalog } = event as Pick<CodeContext<Any>, "catalog">;
    return Object.assign(event, {
      catalog: { ...catalog, list: () => listed(live.artifact?.catalog) ?? catalog.list() },
      messages: () => live.conversation.messages,
      frame: live.conversation.transcript.frame,
      now: () => live.world.now(),
      emit: (name: string, payload: Json) => live.show.emit(cellOf(effect), plugin, name, payload),
      keep: (attachable: Attachable) => live.keep(attachable, effect),
    }) as unknown as CodeContext<Any>;
  }

  #past(): CodePast<Any> {
    const { states, hooks } = this.#live;
    return { start: states.asBegun(hooks.ownerOf("codeExecutor")), isFresh: this.#isFresh, segments: [...this.#ran] };
  }
}

/** Adds the granted tools, which the catalog does not show, because code may call them too. */
function listed(catalog: Catalog | undefined): readonly ToolManifest[] | undefined {
  if (catalog === undefined || catalog.callable.length === catalog.names.length) return undefined;
  let list = LISTED.get(catalog);
  if (list === undefined) {
    const shown = new Set(catalog.manifests.map(({ name }) => name));
    const granted = catalog.callable.flatMap(
      ([
        name,
        {
          value: { description },
        },
      ]) => (shown.has(name) ? [] : [{ name, description }]),
    );
    list = frozen([...catalog.manifests, ...granted]);
    LISTED.set(catalog, list);
  }
  return list;
}
const LISTED = new WeakMap<Catalog, readonly ToolManifest[]>();

const ignored = (): void => {};

/** Waits until the call has ended. Returns false if it takes longer than this. */
async function isOver(last: { readonly over: Promise<void>; readonly isOver: boolean }, ms: number): Promise<boolean> {
  if (last.isOver) return true;
  return new Promise((resolve, reject) => {
    const deadline = within(ms, () => resolve(false));
    last.over.finally(() => deadline.clear()).then(() => resolve(true), reject);
  });
}

/** `r2.exec` of `r2.exec.d3`. */
const cellOf = (effect: EffectName): EffectName => asEffectName(effect.replace(/\.d\d+$/, ""));

const segmentOf = ({ name, cell, time, deliver }: EffectOf<"exec">): RanSegment["segment"] =>
  deliver === undefined ? { name: cellOf(name), cell, time } : { name: cellOf(name), cell, time, deliver };

function progressOf(event: Extract<Answer, { readonly kind: "called" | "executed" }>): CellProgress {
  if (event.kind === "executed") {
    const { output, meter, heap, given } = event;
    return { kind: "executed", output, meter, heap, given };
  }
  const { sleeps, meter, given } = event;
  const calls = event.calls.map(({ at, call: { name: tool, input }, as }) =>
    as === undefined ? { at, tool, input } : { at, tool, input, as },
  );
  return { kind: "called", calls, sleeps, meter, given };
}

function bodyOf({ turnId }: LiveTurn, { name }: EffectOf<"exec">, progress: CellProgress): Body {
  const { meter, given } = progress;
  const measured = { ...(meter === undefined ? {} : { meter }), ...(given === undefined ? {} : { given }) };
  if (progress.kind === "executed") {
    const { output, heap } = progress;
    return { kind: "executed", output, ...measured, ...(heap === undefined ? {} : { heap }) };
  }
  const { sleeps = [] } = progress;
  const calls = progress.calls.map(({ at, tool, input, as }) => ({
    at,
    call: { id: asCallId(`${turnId}.${cellOf(name)}.${at}`), name: tool, input },
    ...(as === undefined ? {} : { as }),
  }));
  return { kind: "called", calls, ...measured, ...(sleeps.length === 0 ? {} : { sleeps }) };
}

const isOfCode = (error: unknown): boolean => error instanceof RuntimeError && error.code.startsWith("code.");

const STATES: ReadonlySet<unknown> = new Set<CellStatus>(["done", "threw", "stalled", "stopped", "refused"]);
const isShown = (part: unknown): boolean =>
  isObject(part) && (part.kind === "text" ? typeof part.text === "string" : part.kind === "attachment");
const isPlaced = (each: unknown): each is { readonly at: string } => isObject(each) && typeof each.at === "string";

/** The problem of an executor's answer. The answer is journaled, and a plugin may be untyped. */
function progressProblem(progress: unknown, { phase }: TurnState): string | undefined {
  if (!isObject(progress)) return "it answered nothing that came of the segment";
  const json = toJson(progress);
  if ("problem" in json) return `its answer is not JSON: ${json.path}: ${json.problem}`;
  if (progress.kind === "executed") {
    const { output } = progress;
    const isOutput = isObject(output) && STATES.has(output.state) && Array.isArray(output.parts);
    if (!isOutput || !(output.parts as readonly unknown[]).every(isShown))
      return "it says that the cell is over, and not how: `output` needs a `state` that is known, and `parts`";
    return undefined;
  }
  if (progress.kind !== "called") return "its answer is neither `called` nor `executed`";
  const { calls, sleeps = [] } = progress;
  if (!Array.isArray(calls) || !Array.isArray(sleeps)) return "`calls` and `sleeps` must be lists";
  const placed = [...calls, ...sleeps] as readonly unknown[];
  if (!placed.every(isPlaced)) return "a call has no position";
  if (phase.kind === "working" && !areNext(phase.work, placed))
    return "the positions of calls and sleeps must count on, from 0, over the whole cell";
  if (calls.some((call) => typeof call.tool !== "string" || call.input === undefined))
    return "a call needs a tool and an input";
  const isSleep = ({ ms }: { ms?: unknown }): boolean => typeof ms === "number" && ms >= 0 && ms <= SLEEP_MS_MAX;
  return sleeps.every(isSleep) ? undefined : "a sleep needs its `ms`, of at most seven days";
}
