// Job: `pretty()`, a listener that shows what a runtime does on a terminal while an agent is developed.
// Not its job: records of turns (`bowline show`), files (`jsonl.ts`).
import { styleText } from "node:util";
import { type Known, requireKnown } from "../model/known.ts";
import { redacted } from "../model/redact.ts";
import { statusOf } from "../model/tool.ts";
import type { Usage } from "../model/usage.ts";
import type { Span, TelemetryEvent, TelemetryListener } from "./telemetry.ts";
import { fitted } from "./terminal-text.ts";

export interface PrettyOptions {
  /** Receives each line with its line break. Default: writes to stderr. */
  readonly write?: ((line: string) => void) | undefined;
  /** Default: whether lines go to a terminal, and `NO_COLOR` is not set. */
  readonly color?: boolean | undefined;
}
const OPTIONS: Known<PrettyOptions> = { write: true, color: true };

/** Writes a line of at most 80 columns for each turn, round, model call, tool call, wait and job that ends, and each event. */
export function pretty(options: PrettyOptions = {}): TelemetryListener {
  requireKnown("pretty", options, OPTIONS);
  const { write = toStderr, color = write === toStderr && isColoured() } = options;
  const line = (words: string, style: Style | undefined): void =>
    write(`${color && style !== undefined ? styleText(style, words, { validateStream: false }) : words}\n`);
  return {
    kinds: KINDS,
    end: (span) => line(lineOf(span as Shown), styleOf(span as Shown)),
    event(span, event) {
      line(eventLine(span, event), "yellow");
    },
  };
}

const COLUMNS = 80;
type Style = "bold" | "cyan" | "dim" | "red" | "yellow";
type Shown = Extract<Span, { readonly kind: "turn" | "round" | "model" | "tool" | "wait" | "job" }>;

const toStderr = (line: string): void => void process.stderr.write(line);

function isColoured(): boolean {
  const { NO_COLOR, TERM } = process.env;
  return process.stderr.isTTY === true && !NO_COLOR && TERM !== "dumb";
}

const KINDS = ["turn", "round", "model", "tool", "wait", "job"] as const satisfies readonly Shown["kind"][];
const isShown = ({ kind }: Span): boolean => (KINDS as readonly string[]).includes(kind);

function depthOf(span: Span | undefined): number {
  let depth = 0;
  for (let above = span?.parent; above !== undefined; above = above.parent) if (isShown(above)) depth++;
  return depth;
}
const indentOf = (depth: number): string => "  ".repeat(Math.min(depth, 8));

function lineOf(span: Shown): string {
  const { startedAt, endedAt = startedAt, error } = span;
  const ms = shortTime(Math.max(0, endedAt - startedAt));
  const facts = [...factsOf(span), ...(error === undefined ? [] : [`${error.code}: ${redacted(error.message)}`])];
  return fitted(`${indentOf(depthOf(span))}${titleOf(span)}  ${ms}  ${facts.join(" · ")}`, COLUMNS);
}

function titleOf(span: Shown): string {
  switch (span.kind) {
    case "turn":
      return `turn ${short(span.turnId)}`;
    case "round":
      return `round ${span.round}`;
    case "model":
      return `model ${short(span.model)}`;
    case "tool":
      return `tool ${short(span.call.name)}`;
    case "wait":
      return `wait ${span.wants}`;
    case "job":
      return `job ${short(span.operation ?? span.job)}`;
  }
}

function factsOf(span: Shown): readonly string[] {
  switch (span.kind) {
    case "turn": {
      const how = span.outcome?.kind ?? span.how ?? "left";
      return [...(span.isResumed ? ["resumed"] : []), how, ...tokensIn(span.usage), ...given(span.label)];
    }
    case "round":
      return [];
    case "model":
      return [
        ...(span.attempt > 1 ? [`attempt ${span.attempt}`] : []),
        ...(span.purpose === "turn" ? [] : [span.purpose]),
        ...given(span.reply?.finish),
        ...tokensIn(span.usage),
        ...(span.firstMs === undefined ? [] : [`first ${Math.round(span.firstMs)} ms`]),
      ];
    case "tool":
      return [
        ...(span.attempt > 1 ? [`attempt ${span.attempt}`] : []),
        ...given(span.output === undefined ? undefined : statusOf(span.output)),
      ];
    case "wait":
      return [...given(span.how), ...given(span.call?.name), ...given(span.by && `by ${span.by}`)];
    case "job":
      return [...given(span.state), ...given(span.label)];
  }
}

const given = (words: string | undefined): readonly string[] => (words === undefined || words === "" ? [] : [words]);

function tokensIn(usage: Usage | undefined): readonly string[] {
  if (usage === undefined) return [];
  const { input, cacheRead, cacheWrite, output, reasoning } = usage;
  return [`${input + cacheRead + cacheWrite} in, ${output + reasoning} out`];
}

const shortTime = (ms: number): string =>
  ms < 10 ? `${ms.toFixed(1)} ms` : ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;

/** Ids can have 256 bytes, and the text after them must fit too. */
const short = (words: string): string => fitted(words, 32);

function styleOf({ kind, error }: Shown): Style | undefined {
  if (error !== undefined) return "red";
  if (kind === "turn" || kind === "job") return "bold";
  return kind === "tool" ? "cyan" : kind === "round" ? "dim" : undefined;
}

function eventLine(span: Span | undefined, { name, about }: TelemetryEvent): string {
  const fields = Object.entries(about).map(
    ([field, value]) => `${field}=${typeof value === "string" ? redacted(value) : JSON.stringify(value)}`,
  );
  return fitted(`${indentOf(span === undefined ? 0 : depthOf(span) + 1)}· ${name}  ${fields.join(" ")}`, COLUMNS);
}
