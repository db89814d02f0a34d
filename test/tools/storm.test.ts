import { type Availability, definePlugin, type Tool } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { named } from "../kit/worlds.ts";
import { did, opened } from "./obedient.ts";
import { supplies } from "./supplies.ts";

const NAMES = ["a", "b", "c", "d"] as const;
type Name = (typeof NAMES)[number];

const name = fc.constantFrom(...NAMES);
const move = fc.oneof(
  fc.record({ do: fc.constant("list" as const), names: fc.subarray([...NAMES]) }),
  fc.record({
    do: fc.constant("set" as const),
    name,
    to: fc.constantFrom<Availability>("off", "searchable", "callable", "documented"),
  }),
  fc.record({ do: fc.constant("turn's" as const), names: fc.subarray([...NAMES]), hasBase: fc.boolean() }),
  fc.record({ do: fc.constant("hide" as const), names: fc.subarray([...NAMES]) }),
  fc.record({ do: fc.constant("fork" as const) }),
  fc.record({ do: fc.constant("restart" as const) }),
  fc.record({ do: fc.constant("turn" as const) }),
);

/** Hides what its state says. */
const hider = definePlugin({
  id: "acme/hider",
  state: z.object({ names: z.array(z.string()).default([]) }),
  setup: ({ command }) => ({
    toolCatalog: ({ state }) => state.get().names.map((tool) => ({ tool, hide: true as const })),
    operations: {
      hide: command({ input: z.array(z.string()), run: ({ input, state }) => state.update(() => ({ names: input })) }),
    },
  }),
});

test("T2 T3 T4 whatever was listed, set, hidden, given with the turn, forked and restarted: each turn has the tools that follow from it, and runs them", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(move, { minLength: 3, maxLength: 14 }), async (moves) => {
      const store = memory();
      /** `d` is the app's own and always there; the provider may offer one of its name, which is left out. */
      const own = named("d", () => "app");
      const far = new Map<Name, Tool>(NAMES.map((each) => [each, named(each, () => "far")]));
      const near = new Map<Name, Tool>(NAMES.map((each) => [each, named(each, () => "near")]));
      const supply = supplies("acme/far", []);
      let listed: readonly Name[] = [];
      let given: readonly Name[] = [];
      let hidden: readonly Name[] = [];
      let hasBase = true;
      const chosen = new Map<string, Availability>();
      const gives = definePlugin({
        id: "acme/gives",
        setup: () => ({
          context: ({ context }) => ({
            ...context,
            tools: given.map((each) => near.get(each) as Tool),
            includeBaseTools: hasBase,
          }),
        }),
      });
      let id = "s0";
      const start = () => opened({ id, store, tools: [own, supply], plugins: [hider, gives] });
      let world = await start();
      let { session } = world;
      const base = (): ReadonlyMap<Name, string> =>
        new Map<Name, string>([
          ["d", "app"],
          ...listed.filter((each) => each !== "d").map((each) => [each, "far"] as [Name, string]),
        ]);
      for (const each of [...moves, { do: "turn" as const }]) {
        switch (each.do) {
          case "list":
            listed = each.names as Name[];
            supply.change(...listed.map((one) => far.get(one) as Tool));
            break;
          case "set":
            if (!base().has(each.name)) break;
            await session.tools.set(each.name, each.to);
            chosen.set(`${base().get(each.name)} ${each.name}`, each.to);
            break;
          case "turn's":
            given = each.names as Name[];
            hasBase = each.hasBase;
            break;
          case "hide":
            hidden = each.names as Name[];
            await session.command(hider, "hide", [...hidden]);
            break;
          case "fork":
            session = await session.fork();
            id = session.id;
            break;
          case "restart":
            world = await start();
            session = world.session;
            break;
          case "turn": {
            const { shown } = await did(session, ...NAMES);
            for (const [index, one] of NAMES.entries()) {
              const source = given.includes(one) ? "near" : hasBase ? base().get(one) : undefined;
              const open = source === "near" ? "callable" : (chosen.get(`${source} ${one}`) ?? "callable");
              const isThere = source !== undefined && !hidden.includes(one);
              const isOpen = isThere && (open === "callable" || open === "documented");
              const wanted = isOpen
                ? `${one} ok: ${source}`
                : expect.stringMatching(
                    isThere
                      ? `${one} failed: Error \\(tool.unavailable.*${open === "off" ? "switched off" : "not open to you yet"}`
                      : `${one} failed: Error \\(tool.unknown`,
                  );
              expect(shown[index]).toEqual(wanted);
              expect(world.offered().includes(one)).toBe(isOpen);
            }
          }
        }
      }
    }),
    { numRuns: 80 },
  );
}, 20_000);
