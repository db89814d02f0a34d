import { definePlugin, type Message, replaceResult } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { says } from "bowline/testing";
import { expect, test } from "vitest";
import { callsOf } from "../../src/model/message.ts";
import { hasOpenCalls, pairingProblem } from "../../src/model/pairing.ts";
import { name } from "../../src/turn/effect.ts";
import type { TurnEvent } from "../../src/turn/event.ts";
import { salvage } from "../../src/turn/salvage.ts";
import { outline, wordsOf } from "../kit/reading.ts";
import { openedOf, type Recorded } from "./recorded.ts";
import { journalOf, taken, upTo } from "./resume.ts";
import { SCENARIOS } from "./scenarios.ts";
import { inTurn, model } from "./witness.ts";

const WHY = "It was interrupted.";
const ALL = SCENARIOS.map((scenario) => journalOf(scenario.name));

/** What no machine of ours ever said. */
const foreign = (at: number): TurnEvent => ({
  kind: "returned",
  at,
  effect: name("r9.elsewhere.0"),
  output: { kind: "value", value: "From another version." },
});

const withForeign = ({ events }: Recorded, at: number): readonly TurnEvent[] => [
  ...events.slice(0, at),
  foreign((events[at - 1] as TurnEvent).at),
  ...events.slice(at),
];

function requirePaired(messages: readonly Message[]): void {
  let before: Message | undefined;
  for (const message of messages) {
    expect(pairingProblem(before, message)).toBeUndefined();
    before = message;
  }
  expect(hasOpenCalls(before)).toBe(false);
}

const partsIn = (messages: readonly Message[]) =>
  messages.map(({ parts }) => parts.map((part) => (part.kind === "toolResult" ? { ...part, trail: undefined } : part)));

const isSaid = ({ role }: Message): boolean => role !== "tool";

test.each(ALL)(
  "D8 $name: a journal that today's machine cannot follow, wherever that shows, is kept whole, and the session continues",
  async (recorded) => {
    const { events, end } = recorded;
    for (let at = 1; at <= events.length; at++) {
      await using today = await taken(recorded, {
        events: withForeign(recorded, at),
        options: (options, did) => ({ ...options, model: model(did, () => says("Afterwards.")) }),
      });
      const { outcome, messages, session, plugins } = await today.ended();
      const where = `with ${at} events before it`;
      expect(outcome, where).toMatchObject({ kind: "failed", by: "runtime", code: "turn.diverged" });
      expect(today.names(), where).toContain("turn.salvaged");
      requirePaired(messages);

      // Inputs and replies in the order of the journal, and nothing of the turn is done any more.
      const words = messages.filter(isSaid).flatMap(({ parts }) => parts.map((part) => JSON.stringify(part)));
      const said = end.messages.filter(isSaid).flatMap(({ parts }) => parts.map((part) => JSON.stringify(part)));
      expect(
        said.filter((each) => words.includes(each)),
        where,
      ).toEqual(words.filter((each) => said.includes(each)));
      for (const event of events) {
        if (event.kind === "replied")
          for (const part of event.reply.parts) expect(words, where).toContain(JSON.stringify(part));
        if (event.kind === "bounded")
          for (const input of event.inputs ?? [])
            expect(
              "message" in input && messages.some((each) => wordsOf(each) === wordsOf(input.message as Message)),
              where,
            ).toBe(true);
      }
      expect(today.did.calls, where).toEqual([]);

      // What plugins kept is what was last recorded of each.
      const kept: { [plugin: string]: unknown } = {};
      for (const event of events) if ("changes" in event) Object.assign(kept, event.changes);
      for (const [plugin, value] of Object.entries(kept)) expect(plugins[plugin], where).toMatchObject(value as object);

      // The session is as good as any; an input that the turn had not taken has a turn of its own.
      const next = await session.turn("Another one.").result();
      expect(next.outcome, where).toMatchObject({ kind: "answered", text: "Afterwards." });
      expect(await today.store.inputs.list(session.id), where).toEqual([]);
      const { messages: all } = await session.read();
      requirePaired(all);
      for (const { message } of recorded.more)
        expect(
          all.filter((each) => wordsOf(each) === wordsOf(message as Message)),
          where,
        ).toHaveLength(1);
    }
  },
);

test.each(ALL)(
  "D8 $name: what is whole in a journal is kept by salvage as the machine would have kept it",
  (recorded) => {
    const { events, end } = recorded;
    for (let cut = 1; cut <= events.length; cut++) {
      const last = events[cut - 1] as TurnEvent;
      if (last.kind !== "bounded") continue; // A round is whole at its boundary.
      const { entries } = salvage(openedOf(recorded), events.slice(0, cut), WHY);
      const messages = entries.flatMap((entry) => (entry.kind === "message" ? [entry.message] : []));
      const where = `${last.effect}, event ${cut}`;
      expect(outline(messages), where).toEqual(outline(end.messages.slice(0, messages.length)));
      expect(
        messages.map(({ id }) => id),
        where,
      ).toEqual(end.messages.slice(0, messages.length).map(({ id }) => id));
      // It keeps no trails: those follow from gates and attempts, which it does not play again.
      expect(partsIn(messages), where).toEqual(partsIn(end.messages.slice(0, messages.length)));
    }
  },
);

test("D8 results that had come back are kept, and calls that were open are said to be interrupted", async () => {
  const recorded = journalOf("parallel");
  const cut = upTo(recorded, "returned", "r1.call.4");
  const events = [...recorded.events.slice(0, cut), foreign(recorded.events[cut - 1]!.at)];
  await using today = await taken(recorded, { events });
  const { messages } = await today.ended();
  expect(outline(messages)).toEqual([
    "user: How many kinds of tigers?",
    "assistant: Let me look.",
    "calls slow",
    "calls breaks",
    "calls quick",
    "calls nobody",
    "calls quick",
    "slow unknown: Unknown: The call was interrupted by an upgrade of the program. It is not known whether it took effect.",
    "breaks unknown: Unknown: The call was interrupted by an upgrade of the program. It is not known whether it took effect.",
    "quick ok: quick!",
    "nobody failed: Error (tool.unknown): There is no tool nobody. The tools are slow, breaks, quick.",
    "quick ok: quick!",
  ]);
});

test("D8 a result that an after-hook had not seen yet is not shown by salvage either: the hook may be there to take something out", async () => {
  const recorded = journalOf("boundary-input"); // Its plugin has an after-hook, so results are settled.
  const cut = upTo(recorded, "returned");
  const events = [...recorded.events.slice(0, cut), foreign(recorded.events[cut - 1]!.at)];
  const redacts = definePlugin({
    id: "acme/redacts",
    setup: () => ({ afterToolCall: () => replaceResult("[taken out]") }),
  });
  await using today = await taken(recorded, {
    events,
    options: (options) => ({ ...options, plugins: [...(options.plugins ?? []), redacts] }),
  });
  const { messages } = await today.ended();
  expect(outline(messages).join("\n")).not.toContain("Tigers.");
});

test("D8 a deferred result that had been delivered is a result like any other", () => {
  const recorded = journalOf("ten-tools");
  const { at } = recorded.events[2]!;
  const { entries } = salvage(
    openedOf(recorded),
    [
      ...recorded.events.slice(0, 3),
      { kind: "deferred", at, effect: name("r1.call.0"), key: "w" as never, until: at + 1 },
      {
        kind: "resolved",
        at,
        effect: name("r1.call.0.w1"),
        answer: { kind: "value", value: { value: "It came later." } },
      },
    ],
    WHY,
  );
  const messages = entries.flatMap((entry) => (entry.kind === "message" ? [entry.message] : []));
  expect(outline(messages).at(-1)).toBe("search ok: It came later.");
});

test("D8 a call that an approval denied is kept as denied", () => {
  const recorded = journalOf("approval");
  const cut = upTo(recorded, "gated");
  const { at } = recorded.events[cut - 1]!;
  const { entries } = salvage(
    openedOf(recorded),
    [
      ...recorded.events.slice(0, cut),
      {
        kind: "resolved",
        at,
        effect: name("r1.call.0.w"),
        answer: { kind: "value", value: { approved: false, reason: "Too much." } },
      },
    ],
    WHY,
  );
  const messages = entries.flatMap((entry) => (entry.kind === "message" ? [entry.message] : []));
  const [pay] = outline(messages).filter((line) => line.startsWith("pay "));
  expect(pay).not.toContain("unknown"); // It never ran, and nothing about it is unknown.
});

test("D8 a frame that had been opened stays one: what the model was not to see any more is not shown again", async () => {
  for (const from of ["compaction", "frame"]) {
    const recorded = journalOf(from);
    const events = withForeign(recorded, recorded.events.length);
    await using today = await taken(recorded, {
      events,
      options: (options, did) => ({ ...options, model: model(did, inTurn(says("Next."))) }),
    });
    const { session } = await today.ended();
    const segments = await today.store.view(session.id);
    const frames = segments.flatMap(({ entries }) => entries.filter(({ kind }) => kind === "frame"));
    expect(frames, from).toHaveLength(1);
  }
});

test("D8 the usage of a salvaged turn is that of its journal, under the models that were asked", async () => {
  const recorded = journalOf("plugin-state");
  await using today = await taken(recorded, { events: withForeign(recorded, recorded.events.length) });
  const { result, session } = await today.ended();
  expect(result.usage).toEqual({ ...recorded.end.usage, unknownCalls: 0 });
  const { ledger } = await session.read();
  expect(ledger.map(({ source, calls }) => `${source} ${calls}`).sort()).toEqual(["better 3", "turn 3"]);
});

test("D8 salvage settles a cancel that came before it", async () => {
  const recorded = journalOf("cancel");
  const store = memory();
  await using today = await taken(recorded, { store, events: withForeign(recorded, 4) });
  await store.cancel(recorded.input.turnId, { requestId: "can_later", reason: "Enough.", at: 1 });
  const { outcome, messages } = await today.ended();
  expect(outcome.kind).toBe("failed");
  expect(messages.flatMap(({ parts }) => callsOf(parts))).toHaveLength(3);
});
