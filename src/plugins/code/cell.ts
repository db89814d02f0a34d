// A running cell: its calls and its output so far, and the answers to the results of its segments.
import { shortened, type ToolOutput } from "../../plugin.ts";
import type { CellProgress, CellSegment } from "../../protocol.ts";
import { calleeOf, type GuestRead, type Progress } from "../../sandbox/quickjs/index.ts";
import { TEXTS } from "./texts.ts";
import type { CodeTools } from "./tools.ts";

type Cell = CellSegment["cell"];
type Executed = Extract<CellProgress, { readonly kind: "executed" }>;
type Called = Extract<CellProgress, { readonly kind: "called" }>;
type Over = Exclude<Progress, { readonly state: "waiting" }>;
type Attachments = NonNullable<Extract<ToolOutput, { readonly kind: "value" }>["attachments"]>;

/** How many attachments of call results are shown with the output of the cell. */
const ATTACHMENTS_MAX = 16;

export class RunningCell {
  readonly #cell: Cell;
  readonly #shownCharsMax: number;
  #announced = 0;
  #printed = "";
  #attachments: Attachments = [];
  readonly #reads = new Map<string, GuestRead>();
  /** The code has ended and passed its value to a tool: the place of that call, and the end of the cell after it. */
  #finishing: { readonly at: string; readonly end: Executed } | undefined;

  constructor(cell: Cell, shownCharsMax: number) {
    this.#cell = cell;
    this.#shownCharsMax = shownCharsMax;
  }

  /** What the code reads at this place; undefined if the place is a call or a sleep. */
  readAt(at: string): GuestRead | undefined {
    return this.#reads.get(at);
  }

  attach(output: ToolOutput | undefined): void {
    if (output?.kind !== "value" || output.attachments === undefined) return;
    this.#attachments = [...this.#attachments, ...output.attachments].slice(0, ATTACHMENTS_MAX);
  }

  /** The answer to a delivery after the code has ended; undefined while the code runs. */
  afterEnd(at: string): CellProgress | undefined {
    if (this.#finishing === undefined) return undefined;
    const { end } = this.#finishing;
    // Other deliveries end sleeps that no code awaits any more.
    return at === this.#finishing.at ? end : { kind: "called", calls: [], meter: end.meter };
  }

  /** `tools` improve error messages. A replay has none, because its messages are not shown. */
  answerTo(progress: Progress, tools?: CodeTools): CellProgress {
    this.#printed += progress.printed;
    for (const { id, reads } of progress.sleeps) if (reads !== undefined) this.#reads.set(String(id), reads);
    this.#announced += progress.calls.length + progress.sleeps.length;
    const called = calledIn(progress);
    if (progress.state === "waiting") return called;
    const { finishBy } = this.#cell;
    if (progress.state !== "done" || progress.finish === undefined || finishBy === undefined)
      return this.#executed(progress, tools);
    const { finish, ...rest } = progress;
    const at = String(this.#announced++);
    const input = finishBy.field === undefined ? finish : { [finishBy.field]: finish };
    this.#finishing = { at, end: this.#executed(rest) };
    return { ...called, calls: [...called.calls, { at, tool: finishBy.tool, input }] };
  }

  #executed(progress: Over, tools?: CodeTools): Executed {
    const { state, steps: meter } = progress;
    const { finish, continues } = progress.state === "done" ? progress : NOTHING;
    const output = {
      state,
      parts: this.#partsOf(progress, tools),
      ...(finish === undefined ? {} : { finish }),
      ...(continues === undefined ? {} : { continues }),
    };
    return { kind: "executed", output, meter, heap: progress.state === "stopped" ? undefined : progress.heap };
  }

  /** The printed text, and how the cell ended. A protocol that asks for both in full gets two separate parts. */
  #partsOf(progress: Over, tools?: CodeTools): Executed["output"]["parts"] {
    const end = [endOf(progress), hintFor(progress, tools)];
    if (progress.state !== "stopped") end.push(...(progress.unhandled ?? []).map(TEXTS.unhandled));
    const words = [this.#printed.replace(/\n$/, ""), joined(end)].filter((each) => each !== "");
    if (this.#cell.isWhole === true) return [...words.map(asText), ...this.#attachments];
    // A message without parts is refused by most providers.
    if (words.length + this.#attachments.length === 0) return [asText(TEXTS.nothing)];
    const text = shortened(joined(words), this.#shownCharsMax);
    return [...(text === "" ? [] : [asText(text)]), ...this.#attachments];
  }
}

const joined = (texts: readonly string[]): string => texts.filter((each) => each !== "").join("\n");
const asText = (text: string) => ({ kind: "text", text }) as const;

const NOTHING: { readonly finish?: undefined; readonly continues?: undefined } = {};

const calledIn = ({ calls, sleeps, steps: meter }: Progress): Called => ({
  kind: "called",
  calls: calls.map(({ id, tool, input }) => ({ at: String(id), tool, input })),
  sleeps: sleeps.map(({ id, ms }) => ({ at: String(id), ms })),
  meter,
});

function endOf(progress: Over): string {
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

function hintFor(progress: Over, tools: CodeTools | undefined): string {
  if (progress.state !== "threw" || progress.error.name !== "ReferenceError") return "";
  const [, name = ""] = /^(\w+) is not defined$/.exec(progress.error.message) ?? [];
  return tools?.surface.tools.includes(name) ? TEXTS.calledAs(calleeOf(tools.pathOf(name))) : "";
}

/** What code receives for an output: a value, or an error that the call throws. */
export function answerIn(output: ToolOutput | undefined): object {
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

/**
 * How a replay differs from the record. Tools are compared by the names in the code, because the available tools may
 * have changed.
 */
export function differenceOf(recorded: CellProgress, again: CellProgress): string | undefined {
  if (recorded.kind === "executed" && again.kind === "executed") {
    const { output: before, heap } = recorded;
    if (again.output.state !== before.state) return `it was ${before.state}, and is ${again.output.state}`;
    if (heap !== undefined && again.heap !== heap) return "what it keeps is not the same";
    return again.meter === recorded.meter ? undefined : "it computed more, or less";
  }
  if (recorded.kind === "executed" || again.kind === "executed")
    return `it ${recorded.kind === "executed" ? "had ended" : "waited"}, and does not`;
  if (namedCalls(again) !== namedCalls(recorded)) return "it makes other calls";
  if (JSON.stringify(again.sleeps ?? []) !== JSON.stringify(recorded.sleeps ?? [])) return "it sleeps differently";
  return again.meter === recorded.meter ? undefined : "it computed more, or less";
}

const namedCalls = ({ calls }: Called): string =>
  JSON.stringify(calls.map(({ at, tool, input, as = tool }) => [at, as, input]));
