import { definePlugin, defineTool, fail, finish, type SessionEvent } from "bowline";
import { abort, abortTurn, deny, emitEvent, enqueueMessages, shortCircuit } from "bowline/plugin";
import { ProviderFailure } from "bowline/provider";
import { says } from "bowline/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { aborted, call, end, type Played, plays, text } from "../kit/models.ts";
import { eventsOf, only, outline, shown, ticks, wordsOf } from "../kit/reading.ts";
import { sample } from "../kit/size.ts";
import { type Opened, open } from "../kit/worlds.ts";

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

/** What holds after every turn, however it went: see the promises inside. */
async function expectWhole({ session, reread }: Opened, events: readonly SessionEvent[]): Promise<void> {
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
    if (message.role !== "assistant") continue;
    const asked = message.parts.flatMap((part) => (part.kind === "toolCall" ? [part.callId] : []));
    const next = messages[index + 1];
    const results = next?.role === "tool" ? next.parts : [];
    expect(results.flatMap((part) => (part.kind === "toolResult" ? [part.callId] : []))).toEqual(asked);
  }

  // The next turn works, and another process would find the same.
  const last = await session.turn("Still there?").result();
  expect(["answered", "stopped", "finished", "failed"]).toContain(last.outcome.kind);
  expect(last.branch).toBeUndefined();
  expect(await reread()).toEqual(await session.read());
}

test("S1 whatever the model, the tools and the caller do: one outcome, kept whole, and the session continues", async () => {
  const storm = fc.record({
    rounds: fc.array(round, { minLength: 1, maxLength: 4 }),
    cancelAfter: fc.option(fc.nat(150), { nil: undefined }),
    sendAfter: fc.option(fc.nat(100), { nil: undefined }),
    parallel: fc.integer({ min: 1, max: 3 }),
  });
  const seenOutcomes = new Set<string>();
  const holds = fc.asyncProperty(storm, async ({ rounds, cancelAfter, sendAfter, parallel }) => {
    // A model that hangs has to answer within the grace: after it, its text is dropped, and what was shown is not what is kept.
    const limits = { parallelCallsMax: parallel, cancelGraceMs: 25, roundsMax: 6 };
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

    await expectWhole(world, events);
    const said = outline((await session.read()).messages);
    expect(said.filter((line) => line === "user: Also.")).toHaveLength(sendAfter === undefined ? 0 : 1);
    expect(said.filter((line) => line === "user: Still there?")).toHaveLength(1);
  });
  await fc.assert(holds, { numRuns: sample(40, 240) });
  expect(seenOutcomes.size).toBeGreaterThan(sample(2, 5));
}, 20_000);

const PLACES = [
  "context",
  "beforeTurn",
  "prompt",
  "request",
  "streamFinished",
  "beforeToolCall",
  "afterToolCall",
  "checkpoint",
  "afterTurn",
  "lifecycle",
] as const;
const DEEDS = ["nothing", "wait", "throw", "reject", "speak", "stop", "nonsense", "forever"] as const;

/** A plugin that does these things, one per call of that hook, and then nothing. */
const wild = (id: string, deeds: { readonly [place: string]: readonly (typeof DEEDS)[number][] }) =>
  definePlugin({
    id,
    setup: () => {
      const handlers = PLACES.map((place) => {
        const left = [...(deeds[place] ?? [])];
        const run = () => {
          switch (left.shift()) {
            case "wait":
              return ticks(10);
            case "throw":
              throw new Error("Thrown.");
            case "reject":
              return Promise.reject(new Error("Rejected."));
            case "speak":
              return [enqueueMessages(`${id} speaks.`), emitEvent("spoke")];
            case "stop":
              return place === "beforeToolCall" || place === "afterToolCall"
                ? abort("w.stop", "Stop.")
                : abortTurn("w.stop", "Stop.");
            case "nonsense":
              return { kind: "dance" };
            case "forever":
              return new Promise(() => {});
            default:
              return undefined;
          }
        };
        return [place, { deadlineMs: 8, run }];
      });
      return Object.fromEntries(handlers) as object;
    },
  });

test("K2 whatever plugins do in their hooks: one outcome, kept whole, and the session continues", async () => {
  const deeds = fc.dictionary(fc.constantFrom(...PLACES), fc.array(fc.constantFrom(...DEEDS), { maxLength: 3 }), {
    maxKeys: 4,
  });
  const storm = fc.record({
    rounds: fc.array(round, { minLength: 1, maxLength: 3 }),
    plugins: fc.array(deeds, { minLength: 1, maxLength: 3 }),
    cancelAfter: fc.option(fc.nat(150), { nil: undefined }),
  });
  const outcomes = new Set<string>();
  const holds = fc.asyncProperty(storm, async ({ rounds, plugins, cancelAfter }) => {
    const calm = Promise.withResolvers<void>();
    const limits = { cancelGraceMs: 25, roundsMax: 6 }; // Longer than the deadline of a hook.
    const made = plugins.map((each, index) => wild(`w/${index}`, each));
    await using world = await open(played(rounds, calm.promise), { tools: [act], plugins: made, limits });
    const turn = world.session.turn("Go.");
    const watched = eventsOf(turn);
    const isStuck = rounds.some(({ end: ending }) => ending === "never");
    if (cancelAfter !== undefined || isStuck) await ticks(cancelAfter ?? 400).then(() => turn.cancel());
    const { outcome } = await turn.result();
    calm.resolve();
    outcomes.add(`${outcome.kind} ${"by" in outcome ? outcome.by : ""}`);
    await expectWhole(world, await watched);
  });
  await fc.assert(holds, { numRuns: sample(40, 240) });
  expect(outcomes.size).toBeGreaterThan(sample(2, 5));
}, 20_000);
