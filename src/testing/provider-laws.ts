// The promises of every provider, as data: run them with any test runner.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { asCallId, asTurnId, nodeId } from "../model/ids.ts";
import { text } from "../model/message.ts";
import { type FinishReason, type ModelPart, type ModelRequest, ProviderFailure } from "../model/request.ts";
import { NO_USAGE } from "../model/usage.ts";
import type { Provider } from "../providers/provider.ts";

/**
 * Creates a provider that answers every request with these parts. A provider whose replies cannot be chosen ignores
 * them.
 */
export type MakeProvider = (parts: readonly ModelPart[]) => Provider;

/** A promise of every provider. `check` throws when it is broken. */
export interface ProviderLaw {
  readonly law: string;
  check(make: MakeProvider): Promise<void>;
}

/** How soon a stream must end after it was cancelled or abandoned. */
const SOON_MS = 1_000;

const FINISH_REASONS: ReadonlySet<string> = new Set<FinishReason>(["stop", "calls", "length", "refused", "other"]);
const TOKENS = ["input", "cacheRead", "cacheWrite", "output", "reasoning", "unknownCalls"] as const;

const finish = (reason: FinishReason): ModelPart => ({
  kind: "finish",
  reason,
  usage: { ...NO_USAGE, input: 10, output: 5 },
});

const SCRIPTS: readonly (readonly ModelPart[])[] = [
  [finish("stop")],
  [{ kind: "text", delta: "Four." }, finish("stop")],
  [
    { kind: "reasoning", delta: "Hm.", id: "0" },
    { kind: "made", of: "reasoning", id: "0", data: { signature: "s" } },
    { kind: "text", delta: "Let me ", id: "1" },
    { kind: "text", delta: "see.", id: "1" },
    { kind: "call", callId: asCallId("call_1"), name: "calculator", input: { expression: "2 + 2" } },
    { kind: "call", callId: asCallId("call_2"), name: "calculator", input: '{"expression": "2 +' },
    finish("calls"),
  ],
  [{ kind: "text", delta: "Fo" }, finish("length")],
];

const LONG: readonly ModelPart[] = [
  ...Array.from({ length: 50 }, (_, index): ModelPart => ({ kind: "text", delta: `Word ${index}. ` })),
  finish("stop"),
];

const asking = (words: string, more: Partial<ModelRequest> = {}): ModelRequest => ({
  system: "Be brief.",
  messages: [{ id: nodeId(asTurnId("trn_law"), 0), role: "user", parts: [text(words)] }],
  tools: [],
  ...more,
});

const CALCULATOR = {
  name: "calculator",
  description: "Computes.",
  inputSchema: { type: "object", properties: { expression: { type: "string" } }, required: ["expression"] },
} as const;

const REQUESTS: readonly ModelRequest[] = [
  asking("Hello."),
  asking("What is 2 + 2?", { tools: [CALCULATOR], toolChoice: "auto", settings: { temperature: 0 } }),
];

/** Checks every script with every request. */
async function each(check: (script: readonly ModelPart[], request: ModelRequest) => Promise<void>): Promise<void> {
  for (const script of SCRIPTS) for (const request of REQUESTS) await check(script, request);
}

const open = (provider: Provider, request: ModelRequest, signal: AbortSignal = new AbortController().signal) =>
  provider.stream(request, { signal, load: () => new Uint8Array() })[Symbol.asyncIterator]();

type Stream = ReturnType<typeof open>;

/** Returns the parts of one step of a stream; undefined at its end. */
async function take(stream: Stream): Promise<readonly ModelPart[] | undefined> {
  const { done, value } = await soon(stream.next(), "The stream stood still.");
  if (done === true) return undefined;
  return Array.isArray(value) ? (value as readonly ModelPart[]) : [value as ModelPart];
}

async function readAll(stream: Stream): Promise<readonly ModelPart[]> {
  const parts: ModelPart[] = [];
  for (let some = await take(stream); some !== undefined; some = await take(stream)) parts.push(...some);
  return parts;
}

const read = (provider: Provider, request: ModelRequest, signal?: AbortSignal): Promise<readonly ModelPart[]> =>
  readAll(open(provider, request, signal));

async function soon<T>(promise: Promise<T>, otherwise: string): Promise<T> {
  const timer = new AbortController();
  const late = pause(SOON_MS, undefined, { signal: timer.signal, ref: false }).then(() => assert.fail(otherwise));
  try {
    return await Promise.race([promise, late]);
  } finally {
    timer.abort();
    late.catch(() => {});
  }
}

/** Asserts that the stream ends soon, normally or with a `ProviderFailure`. */
async function endsSoon(stream: Stream): Promise<void> {
  try {
    await readAll(stream);
  } catch (error) {
    assert.ok(error instanceof ProviderFailure, `It failed with ${String(error)}.`);
  }
}

function requirePart(part: ModelPart): void {
  const said = JSON.stringify(part);
  const isId = "id" in part ? typeof part.id === "string" || part.id === undefined : true;
  assert.ok(isId, said);
  switch (part.kind) {
    case "text":
    case "reasoning":
      return assert.equal(typeof part.delta, "string", said);
    case "made":
      return assert.ok((part.of === "text" || part.of === "reasoning") && part.data !== undefined, said);
    case "call":
      assert.ok(typeof part.callId === "string" && part.callId !== "" && typeof part.name === "string", said);
      return assert.ok(part.input !== undefined, said);
    case "finish":
      assert.ok(FINISH_REASONS.has(part.reason), said);
      for (const bucket of part.usage === undefined ? [] : TOKENS) {
        assert.ok(Number.isSafeInteger(part.usage?.[bucket]) && part.usage![bucket] >= 0, `${bucket} in ${said}`);
      }
      return;
    default:
      assert.fail(`${said} is no part`);
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    Object.values(value).forEach(deepFreeze);
  }
  return value;
}

export const providerLaws: readonly ProviderLaw[] = [
  {
    law: "it has a name, and so has its model",
    async check(make) {
      const { id, modelId } = make(SCRIPTS[0]!);
      for (const name of [id, modelId]) assert.ok(typeof name === "string" && name.trim() !== "");
    },
  },
  {
    law: "a stream is made of model parts, and nothing but JSON is in them",
    check: (make) =>
      each(async (script, request) => {
        const parts = await read(make(script), request);
        parts.forEach(requirePart);
        assert.deepEqual(JSON.parse(JSON.stringify(parts)), parts);
      }),
  },
  {
    law: "a stream ends with one finish",
    check: (make) =>
      each(async (script, request) => {
        const parts = await read(make(script), request);
        assert.equal(parts.filter((part) => part.kind === "finish").length, 1);
        assert.equal(parts.at(-1)?.kind, "finish");
      }),
  },
  {
    law: "a request is not changed",
    check: (make) =>
      each(async (script, request) => {
        const before = structuredClone(request);
        await read(make(script), deepFreeze(request));
        assert.deepEqual(request, before);
      }),
  },
  {
    law: "nothing is kept between calls: the same request has the same answer",
    check: (make) =>
      each(async (script, request) => {
        const provider = make(script);
        assert.deepEqual(await read(provider, request), await read(provider, request));
      }),
  },
  {
    law: "two calls at once do not disturb each other",
    check: (make) =>
      each(async (script, request) => {
        const alone = await read(make(script), request);
        const provider = make(script);
        const streams = [open(provider, request), open(provider, request)] as const;
        const heard: readonly ModelPart[][] = [[], []];
        for (let open = 2; open > 0; ) {
          open = 0;
          for (const [index, stream] of streams.entries()) {
            const some = await take(stream);
            if (some !== undefined) open++;
            heard[index]!.push(...(some ?? []));
          }
        }
        assert.deepEqual(heard, [alone, alone]);
      }),
  },
  {
    law: "an aborted call ends soon, and a call beside it continues",
    async check(make) {
      for (const request of REQUESTS) {
        const alone = await read(make(LONG), request);
        const provider = make(LONG);
        const cancel = new AbortController();
        const [cancelled, other] = [open(provider, request, cancel.signal), open(provider, request)];
        const [, first] = [await take(cancelled), await take(other)];
        cancel.abort();
        await endsSoon(cancelled);
        assert.deepEqual([...(first ?? []), ...(await readAll(other))], alone);
      }
    },
  },
  {
    law: "a call that is aborted while it is waited for ends soon",
    async check(make) {
      const cancel = new AbortController();
      const stream = open(make(LONG), REQUESTS[0]!, cancel.signal);
      const ending = endsSoon(stream);
      cancel.abort();
      await ending;
    },
  },
  {
    law: "a call that was aborted before it began ends soon, and has no output",
    async check(make) {
      const stream = open(make(LONG), REQUESTS[0]!, AbortSignal.abort());
      const parts: ModelPart[] = [];
      try {
        parts.push(...(await readAll(stream)));
      } catch (error) {
        assert.ok(error instanceof ProviderFailure, `It failed with ${String(error)}.`);
        assert.ok(!error.isRetryable, `${error.class} would be tried again.`);
      }
      assert.deepEqual(parts, []);
    },
  },
  {
    law: "who stops listening is let go",
    async check(make) {
      const stream = open(make(LONG), REQUESTS[0]!);
      await take(stream);
      if (stream.return !== undefined) await soon(Promise.resolve(stream.return()), "It does not let go.");
      assert.equal(await take(stream), undefined);
    },
  },
];
