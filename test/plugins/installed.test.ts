import { definePlugin, defineTool, defineToolProvider } from "bowline";
import { expect, test } from "vitest";
import { z } from "zod";
import { echo } from "../kit/models.ts";
import { codeOf } from "../kit/reading.ts";
import { open } from "../kit/worlds.ts";

const input = z.object({});
const tool = (name: string) => defineTool({ name, description: name, input, execute: () => name });
const nothing = { hooks: [], tools: [], operations: [], events: [], monitors: [], hasState: false };

test("K5 a session lists its plugins, and what each adds: hooks, tools, operations, events, monitors, a state", async () => {
  const provided = defineToolProvider({
    id: "acme/far",
    list: () => [{ name: "far", description: "Far." }],
    load: () => tool("far"),
  });
  const all = definePlugin({
    id: "acme/all",
    version: "3",
    state: z.object({ count: z.number().default(0) }),
    setup: ({ query }) => ({
      beforeTurn: [() => {}, () => {}],
      afterTurn: () => {},
      tools: [tool("near"), provided],
      operations: { look: query({ description: "Looks.", run: () => "seen" }) },
      triggers: [{ name: "mail.received" }],
      monitors: [{ id: "log", command: "true", isArmed: false }],
    }),
  });
  const none = definePlugin({ id: "acme/none", setup: () => ({}) });
  await using world = await open(echo(), { plugins: [none, all], tools: [tool("own")] });
  const { session } = world;
  await session.tools.set("near", "off");
  const found = await session.plugins();
  expect(found).toEqual([
    { ...nothing, id: "acme/none", version: "1" },
    {
      id: "acme/all",
      version: "3",
      hooks: ["beforeTurn", "afterTurn"],
      tools: ["near", "far"],
      operations: [expect.objectContaining({ name: "acme/all.look", kind: "query", description: "Looks." })],
      events: ["mail.received"],
      monitors: ["acme/all/log"],
      hasState: true,
    },
    expect.objectContaining({ id: "bowline/tool-calls", hooks: ["protocolSession", "protocolDriver"] }),
  ]);
  expect(JSON.parse(JSON.stringify(found))).toEqual(found);
});

test("K5 a session without plugins lists the default protocol; a closed one throws `session.closed`", async () => {
  await using world = await open(echo(), {});
  expect((await world.session.plugins()).map(({ id }) => id)).toEqual(["bowline/tool-calls"]);
  await world.session.close();
  expect(await codeOf(world.session.plugins())).toBe("session.closed");
});
