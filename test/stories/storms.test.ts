import { abort, definePlugin, defineTool, deny, fail, finish, ProviderFailure, shortCircuit } from "bowline";
import { says } from "bowline/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import {
  aborted,
  call,
  end,
  eventsOf,
  only,
  open,
  outline,
  type Played,
  plays,
  shown,
  text,
  ticks,
  wordsOf,
} from "./kit.ts";

/** What a tool may do, by the word it is called with. */
const BEHAVIOURS = ["answer", "later", "throw", "polite", "rude", "finish", "fail", "deny", "cut", "stop"] as const;
type Behaviour = (typeof BEHAVIOURS)[number];

const act = defineTool({
  name: "act",
  description: "Does as it is told.",
  input: z.object({ how: z.enum(BEHAVIOURS) }),
  timeoutMs: 15,
  execute: async ({ how }, { signal }) => {
    if (how === "answer") return "Answered.";
    if (how === "later") await ticks(20);
    if (how === "throw") throw new Error("Thrown.");
    if (how === "finish") return finish("Finished.");
    if (how === "fail") return fail("act.failed", "Failed.");
    if (how === "polite") await Promise.race([aborted(signal), ticks(40)]);
    if (how === "rude") await new Promise(() => {});
    return "Done.";
  },
});
const guard = definePlugin({
  id: "a/guard",
  setup: () => ({
    beforeToolCall: ({ call }) => {
      const { how } = call.input as { how?: Behaviour };
      if (how === "deny") return deny("Denied.");
      if (how === "cut") return shortCircuit("Cut.");
      if (how === "stop") return abort("a.stop", "Stopped.");
      return undefined;
    },
  }),
});

interface Round {
  /** Attempts that break off before the one that does not. */
  readonly broken: readonly (readonly string[])[];
  readonly words: readonly string[];
  readonly calls: readonly (Behaviour | "unknown" | "malformed" | "wrong")[];
  readonly end: "stop" | "length" | "refused" | "never";
}

const word = fc.constantFrom("a", "bc ", "", "d");
const round: fc.Arbitrary<Round> = fc.record({
  broken: fc.array(fc.array(word, { maxLength: 2 }), { maxLength: 2 }),
  words: fc.array(word, { maxLength: 3 }),
  calls: fc.oneof(
    { weight: 1, arbitrary: fc.constant([]) },
    {
      weight: 3,
      arbitrary: fc.array(fc.constantFrom(...BEHAVIOURS, "unknown" as const, "malformed" as const, "wrong" as const), {
        minLength: 1,
        maxLength: 4,
      }),
    },
  ),
  end: fc.oneof(
    { weight: 8, arbitrary: fc.constant("stop" as const) },
    { weight: 1, arbitrary: fc.constantFrom("length" as const, "refused" as const, "never" as const) },
  ),
});

/** A model that gives these replies; one that never ends does so until it is calm. */
function played(rounds: readonly Round[], calm: Promise<void>): Played {
  const replies = rounds.flatMap(({ broken, words, calls, end: ending }) => [
    ...broken.map(
      (deltas) =>
        async function* () {
          yield* deltas.map(text);
          throw new ProviderFailure({ class: "network", message: "Broken.", retryAfterMs: 0 });
        },
    ),
    async function* (_: unknown, signal: AbortSignal) {
      yield words.map(text);
      yield calls.map((how, index) => {
        if (how === "unknown") return call("nobody", {}, `c${index}`);
        if (how === "malformed") return call("act", "{", `c${index}`);
        return call("act", { how: how === "wrong" ? 42 : how }, `c${index}`);
      });
      if (ending === "never") await Promise.race([aborted(signal), calm]);
      yield ending === "never" ? end : { ...end, reason: ending };
    },
  ]);
  return plays(
    ...replies,
    ...Array.from(
      { length: 9 },
      () =>
        async function* () {
          yield* says("Last.");
        },
    ),
  );
}

test("S1 whatever the model, the tools and the caller do: one outcome, kept whole, and the session goes on", async () => {
  const storm = fc.record({
    rounds: fc.array(round, { minLength: 1, maxLength: 4 }),
    cancelAfter: fc.option(fc.nat(150), { nil: undefined }),
    sendAfter: fc.option(fc.nat(100), { nil: undefined }),
    parallel: fc.integer({ min: 1, max: 3 }),
  });
  const seenOutcomes = new Set<string>();
  const holds = fc.asyncProperty(storm, async ({ rounds, cancelAfter, sendAfter, parallel }) => {
    const limits = { parallelCallsMax: parallel, cancelGraceMs: 5, roundsMax: 6 };
    const calm = Promise.withResolvers<void>();
    await using world = await open(played(rounds, calm.promise), { tools: [act], plugins: [guard], limits });
    const { session } = world;
    const turn = session.turn("Go.");
    const watched = eventsOf(turn);
    const sent = sendAfter === undefined ? undefined : ticks(sendAfter).then(() => session.send("Also."));
    const isStuck = rounds.some(({ end: ending }) => ending === "never");
    const cancel = cancelAfter ?? (isStuck ? 400 : undefined);
    if (cancel !== undefined) await ticks(cancel).then(() => turn.cancel());
    await sent;
    const { outcome } = await turn.result();
    calm.resolve();
    seenOutcomes.add(`${outcome.kind} ${"by" in outcome ? outcome.by : ""}`);
    const events = await watched;

    // Everything that began has ended, in pairs, and the fact is the last word.
    const started = only(events, "toolStarted").map(({ key }) => key.effect);
    expect(only(events, "toolEnded").map(({ key }) => key.effect)).toEqual(started);
    expect(new Set(started).size).toBe(started.length);
    expect(events.at(-1)?.kind).toBe("committed");
    expect(only(events, "committed")).toHaveLength(1);

    // What was shown is what is kept of the turn; every call of the history has its result right after it.
    const nodes = new Set<string>(only(events, "committed")[0]?.nodes);
    const { messages } = await session.read();
    const own = messages.filter(({ id }) => nodes.has(id));
    expect(own).toHaveLength(nodes.size);
    expect(shown(events)).toBe(
      own
        .filter(({ role }) => role === "assistant")
        .map(wordsOf)
        .join(""),
    );
    for (const [index, message] of messages.entries()) {
      const asked = message.parts.flatMap((part) => (part.kind === "toolCall" ? [part.callId] : []));
      const next = messages[index + 1];
      const answered =
        next?.role === "tool" ? next.parts.flatMap((part) => (part.kind === "toolResult" ? [part.callId] : [])) : [];
      if (message.role === "assistant") expect(answered).toEqual(asked);
    }

    // Another process would find the same, the input that was sent is there once, and the next turn works.
    const last = await session.turn("Still there?").result();
    expect(["answered", "stopped", "finished", "failed"]).toContain(last.outcome.kind);
    expect(last.branch).toBeUndefined();
    const whole = await session.read();
    expect(await world.reread()).toEqual(whole);
    const said = outline(whole.messages);
    expect(said.filter((line) => line === "user: Also.")).toHaveLength(sendAfter === undefined ? 0 : 1);
    expect(said.filter((line) => line === "user: Still there?")).toHaveLength(1);
  });
  await fc.assert(holds, { numRuns: 120 });
  expect(seenOutcomes.size).toBeGreaterThan(5);
}, 20_000);
