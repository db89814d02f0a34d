// Services that outlive what they were given to, creations that are repeated after a crash, and attachments of no use.
import { attach, definePlugin, type Json } from "bowline";
import { type Appended, createSession, type Services } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { recited, says } from "bowline/testing";
import { expect, test } from "vitest";
import { codeOf, nodesOf, within } from "../kit/reading.ts";
import { around, file, lives } from "../kit/stores.ts";
import { running, runningQuickly } from "../kit/worlds.ts";

type LentServices = Pick<Services, "graph" | "jobs">;
/** A plugin whose command hands its services to the test. */
const lending = (use: (services: LentServices) => void) =>
  definePlugin({
    id: "a/lends",
    setup: ({ command }) => ({
      operations: {
        lend: command({
          run: ({ graph, jobs }): Json => {
            use({ graph, jobs });
            return null;
          },
        }),
      },
    }),
  });

test("K13 S6 an append with attachments that a command does not await is refused, not lost", async () => {
  const store = memory();
  const png = attach(new Uint8Array(3), { mediaType: "image/png" });
  const appends: Promise<Appended>[] = [];
  const plugin = lending(({ graph }) => {
    const append = graph.append([{ kind: "message", role: "user", text: "See.", attachments: [png] }]);
    append.catch(() => {});
    appends.push(append);
  });
  await using runtime = await running({ store, plugins: [plugin] });
  const session = await runtime.session("s");
  await session.command(plugin, "lend");
  expect(await codeOf(() => appends[0]!)).toBe("state.parallel");
  expect(await nodesOf(store, session)).toEqual([]);
});

test("K13 J1 a job that is begun with the services of a command that has ended is refused", async () => {
  let kept: LentServices | undefined;
  const plugin = lending((services) => {
    kept = services;
  });
  await using runtime = await running({ plugins: [plugin] });
  const session = await runtime.session("s");
  await session.command(plugin, "lend");
  expect(await codeOf(() => kept!.jobs.spawn({ label: "Late" }, () => 1))).toBe("state.parallel");
  expect(await session.jobs.list()).toEqual([]);
});

test.each(["beforeTurn", "afterTurn"] as const)(
  "K15 D2 a process that is killed after %s created a session under an id leaves a turn that another process ends",
  async (hook) => {
    const life = lives(sqlite(file(), { durability: "process" }));
    const struck = Promise.withResolvers<void>();
    const maker = definePlugin({
      id: "a/maker",
      setup: () => ({ [hook]: () => createSession({ kind: "child", id: "made" }) }) as object,
    });
    const killing = around(life.next(), {
      create: async (act, ...given) => {
        const created = await act();
        if ((given[0] as { readonly id: string }).id !== "made") return created;
        life.kill();
        struck.resolve();
        return new Promise(() => {});
      },
    });
    const first = await runningQuickly({ store: killing, plugins: [maker], model: recited(says("Done.")) });
    (await first.session("s"))
      .turn("Go.", { key: "k" })
      .result()
      .catch(() => {});
    await within(struck.promise);
    const second = await runningQuickly({ store: life.next(), plugins: [maker], model: recited(says("Done.")) });
    const { outcome } = await within((await second.session("s")).turn("Go.", { key: "k" }).result(), 5_000);
    expect(outcome.kind).toBe("answered");
    expect((await second.sessions.get("made")).parentId).toBe("s");
    await second.close();
  },
);

test.each([undefined, "", 5, "x".repeat(256)])("T10 bytes are not attached as %j", (mediaType) => {
  expect(() => attach(new Uint8Array(3), { mediaType: mediaType as string })).toThrow("Invalid option `mediaType`");
});

test("K15 `take` does not return a session that has other permissions than the request gives", async () => {
  await using runtime = await running({});
  const parent = await runtime.session("p");
  const child = { kind: "child", from: parent.id, id: "c", ifExists: "take" } as const;
  await runtime.sessions.create(child);
  const narrower = { ...child, permissions: { hiddenTools: ["pay"] } };
  expect(await codeOf(() => runtime.sessions.create(narrower))).toBe("session.exists");
  expect((await runtime.sessions.create(child)).id).toBe("c");
});
