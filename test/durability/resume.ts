import { readdirSync, readFileSync } from "node:fs";
import type { Json, Store } from "bowline";
import { memory } from "bowline/stores/memory";
import type { TurnEvent } from "../../src/turn/event.ts";
import { within } from "../kit/reading.ts";
import { durable } from "../kit/stores.ts";
import { BEGINNING, deployed, type QuickWorld, quickWorld } from "../kit/worlds.ts";
import { load, messagesOf, type Recorded } from "./recorded.ts";
import { beginning, SCENARIOS, type Scenario } from "./scenarios.ts";
import { type Did, nothing } from "./witness.ts";

/** A journal as the first version of the machine recorded it that knew the scenario, or as today's did. */
export function journalOf(name: string, which: "first" | "latest" = "first"): Recorded {
  const files = readdirSync(new URL("./journals/", import.meta.url)).sort();
  const found = files.filter((file) => file.startsWith(`${name}.`)).at(which === "first" ? 0 : -1);
  return JSON.parse(readFileSync(new URL(`./journals/${found}`, import.meta.url), "utf8")) as Recorded;
}

export const scenarioOf = (name: string): Scenario => {
  const found = SCENARIOS.find((scenario) => scenario.name === name);
  if (found === undefined) throw new Error(`There is no scenario ${name}.`);
  return found;
};

type Options = ReturnType<Scenario["options"]>;

export interface Today {
  readonly store?: Store;
  readonly cut?: number;
  readonly events?: readonly TurnEvent[];
  /** What is deployed now, in the place of what was. */
  readonly options?: (options: Options, did: Did) => Options;
  readonly now?: number;
  readonly world?: QuickWorld;
}

/** A recorded journal in a store, and today's runtime on it: the turn is taken up when the session is opened. */
export async function taken(recorded: Recorded, today: Today = {}) {
  const { store = memory(), options = (same: Options) => same } = today;
  const { cut = today.events?.length ?? recorded.events.length, events = recorded.events } = today;
  const scenario = scenarioOf(recorded.name);
  await load(store, recorded, { cut, events });
  const did = nothing();
  const now = today.now ?? (events[cut - 1]?.at ?? BEGINNING) + 60_000;
  const world = today.world ?? quickWorld({ now, name: "now" });
  const { runtime, traces } = await deployed(durable(store), world, options(scenario.options(did, undefined), did));
  return {
    did,
    store,
    world,
    runtime,
    traces,
    /** Joins the turn, which ends. */
    async ended() {
      const session = await runtime.session(recorded.input.sessionId);
      const turn = beginning(scenario, session);
      void scenario.attend?.(turn, runtime);
      const result = await within(turn.result(), 5_000);
      const stored = (await store.load(session.id))!;
      return {
        session,
        result,
        outcome: result.outcome,
        messages: await messagesOf(store, recorded),
        plugins: stored.plugins,
        state: (plugin: string): Json | undefined => stored.plugins[plugin]?.state,
      };
    },
    names: () => traces.map(({ name }) => name),
    [Symbol.asyncDispose]: () => runtime.close(),
  };
}

/** Up to and with the first event that fits. */
export const upTo = ({ events }: Recorded, kind: TurnEvent["kind"], effect?: string): number => {
  const at = events.findIndex(
    (event) => event.kind === kind && (effect === undefined || ("effect" in event && event.effect === effect)),
  );
  if (at < 0) throw new Error(`There is no ${kind} ${effect ?? ""}.`);
  return at + 1;
};
