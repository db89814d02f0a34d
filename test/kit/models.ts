/** Models for tests, and what they say. What only scripts of replies need is in `bowline/testing`. */
import type { Message } from "bowline";
import type { ToolCall } from "bowline/plugin";
import { type ModelPart, type ModelRequest, type Provider, ProviderFailure } from "bowline/provider";
import { wordsOf } from "./reading.ts";

// ── What they say ───────────────────────────────────────────────────────────────────────────────────────────────────

export const text = (delta: string): ModelPart => ({ kind: "text", delta });
export const call = (name: string, input: ToolCall["input"] = {}, id = `call_${name}`): ModelPart => ({
  kind: "call",
  callId: id as ToolCall["id"],
  name,
  input,
});
const usage = { input: 10, cacheRead: 0, cacheWrite: 0, output: 5, reasoning: 0, unknownCalls: 0 };
export const end: ModelPart = { kind: "finish", reason: "stop", usage };
export const endInCalls: ModelPart = { kind: "finish", reason: "calls", usage };
export const overflow = new ProviderFailure({ class: "context-overflow", message: "Too long." });

/** Says nothing more until it is told to. */
export const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

// ── Who says it ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** A model that answers every request with what was said last, and remembers nothing. */
export const echo = (): Provider => ({
  id: "echo",
  modelId: "test",
  async *stream({ messages }) {
    yield text(`re: ${wordsOf(messages.findLast(({ role }) => role === "user"))}`);
    yield end;
  },
});

export interface Played extends Provider {
  readonly requests: readonly ModelRequest[];
}

type Play = (request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelPart | readonly ModelPart[]>;

/** A model whose replies are programs: they may wait, break, or never end. */
export function plays(...replies: readonly Play[]): Played {
  const requests: ModelRequest[] = [];
  return {
    id: "played",
    modelId: "test",
    requests,
    stream(request, { signal }) {
      const reply = replies[requests.length];
      requests.push({ ...request, messages: [...request.messages] });
      if (reply === undefined) throw new Error(`There are ${replies.length} replies, and one more was asked for.`);
      return reply(request, signal);
    },
  };
}

export interface Heard extends Provider {
  readonly requests: readonly ModelRequest[];
  /** What the model was told in each request, since it last spoke. */
  readonly told: readonly (readonly string[])[];
}

/** Calls `work` when it is told to work, else repeats what it was told since it last spoke. It remembers nothing. */
export function listener(before?: (request: ModelRequest, signal: AbortSignal) => Promise<void>): Heard {
  const requests: ModelRequest[] = [];
  const told: (readonly string[])[] = [];
  return {
    id: "listener",
    modelId: "test",
    requests,
    told,
    async *stream(request, { signal }) {
      const news = sinceItSpoke(request.messages);
      requests.push({ ...request, messages: [...request.messages] });
      told.push(news);
      await before?.(request, signal);
      const work = news.filter((words) => words.startsWith("Work"));
      if (work.length > 0) yield call("work", {}, `call_${request.messages.length}`);
      else yield text(news.length === 0 ? "Done." : `re: ${news.join(" + ")}`);
      yield end;
    },
  };
}

const sinceItSpoke = (messages: readonly Message[]): readonly string[] =>
  messages
    .slice(messages.findLastIndex(({ role }) => role === "assistant") + 1)
    .filter(({ role }) => role === "user")
    .map(wordsOf);

type Line = readonly ModelPart[] | ((request: ModelRequest) => AsyncIterable<ModelPart>);
/** What is said to an input that begins with `#`, reply by reply. */
export type Scripts = ReadonlyMap<string, readonly Line[]> | { readonly [input: string]: readonly Line[] };

/** A model without a memory: several sessions may ask it, in any order. What does not begin with `#` changes nothing. */
export function follows(scripts: Scripts): Provider {
  const lines = scripts instanceof Map ? scripts : new Map(Object.entries(scripts));
  return {
    id: "follows",
    modelId: "test",
    async *stream(request) {
      const { messages } = request;
      const asked = messages.findLastIndex((message) => message.role === "user" && wordsOf(message).startsWith("#"));
      const said = messages.slice(asked + 1).filter(({ role }) => role === "assistant").length;
      const line = lines.get(wordsOf(messages[asked]))?.[said];
      if (line === undefined) throw new Error(`There is no reply ${said} to ${wordsOf(messages[asked])}.`);
      yield* typeof line === "function" ? line(request) : line;
    },
  };
}
