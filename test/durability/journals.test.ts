import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import type { Session, Store, Turn } from "bowline";
import { memory } from "bowline/stores/memory";
import { describe, expect, test } from "vitest";
import { STEP_VERSION } from "../../src/turn/state.ts";
import { within } from "../kit/reading.ts";
import { sample } from "../kit/size.ts";
import { durable, STORES } from "../kit/stores.ts";
import { BEGINNING, deployed, quickWorld } from "../kit/worlds.ts";
import {
  asksIn,
  callsIn,
  hasNoTrails,
  load,
  messagesOf,
  type Recorded,
  recorder,
  unworded,
  unwordedIn,
} from "./recorded.ts";
import { beginning, type Outside, SCENARIOS, type Scenario } from "./scenarios.ts";
import { type Did, nothing } from "./witness.ts";

/**
 * Journals that earlier versions wrote, kept as they were written: a machine that folds one of them otherwise is noticed
 * here. They are made by `BOWLINE_RECORD=1 npm test -- test/durability/journals`, which writes those that are missing
 * for today's `STEP_VERSION` and never changes one that is there.
 */
const folder = new URL("./journals/", import.meta.url);
const fileOf = ({ name }: Scenario, step: number): URL => new URL(`${name}.${step}.json`, folder);

async function record(scenario: Scenario): Promise<Recorded> {
  const world = quickWorld({ name: "rec" });
  const watched = recorder(durable(memory()));
  const did = nothing();
  const live: { session?: Session; turn?: Turn<unknown> } = {};
  const outside: Outside = {
    send: async (words) => void (await live.session?.send(words)),
    cancel: async () => void (await live.turn?.cancel("Enough.")),
  };
  const { runtime } = await deployed(watched.store, world, scenario.options(did, outside));
  live.session = await runtime.session("s");
  const { history = [] } = scenario;
  if (history.length > 0)
    await live.session.append(history.map((text) => ({ kind: "message", role: "user", text }) as const));
  live.turn = beginning(scenario, live.session);
  void scenario.attend?.(live.turn, runtime);
  await within(live.turn.result(), 5_000);
  const recorded = await watched.recorded();
  await runtime.close();
  return { name: scenario.name, ...recorded, did };
}

if (process.env.BOWLINE_RECORD === "1") {
  describe("recording", () => {
    test.each(SCENARIOS)("$name", async (scenario) => {
      const file = fileOf(scenario, STEP_VERSION);
      const recorded = await record(scenario);
      if (!existsSync(file)) writeFileSync(file, `${JSON.stringify(recorded, null, 2)}\n`);
    });
  });
}

const JOURNALS = readdirSync(folder)
  .filter((file) => file.endsWith(".json"))
  .sort()
  .map((file) => {
    const recorded = JSON.parse(readFileSync(new URL(file, folder), "utf8")) as Recorded;
    const scenario = SCENARIOS.find(({ name }) => name === recorded.name) as Scenario;
    return { file, recorded, scenario };
  });

async function resume(scenario: Scenario, recorded: Recorded, cut: number, store: Store) {
  await load(store, recorded, { cut });
  const did: Did = nothing();
  const world = quickWorld({ now: (recorded.events[cut - 1]?.at ?? BEGINNING) + 60_000, name: `res${cut}` });
  const { runtime, traces } = await deployed(durable(store), world, scenario.options(did, undefined));
  const session = await runtime.session(recorded.input.sessionId);
  const turn = beginning(scenario, session);
  void scenario.attend?.(turn, runtime);
  const result = await within(turn.result(), 5_000);
  // Newer than the journals: the runtime keeps the latest usage where a hook reads it.
  const { "bowline/latest-usage": _, ...plugins } = (await store.load(session.id))!.plugins;
  const view = await session.read();
  const messages = await messagesOf(store, recorded);
  const pending = await store.inputs.list(session.id);
  await runtime.close();
  await store.close();
  return { did, result, plugins, messages, turns: view.turns, pending, traces: traces.map(({ name }) => name) };
}

/** From where on its end is the one on record: what was said from outside before that is not in the store. */
const decidedAt = ({ events }: Recorded): number => events.findIndex(({ kind }) => kind === "cancelled");

test("D1 every scenario has a journal of today's machine", () => {
  expect(SCENARIOS.filter((scenario) => !existsSync(fileOf(scenario, STEP_VERSION))).map(({ name }) => name)).toEqual(
    [],
  );
});

// What is recorded is the same on every store, so that the quick run takes one.
describe.each(STORES.slice(0, sample(1, STORES.length)))("on %s", (_, make) => {
  test.each(JOURNALS)(
    "D1 D2 a journal of another day is resumed from every length, to the same end, and nothing on record is done again: $file",
    async ({ scenario, recorded }) => {
      const { events, end } = recorded;
      for (let cut = 1; cut <= events.length; cut++) {
        const { did, result, messages, plugins, traces, turns, pending } = await resume(
          scenario,
          recorded,
          cut,
          make(),
        );
        const where = `${cut} of ${events.length}, up to ${JSON.stringify(events[cut - 1]?.kind)}`;
        const before = events.slice(0, cut);
        const isDecided = cut > decidedAt(recorded);
        expect(traces, where).not.toContain("turn.salvaged");

        // Nothing on record is done again, and everything else once.
        const repeated = callsIn(recorded, before).filter((key) => did.calls.some((each) => each.endsWith(key)));
        expect(repeated, `calls done again, ${where}`).toEqual([]);
        expect(new Set(did.calls).size, where).toBe(did.calls.length);
        if (!isDecided) continue;
        expect([...did.calls].sort(), `calls, ${where}`).toEqual(callsAfter(recorded, cut));
        expect(did.asks.map(unworded).sort(), `model calls, ${where}`).toEqual(
          asksAfter(recorded, cut).map(unworded).sort(),
        );

        // The same end.
        expect(unwordedIn(messages, hasNoTrails(recorded)), where).toEqual(unwordedIn(end.messages));
        expect(result.outcome, where).toEqual(end.outcome);
        expect(plugins, where).toEqual(end.plugins);
        expect({ turns, pending }, where).toEqual({ turns: 1, pending: [] });
        expect(withoutUnknown(result.usage), where).toEqual(withoutUnknown(end.usage));
        expect(result.usage.unknownCalls - end.usage.unknownCalls, where).toBeOneOf([0, 1]);
      }
    },
  );
});

/** What was told: a call that was under way is unknown, and its tokens are estimated. */
const withoutUnknown = ({ unknownCalls: _, estimatedInput: _in, ...usage }: Recorded["end"]["usage"]) => usage;

/** The calls that were not on record at the cut; once a turn is being cancelled no call begins. */
function callsAfter(recorded: Recorded, cut: number): readonly string[] {
  if (recorded.events.slice(0, cut).some(({ kind }) => kind === "cancelled")) return [];
  const known = callsIn(recorded, recorded.events.slice(0, cut));
  return recorded.did.calls.filter((each) => !known.some((key) => each.endsWith(key))).sort();
}

/** The same of model calls; those inside of tools are on record when they are noted. */
function asksAfter({ did, events, notes }: Recorded, cut: number): readonly string[] {
  const isNested = (words: string): boolean => words.includes("Say it better");
  const noted = notes.filter(({ seq, key }) => key.includes("/complete/") && seq <= cut).length;
  const own = did.asks.filter((words) => !isNested(words)).slice(asksIn(events.slice(0, cut)));
  return [...own, ...did.asks.filter(isNested).slice(noted)].sort();
}
