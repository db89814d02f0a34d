// Runs the cells of a session in guests of a sandbox.
// E1 A guest lives as long as a turn runs here: between turns, and while a turn rests, a session holds none.
// E2 What decides about the heap comes from the image and the segments on record: numbers of cells, seeds and times too.
// E3 A replay must come to what is on record: calls with their inputs, sleeps, steps, and at the end of a cell the heap.
//    Comparing calls alone would miss half of the deliveries that came in another order.
import {
  type CellProgress,
  type CellSegment,
  type CodeContext,
  type CodeExecutor,
  type CodePast,
  RuntimeError,
  shortened,
  type ToolOutput,
} from "../../index.ts";
import type { CellBounds, Delivery, Guest, Progress, Sandbox } from "../../sandbox/quickjs/index.ts";
import { forgetImage, imageIn, type Kept, keepImage } from "./kept.ts";
import { TEXTS } from "./texts.ts";

type Parts = Extract<CellProgress, { readonly kind: "executed" }>["output"]["parts"];
type Attachments = NonNullable<Extract<ToolOutput, { readonly kind: "value" }>["attachments"]>;

const LANGUAGES: ReadonlySet<string> = new Set(["ts", "typescript", "js", "javascript"]);

/** Attachments in results of calls are shown with the output of the cell: at most so many. */
const ATTACHMENTS_MAX = 16;

export class Executor implements CodeExecutor<Kept> {
  readonly #sandbox: Sandbox;
  readonly #bounds: CellBounds;
  readonly #shownCharsMax: number;
  #guest: Guest | undefined;
  /** How many cells the session has run, the one that runs included. */
  #cells = 0;
  #isDirty = false;
  #printed = "";
  #attachments: Attachments = [];

  constructor(sandbox: Sandbox, bounds: CellBounds, shownCharsMax = Infinity) {
    this.#sandbox = sandbox;
    this.#bounds = bounds;
    this.#shownCharsMax = shownCharsMax;
  }

  async restore({ start, isFresh, segments }: CodePast<Kept>, { turnId, signal }: CodeContext<Kept>): Promise<void> {
    await this.release();
    this.#guest = await this.#sandbox.open(isFresh ? undefined : await imageIn(start), this.#bounds);
    this.#cells = start.get().cells;
    this.#isDirty = isFresh;
    for (const { segment, progress } of segments) {
      if (signal.aborted) throw new RuntimeError("code.stopped", { problem: TEXTS.turnStopped });
      // Nothing of a refused cell ran. To compile it again may cost the thread once more (nesting without end).
      if (isRefused(progress)) {
        this.#cells++;
        continue;
      }
      const again = this.#answerOf(await this.#run(segment, turnId, true));
      const problem = differenceOf(progress, again);
      if (problem !== undefined) throw new RuntimeError("code.diverged", { cell: segment.name, problem });
    }
  }

  async execute(segment: CellSegment, context: CodeContext<Kept>): Promise<CellProgress> {
    const { language } = segment.cell;
    if (!LANGUAGES.has(language.toLowerCase())) {
      this.#cells++;
      return refusedLanguage(language);
    }
    const { signal } = context;
    if (signal.aborted) return stoppedTurn;
    const guest = this.#guest;
    const stop = (): void => void guest?.close();
    signal.addEventListener("abort", stop, { once: true });
    try {
      const progress = await this.#run(segment, context.turnId, false);
      if (progress.printed !== "") context.emit("printed", { text: progress.printed });
      return signal.aborted && progress.state === "stopped" ? stoppedTurn : this.#answerOf(progress);
    } catch (error) {
      if (!signal.aborted) throw error;
      return stoppedTurn;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  dirty(): boolean {
    return this.#isDirty;
  }

  async snapshot({ start, isFresh, segments }: CodePast<Kept>, { state }: CodeContext<Kept>): Promise<void> {
    const { resets } = state.get();
    // Somebody wanted the heap forgotten while the turn was open: that counts from this commit on.
    const isReset = resets !== start.get().resets;
    if (isReset || (isFresh && segments.length === 0)) return forgetImage(state, this.#cells, resets);
    await keepImage(state, this.#cells, await this.#requireGuest().image());
  }

  async release(): Promise<void> {
    const guest = this.#guest;
    this.#guest = undefined;
    await guest?.close();
  }

  #requireGuest(): Guest {
    if (this.#guest === undefined) throw new RuntimeError("code.lost", {});
    return this.#guest;
  }

  async #run({ name, cell, time: at, deliver }: CellSegment, turnId: string, replays: boolean): Promise<Progress> {
    const guest = this.#requireGuest();
    const isReplay = replays || undefined;
    if (deliver !== undefined) {
      if (deliver.output?.kind === "value") this.#attach(deliver.output.attachments ?? []);
      return guest.deliver({ id: Number(deliver.at), at, isReplay, ...answerIn(deliver.output) } as Delivery);
    }
    this.#cells++;
    this.#printed = "";
    this.#attachments = [];
    const { code, acceptFinish } = cell;
    return guest.start({ code, file: `cell-${this.#cells}.ts`, seed: `${turnId}/${name}`, at, acceptFinish, isReplay });
  }

  #attach(more: Attachments): void {
    this.#attachments = [...this.#attachments, ...more].slice(0, ATTACHMENTS_MAX);
  }

  #answerOf(progress: Progress): CellProgress {
    const { state, steps: meter } = progress;
    this.#printed += progress.printed;
    if (state !== "refused") this.#isDirty = true;
    if (state === "waiting") {
      const calls = progress.calls.map(({ id, tool, input }) => ({ at: String(id), tool, input }));
      const sleeps = progress.sleeps.map(({ id, ms }) => ({ at: String(id), ms }));
      return { kind: "called", calls, sleeps, meter };
    }
    const finish = state === "done" && progress.finish !== undefined ? { finish: progress.finish } : {};
    const heap = state === "stopped" ? undefined : progress.heap;
    return { kind: "executed", output: { state, parts: this.#partsOf(progress), ...finish }, meter, heap };
  }

  #partsOf(progress: Exclude<Progress, { readonly state: "waiting" }>): Parts {
    const words = [this.#printed.replace(/\n$/, ""), endOf(progress)];
    if (progress.state !== "stopped") words.push(...(progress.unhandled ?? []).map(TEXTS.unhandled));
    const text = words.filter((each) => each !== "").join("\n");
    const isNothing = text === "" && this.#attachments.length === 0;
    // A message without parts is refused by most providers.
    const shown = isNothing ? TEXTS.nothing : shortened(text, this.#shownCharsMax);
    return [...(shown === "" ? [] : [{ kind: "text", text: shown } as const]), ...this.#attachments];
  }
}

function endOf(progress: Exclude<Progress, { readonly state: "waiting" }>): string {
  switch (progress.state) {
    case "done":
      return progress.value === undefined ? "" : TEXTS.value(progress.value);
    case "threw":
      return TEXTS.threw(progress.error);
    case "stalled":
      return TEXTS.stalled;
    case "refused":
      return TEXTS.refused(progress.problems);
    case "stopped":
      return TEXTS.stopped(progress.bound);
  }
}

const stoppedTurn: CellProgress = {
  kind: "executed",
  output: { state: "stopped", parts: [{ kind: "text", text: TEXTS.turnStopped }] },
};

const refusedLanguage = (language: string): CellProgress => ({
  kind: "executed",
  output: { state: "refused", parts: [{ kind: "text", text: TEXTS.language(language) }] },
});

const isRefused = (progress: CellProgress): boolean =>
  progress.kind === "executed" && progress.output.state === "refused";

/** What the code is given for an output: a value, or an error that its call throws. */
function answerIn(output: ToolOutput | undefined): object {
  switch (output?.kind) {
    case undefined:
      return { slept: true };
    case "value":
      return { value: output.value };
    case "failure":
      return { error: { code: output.failure.code, message: output.failure.message } };
    case "cancelled":
      return { error: { code: "tool.cancelled", message: output.reason } };
    case "unknown":
      return { error: { code: "tool.unknown-result", message: output.reason } };
  }
}

/** E3: how a replay differs from what is on record. */
function differenceOf(recorded: CellProgress, again: CellProgress): string | undefined {
  if (recorded.kind === "executed" && again.kind === "executed") {
    const { output: before, heap } = recorded;
    if (again.output.state !== before.state) return `it was ${before.state}, and is ${again.output.state}`;
    if (heap !== undefined && again.heap !== heap) return "what it keeps is not the same";
    return again.meter === recorded.meter ? undefined : "it computed more, or less";
  }
  if (recorded.kind === "executed" || again.kind === "executed")
    return `it ${recorded.kind === "executed" ? "had ended" : "waited"}, and does not`;
  if (JSON.stringify(again.calls) !== JSON.stringify(recorded.calls)) return "it makes other calls";
  if (JSON.stringify(again.sleeps ?? []) !== JSON.stringify(recorded.sleeps ?? [])) return "it sleeps differently";
  return again.meter === recorded.meter ? undefined : "it computed more, or less";
}
