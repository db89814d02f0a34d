import fc from "fast-check";
import { expect, test } from "vitest";
import { asInputId, asSessionId, asTurnId, nodeId } from "../../model/ids.ts";
import { DEFAULT_LIMITS } from "../../model/limits.ts";
import { NO_USAGE } from "../../model/usage.ts";
import type { Opened } from "../../turn/event.ts";
import type { NewInput } from "../store.ts";
import {
  decodeEntries,
  decodeEvents,
  decodeInput,
  decodeOpened,
  decodeUsage,
  encodeEntries,
  encodeEvents,
  encodeInput,
  encodeOpened,
  encodeUsage,
} from "./codec.ts";

const COMMIT = "trn_1";
const kept = (value: unknown): never => JSON.parse(JSON.stringify(value)) as never;

/** Fields that may be there, or be there without a value, or be of no known kind. */
const fields = (known: { readonly [name: string]: fc.Arbitrary<unknown> }, optional: readonly string[] = []) =>
  fc.record(
    { ...known, more: fc.jsonValue() },
    { requiredKeys: Object.keys(known).filter((name) => !optional.includes(name)) as never },
  );
const words = fc.constantFrom("", "a", "\u0001b", "call", "\ud800", "trn_1.0");
const at = fc.oneof(fc.integer(), fc.constantFrom(0.5, 1_794_800_687_721, Number.NaN));
const usage = fields(Object.fromEntries(Object.keys(NO_USAGE).map((name) => [name, fc.constantFrom(0, 0, 7)])), [
  "unknownCalls",
]);
const json = fc.oneof(fc.jsonValue(), fc.constant(undefined));
const textPart = fields({ kind: fc.constant("text"), text: words });
const callPart = fields({ kind: fc.constant("toolCall"), callId: words, name: words, input: json }, ["input"]);
const resultPart = fields({
  kind: fc.constant("toolResult"),
  callId: words,
  name: words,
  status: fc.constantFrom("ok", "failed"),
  parts: fc.array(fc.oneof(textPart, fc.constant({ kind: "attachment", hash: "h" })), { maxLength: 2 }),
});
const parts = fc.array(
  fc.oneof(textPart, callPart, resultPart, fields({ kind: fc.constant("reasoning"), text: words })),
  {
    maxLength: 3,
  },
);
const role = fc.constantFrom("user", "assistant", "tool", "system", "other");
const origin = fc.oneof(
  fc.constant(undefined),
  fields({ kind: fc.constant("input"), inputId: words }),
  fc.constant({ kind: "runtime" }),
);
const entry = fc.tuple(
  fc.boolean(),
  fields({ at, kind: fc.constant("message"), message: fields({ role, parts, origin }, ["origin"]) }),
);
const entries = fc
  .array(fc.oneof(entry, fc.constant([false, { at: 1, kind: "frame", reason: "room" }] as const)), { maxLength: 6 })
  .map((list) =>
    list.map(([isElsewhere, each], index) => {
      const { message, ...rest } = each as { readonly message?: object };
      return message === undefined
        ? each
        : { ...rest, message: { id: nodeId(COMMIT, isElsewhere ? index + 1 : index), ...message } };
    }),
  );
const effect = words;
const events = fc.array(
  fc.oneof(
    fields({
      kind: fc.constant("replied"),
      reply: fields({ parts, finish: words, usage, route: words }),
      at,
      effect,
    }),
    fields({
      kind: fc.constant("returned"),
      output: fields({ kind: fc.constantFrom("value", "failure"), value: json }, ["value"]),
      at,
      effect,
    }),
    fields({ kind: fc.constant("bounded"), at, effect }),
    fields({ kind: fc.constant("slept"), at, effect }),
  ),
  { maxLength: 4 },
);

test("D8 sqlite: compactly encoded rows are read back unchanged", () => {
  fc.assert(
    fc.property(entries, events, usage, (nodes, journal, spent) => {
      expect(decodeEntries(kept(encodeEntries(nodes as never, COMMIT)), COMMIT)).toEqual(kept(nodes));
      expect(decodeEvents(kept(encodeEvents(journal as never)))).toEqual(kept(journal));
      expect(decodeUsage(kept(encodeUsage(spent as never)))).toEqual(kept(spent));
      // Old rows spell everything out.
      expect(decodeEntries(kept(nodes), COMMIT)).toEqual(kept(nodes));
      expect(decodeEvents(kept(journal))).toEqual(kept(journal));
    }),
    { numRuns: 2_000 },
  );
});

test("D8 sqlite: an input and the first event of its turn are read back as they were", () => {
  const message = fields({ role, parts, origin }, ["origin"]);
  const limits = fc.oneof(
    fc.constantFrom(DEFAULT_LIMITS, { ...DEFAULT_LIMITS, roundsMax: 3 }, undefined, { roundsMax: 50 }),
    fc.constant({ ...DEFAULT_LIMITS, laterMax: 1 }),
  );
  fc.assert(
    fc.property(message, message, limits, at, fc.boolean(), fc.boolean(), (said, other, limits, at, isSame, isOwn) => {
      const input = {
        id: asInputId("inp"),
        turnId: asTurnId(COMMIT),
        sessionId: asSessionId("s"),
        message: said,
      } as unknown as NewInput;
      const { id: inputId, turnId, sessionId } = input;
      const opened = {
        kind: "opened",
        at,
        sessionId,
        turnId: isOwn ? turnId : asTurnId("another"),
        inputId,
        input: isSame ? said : other,
        limits,
        config: { model: "m" },
        generation: 2,
      } as unknown as Opened;
      const row = { ...input, ...decodeInput(kept(encodeInput({ message: said, at } as never))) };
      expect(row.message).toEqual(kept(said));
      const first = kept(encodeOpened(opened, input)) as { readonly kind?: "opened" };
      expect(first.kind === undefined ? decodeOpened(first as never, row) : first).toEqual(kept(opened));
    }),
    { numRuns: 500 },
  );
});

test("D8 sqlite: limits omitted from rows stay those of the format, whatever the defaults become", () => {
  const opened = { kind: "opened", limits: DEFAULT_LIMITS, sessionId: "s", turnId: "t", inputId: "i" };
  const input = { id: "i", turnId: "t", sessionId: "s", message: {} } as unknown as NewInput;
  expect(encodeOpened(opened as unknown as Opened, input)).toEqual({ input: undefined });
  expect(decodeOpened({} as never, input).limits).toMatchObject({
    roundsMax: 50,
    toolMs: 600_000,
    unreadEventsMax: 10_000,
  });
});
