// The part of the conversation that a model gets.
// view-1: The model's own replies stay as it wrote them, because a model imitates its past.
// view-2: Only the last message changes from round to round. The messages before it stay equal, so that a provider can
// cache them. One exception: failed steps are removed after the model has corrected them.
// view-3: Code can read the cut part of a long text: `(await history[i]).text`, where `i` counts the messages of the
// session, not the shown ones.
import { nodeId } from "../../model/ids.ts";
import { type Message, type Part, type TextPart, text, textOf } from "../../model/message.ts";
import type { ModelRequest } from "../../model/request.ts";
import { calleeOf } from "../../model/tool-path.ts";
import { shortened } from "../../model/transcript-text.ts";
import type { RequestView } from "../../turn/driver.ts";
import { CLOSE, OPEN, read } from "./grammar.ts";
import { type DriverOptions, optionsIn } from "./options.ts";
import { TEXTS } from "./texts.ts";

const SCHEMA_CHARS_MAX = 8_000;
const CHARS_PER_TOKEN = 4;

export function request(view: RequestView): ModelRequest {
  const { system, messages, settings } = view;
  const options = optionsIn(view);
  const past = superseded(messages);
  const shown: Message[] = [];
  let chars = system.length;
  for (let index = 0; index < messages.length; index++) {
    if (past?.has(index) === true) continue;
    const message = withText(messages[index] as Message, index, options);
    for (const part of message.parts) if (part.kind === "text") chars += part.text.length;
    if (message.parts.length > 0) shown.push(message);
    if (isLost(messages, index)) shown.push(lostAt(index));
  }
  const stable = shown.length;
  shown.push(tailOf(view, options, chars));
  return { system, messages: shown, stable, tools: [], ...(settings === undefined ? {} : { settings }) };
}

/** view-2 */
function tailOf(view: RequestView, options: DriverOptions, chars: number): Message {
  const { round, limits } = view;
  const context = contextOf(chars, options);
  const words = `${TEXTS.round(round, limits.roundsMax)}\n${endingOf(view, options)}${context === "" ? "" : `\n${context}`}`;
  return {
    id: nodeId("code-mode/tail", round),
    role: "user",
    parts: [text(words)],
    origin: { kind: "runtime" },
  };
}

function endingOf({ output, unwraps }: RequestView, { ending }: DriverOptions): string {
  if (output === undefined) return ending === "finish" ? TEXTS.finishOnly : TEXTS.proseOrCell;
  const { value } = (output.properties ?? {}) as { readonly value?: unknown };
  const { $defs } = output;
  const own = unwraps === true ? { ...(value as object), ...($defs === undefined ? {} : { $defs }) } : output;
  return TEXTS.finishType(shortened(JSON.stringify(own), SCHEMA_CHARS_MAX));
}

/**
 * Estimates how full the context is from the length of the request, because the count of a provider would differ from
 * run to run.
 */
function contextOf(chars: number, { contextTokens }: DriverOptions): string {
  const used = Math.round(chars / CHARS_PER_TOKEN);
  const share = used / contextTokens;
  if (share < 0.6) return "";
  const advice = share < 0.9 ? TEXTS.adviceSoon : share < 1 ? TEXTS.adviceNext : TEXTS.adviceNow;
  return TEXTS.context(used, contextTokens, advice);
}

/**
 * Returns messages of failed steps without effects that were followed by a successful one, because the error is no
 * longer useful. Steps before a message that is not the model's do not count. A step stays if its calls may have had an
 * effect. It also stays if it has a message of a plugin, because without its error the code would look successful.
 */
function superseded(messages: readonly Message[]): ReadonlySet<number> | undefined {
  let past: Set<number> | undefined;
  let failed: number[] | undefined;
  for (let index = 0; index < messages.length; index++) {
    const { role, parts } = messages[index] as Message;
    if (role === "assistant") continue;
    const [part] = parts;
    if (part?.kind !== "codeOutput") {
      failed = undefined;
    } else if (part.status === "done") {
      past ??= failed === undefined ? undefined : new Set();
      for (const each of failed ?? []) past?.add(each);
      failed = undefined;
    } else if (part.calls === undefined) {
      failed ??= [];
      if (messages[index - 1]?.role === "assistant") failed.push(index - 1, index);
      else if (part.status === "refused") failed.push(index); // The reply was empty and is not in the history.
    }
  }
  return past;
}

/**
 * Returns whether a cell has no result, because its turn ended first or because the session was forked at this message.
 * Without a note the model would assume that it ran.
 */
function isLost(messages: readonly Message[], index: number): boolean {
  const { role, parts } = messages[index] as Message;
  if (role !== "assistant" || parts.some(isCall)) return false;
  for (let next = index + 1; next < messages.length && messages[next]?.role !== "assistant"; next++)
    if (messages[next]?.parts.some(({ kind }) => kind === "codeOutput") === true) return false;
  const words = textOf(parts);
  if (!TAG.test(words)) return false;
  const { code = "", isClosed } = read(words);
  return isClosed && code.trim() !== "";
}

const TAG = /<\/typescript>/i;

const lostAt = (index: number): Message => ({
  id: nodeId("code-mode/lost", index),
  role: "user",
  parts: [text(TEXTS.lost)],
  origin: { kind: "runtime" },
});

/** Returns a message as text, shortened if it is long. Native tool calls of an earlier protocol are shown as code. */
function withText(message: Message, index: number, options: DriverOptions): Message {
  const { role, parts, origin } = message;
  if (role === "assistant") return parts.some(isCall) ? { ...message, parts: asCode(parts) } : message;
  const isOutput = origin?.kind === "runtime" || parts[0]?.kind === "codeOutput";
  const max = isOutput ? options.outputCharsMax : options.inputCharsMax;
  const [only] = parts;
  if (parts.length === 1 && only?.kind === "text" && only.text.length <= max) return message;
  const handle = `(await history[${index}]).text`;
  let left = max;
  const cut = (part: Part): Part => {
    if (part.kind !== "text") return part;
    const words = shortened(part.text, left, (chars) => TEXTS.leftOut(chars, handle));
    left = Math.max(0, left - part.text.length);
    return { ...part, text: words };
  };
  return { ...message, role: role === "tool" ? "user" : role, parts: parts.flatMap(asText).map(cut) };
}

const isCall = ({ kind }: Part): boolean => kind === "toolCall";

function asText(part: Part): readonly Part[] {
  if (part.kind === "codeOutput") return part.parts;
  if (part.kind !== "toolResult") return [part];
  const [first, ...rest] = part.parts;
  const head = `${part.name} (${part.status}):`;
  return first?.kind === "text" ? [text(`${head} ${first.text}`), ...rest] : [text(head), ...part.parts];
}

/** view-1 for replies of another protocol. */
function asCode(parts: readonly Part[]): readonly Part[] {
  const calls = parts.flatMap((part) =>
    part.kind === "toolCall" ? [`await ${calleeOf(part.name)}(${JSON.stringify(part.input)});`] : [],
  );
  const others = parts.filter((part) => part.kind === "text");
  const words: TextPart = text([textOf(others), OPEN, ...calls, CLOSE].filter((line) => line !== "").join("\n"));
  return [...parts.filter((part) => part.kind === "reasoning"), words];
}
