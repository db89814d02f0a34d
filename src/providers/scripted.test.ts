import { expect, test } from "vitest";
import { asTurnId, nodeId } from "../model/ids.ts";
import { text } from "../model/message.ts";
import { type ModelPart, type ModelRequest, ProviderFailure } from "../model/request.ts";
import { NO_USAGE } from "../model/usage.ts";
import { type MakeProvider, providerLaws } from "../testing/provider-laws.ts";
import { demo } from "./demo.ts";
import type { Provider } from "./provider.ts";
import { both, calls, cut, ends, says, scripted, thinks } from "./scripted.ts";

const MAKERS: readonly (readonly [name: string, make: MakeProvider])[] = [
  ["scripted", (parts) => scripted(parts, parts, parts)],
  ["demo", () => demo()],
  ["demo that takes its time", () => demo({ delayMs: 1 })],
];

for (const [name, make] of MAKERS) {
  for (const { law, check } of providerLaws) test(`E1 ${name}: ${law}`, () => check(make));
}

const request = (words: string): ModelRequest => ({
  system: "Be brief.",
  messages: [{ id: nodeId(asTurnId("trn_1"), 0), role: "user", parts: [text(words)] }],
  tools: [],
});

async function read(provider: Provider, asked = request("Hello."), signal = new AbortController().signal) {
  const parts: ModelPart[] = [];
  for await (const some of provider.stream(asked, { signal, load: () => new Uint8Array() }))
    parts.push(...[some].flat());
  return parts;
}

/** The parts in short: `text Nine.`, `call search`, `finish stop`. */
const told = async (provider: Provider): Promise<readonly string[]> =>
  (await read(provider)).map((part) => {
    if (part.kind === "call") return `call ${part.callId} ${part.name} ${JSON.stringify(part.input)}`;
    return part.kind === "finish" ? `finish ${part.reason}` : `${part.kind} ${"delta" in part ? part.delta : ""}`;
  });

test("E1 a scripted model plays its replies in order", async () => {
  const model = scripted(says("One", " two."), calls("search", { q: "tigers" }), thinks("Hm.", says("Nine.")));
  expect(await told(model)).toEqual(["text One", "text  two.", "finish stop"]);
  expect(await told(model)).toEqual(['call call_search search {"q":"tigers"}', "finish calls"]);
  expect(await told(model)).toEqual(["reasoning Hm.", "text Nine.", "finish stop"]);
});

test("E1 several scripted replies make one, whose calls have unique ids", async () => {
  const model = scripted(both(says("Let me look."), calls("search"), calls("search")), both(says("a"), says("b")));
  expect(await told(model)).toEqual([
    "text Let me look.",
    "call call_search_1 search {}",
    "call call_search_2 search {}",
    "finish calls",
  ]);
  expect(await told(model)).toEqual(["text a", "text b", "finish stop"]);
});

test("E1 a scripted reply can end otherwise, break off, or fail", async () => {
  const failure = new ProviderFailure({ class: "overloaded", message: "Later." });
  const model = scripted(ends("length", "Nine ki"), cut("Nine"), failure);
  expect(await told(model)).toEqual(["text Nine ki", "finish length"]);
  expect(await told(model)).toEqual(["text Nine"]);
  await expect(read(model)).rejects.toBe(failure);
});

test("E1 a scripted reply can depend on the request, and requests are kept as they were", async () => {
  const failure = new ProviderFailure({ class: "input", message: "No." });
  const model = scripted(
    ({ system }) => says(system),
    () => failure,
  );
  const messages = [...request("Hello.").messages];
  expect(await read(model, { ...request(""), messages })).toMatchObject([{ delta: "Be brief." }, { kind: "finish" }]);
  messages.length = 0; // The caller goes on to change its list; the recorded request must not change.
  await expect(read(model)).rejects.toBe(failure);
  expect(model.requests).toEqual([request("Hello."), request("Hello.")]);
});

test("E1 a scripted model that is asked once too often throws an error", async () => {
  const model = scripted(says("Nine."));
  await read(model);
  await expect(read(model)).rejects.toMatchObject({ class: "unknown", message: expect.stringContaining("1 reply") });
});

test("E1 an aborted scripted model has been cancelled", async () => {
  await expect(read(scripted(says("Nine.")), request("Hello."), AbortSignal.abort())).rejects.toMatchObject({
    class: "cancelled",
  });
});

type Speak = (parts: readonly ModelPart[], request: ModelRequest, signal: AbortSignal) => AsyncIterable<ModelPart>;

const speaking =
  (stream: Speak): MakeProvider =>
  (parts) => ({ id: "broken", modelId: "test", stream: (asked, { signal }) => stream(parts, asked, signal) });

let place = 0;
const BROKEN: readonly (readonly [what: string, make: MakeProvider])[] = [
  ["has no name", (parts) => ({ ...scripted(parts), id: "" })],
  ["never finishes", (parts) => scripted(parts.slice(0, -1))],
  ["finishes twice", (parts) => scripted([...parts, parts.at(-1)!])],
  ["continues after the end", (parts) => scripted([...parts, { kind: "text", delta: "And…" }])],
  ["yields an invalid part", (parts) => scripted([{ kind: "word" } as unknown as ModelPart, ...parts])],
  [
    "counts by guess",
    (parts) =>
      scripted(
        parts.map((part) => (part.kind === "finish" ? { ...part, usage: { ...NO_USAGE, input: Number.NaN } } : part)),
      ),
  ],
  [
    "changes the request",
    (parts) =>
      scripted((asked) => {
        Object.assign(asked, { system: "" });
        return parts;
      }),
  ],
  ["answers once", (parts) => scripted(parts)],
  [
    "has one place for all its calls",
    speaking(async function* (parts) {
      for (place = 0; place < parts.length; place++) yield parts[place]!;
    }),
  ],
  [
    "does not hear an abort while it waits",
    speaking(async function* (parts) {
      yield parts[0]!;
      await new Promise(() => {});
    }),
  ],
  [
    "fails in its own way when it is aborted",
    speaking(async function* (parts, _, signal) {
      for (const part of parts) {
        signal.throwIfAborted();
        yield part;
      }
    }),
  ],
  [
    "does not let go",
    (parts) => {
      const stream = scripted(parts, parts, parts);
      const hold = { return: () => new Promise<never>(() => {}) };
      return {
        ...stream,
        stream: (...about) => ({
          [Symbol.asyncIterator]: () => {
            const inner = stream.stream(...about)[Symbol.asyncIterator]();
            return { next: () => inner.next(), ...hold };
          },
        }),
      };
    },
  ],
];

test.concurrent.each(BROKEN)("E1 the laws notice a provider that %s", async (_, make) => {
  const broken: string[] = [];
  for (const { law, check } of providerLaws) {
    if (broken.length === 0) await check(make).catch(() => broken.push(law));
  }
  expect(broken).toHaveLength(1);
});
