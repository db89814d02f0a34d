import { textOf } from "../model/message.ts";
import type { TurnOutcome } from "../model/outcome.ts";
import type { RecordedWait, TurnDetails } from "../model/turn-record.ts";
import { fit, lasting, padded, price, wrapped } from "./columns.ts";
import type { LookSettings } from "./look.ts";
import { ago, counted, type Paint, tokens } from "./print.ts";
import { jsonFor, oneLine, textFor } from "./text.ts";
import { answerOf, processIn, WANTED } from "./timeline.ts";

/**
 * A line of a head, such as `session chat`. A field without words is not shown. A field with `wraps` can take several
 * lines.
 */
export type Field = readonly [name: string, words: string | undefined, how?: "wraps"];
const NAME = 10;
const WRAPPED_MAX = 5;

/** Prints one field per line. With `--full` no text is cut, so it can take several lines. */
export function fieldLines(
  fields: readonly Field[],
  settings: LookSettings,
  width: number,
  paint: Paint,
): readonly string[] {
  const text = textFor(settings);
  const room = width - NAME - 2;
  return fields.flatMap(([name, words, how]) => {
    if (words === undefined) return [];
    const label = `  ${paint("dim", padded(name, NAME))}`;
    if (!settings.full && how === undefined) return [`${label}${fit(oneLine(words, text), room)}`];
    const [first = "", ...others] = settings.full
      ? text(words.trim()).split("\n")
      : wrapped(oneLine(words, text), room).slice(0, WRAPPED_MAX);
    return [`${label}${first}`, ...others.map((line) => " ".repeat(NAME + 2) + line)];
  });
}

/** The input, outcome and usage of a turn. */
export function turnHead(turn: TurnDetails, settings: LookSettings, width: number, paint: Paint): readonly string[] {
  const { id, sessionId, parentId, state, input, outcome, metadata, children, waits, resumed = [] } = turn;
  const json = (value: unknown): string => jsonFor(settings, value);
  const fields: Field[] = [
    ["session", parentId === undefined ? sessionId : `${sessionId} (child of ${parentId})`],
    ["input", input === undefined ? undefined : inputWords(input, settings.full)],
    outcome === undefined ? ["state", state] : ["outcome", outcomeWords(outcome, json), ...wrapsProblem(outcome)],
    ["used", usedWords(turn), "wraps"],
    ["cost", price(turn.cost, settings.prices) || undefined],
    ["started", startedWords(turn)],
    ...waits.map((wait): Field => ["wait", waitWords(wait, json)]),
    ...resumed.map(({ at, by, isFault }): Field => {
      const who = by === undefined ? "" : ` by ${processIn(by)}`;
      return ["resumed", `${time(at)}${who}${isFault ? " after an error of its store" : ""}`];
    }),
    ["children", children.length === 0 ? undefined : children.join(", ")],
    ["metadata", metadata === undefined ? undefined : json(metadata)],
  ];
  const title = fit(oneLine(`Turn ${id}`, textFor(settings)), width);
  return [paint("bold", title), ...fieldLines(fields, settings, width, paint)];
}

export const time = (at: number): string => new Date(at).toISOString();

function inputWords(input: NonNullable<TurnDetails["input"]>, isFull: boolean): string {
  const words = textOf(input).trim();
  const others = input.filter(({ kind }) => kind !== "text").length;
  const more = others === 0 ? "" : `(and ${counted(others, "attachment")})`;
  const [first = ""] = words.split(/\r?\n/);
  const shown = isFull ? words : first === words ? words : `${first} …`;
  return [shown, more].filter((each) => each !== "").join(" ");
}

function outcomeWords(outcome: TurnOutcome, json: (value: unknown) => string): string {
  const { kind } = outcome;
  if (kind === "answered") return `answered: ${outcome.text}`;
  if (kind === "finished") {
    const { by, value } = outcome;
    return `finished by the ${by}: ${typeof value === "string" ? value : json(value)}`;
  }
  return `${kind} (${outcome.by}): ${outcome.reason} [${outcome.code}]`;
}

/** A problem is printed on several lines. An answer is not, because the conversation has it. */
const wrapsProblem = ({ kind }: TurnOutcome): readonly ["wraps"] | readonly [] =>
  kind === "failed" || kind === "stopped" ? ["wraps"] : [];

function usedWords({ model, rounds, usage }: TurnDetails): string | undefined {
  const parts = [
    model ?? "",
    rounds === undefined ? "" : counted(rounds, "round"),
    usage === undefined ? "" : tokens(usage),
  ].filter((each) => each !== "");
  return parts.length === 0 ? undefined : parts.join(", ");
}

function startedWords({ acceptedAt, startedAt, endedAt, state }: TurnDetails): string | undefined {
  if (startedAt === undefined) {
    if (endedAt !== undefined) return `unknown; ended ${time(endedAt)} (${ago(endedAt)})`;
    return acceptedAt === undefined ? undefined : `not yet; accepted ${time(acceptedAt)}`;
  }
  const took =
    endedAt !== undefined
      ? `, took ${lasting(endedAt - startedAt)}`
      : state === "interrupted"
        ? ""
        : `, ${lasting(Date.now() - startedAt)} so far`;
  const waited = acceptedAt === undefined ? "" : `, after ${lasting(startedAt - acceptedAt)} in the queue`;
  return `${time(startedAt)} (${ago(startedAt)})${took}${waited}`;
}

function waitWords(wait: RecordedWait, json: (value: unknown) => string): string {
  const { wants, call, askedAt, answeredAt } = wait;
  const after = answeredAt === undefined ? "" : ` after ${lasting(answeredAt - askedAt)}`;
  return `${WANTED[wants]} ${call.name} ${json(call.input)}: ${answerOf(wait, String)}${after}`;
}
