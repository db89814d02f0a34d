import { defer, definePlugin, defineTool } from "bowline";
import { ask } from "bowline/plugin";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { codeOf, eventually, within } from "../kit/reading.ts";
import { STORES } from "../kit/stores.ts";
import { running } from "../kit/worlds.ts";
import { doing, WORK } from "./work.ts";

describe.each(STORES)("on %s", (_, store) => {
  test("J5 an app reads what happened to a job, and no key that answers one of its waits", async () => {
    const asks = definePlugin({
      id: "test/asks",
      setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? ask("Money.") : undefined) }),
    });
    const input = z.object({});
    const keys: string[] = [];
    let mailed = "";
    const pay = defineTool({ name: "pay", description: "Pays.", input, execute: () => "paid" });
    const later = defineTool({ name: "later", description: "Later.", input, execute: () => defer() });
    const mails = defineTool({
      name: "mails",
      description: "Mails a link.",
      input,
      execute: async (_, { waitKey }) => {
        const deferral = defer();
        mailed = await waitKey(deferral);
        return deferral;
      },
    });
    const work = doing(async ({ job, once }) => {
      await once("plain", () => ({ key: "mine" }));
      await once("call/0/gate", () => "mine");
      for (const name of ["pay", "later", "mails"]) await job!.call(name, {});
      await once("told", () => `https://x.test/?k=${mailed}`);
      return { link: mailed };
    });
    const plugins = [asks(), work()];
    await using runtime = await running({ store: store(), plugins, tools: [pay, later, mails] });
    const { jobs } = await runtime.session("s");
    const { id } = await jobs.spawn(WORK);
    const answered: string[] = [];
    for (const value of [{ approved: true }, { value: 1 }, { value: 2 }]) {
      const wait = await eventually(async () => (await runtime.waits.list())[0]);
      answered.push(wait.id);
      keys.push(wait.key);
      expect(JSON.stringify(await runtime.jobs.events(id))).not.toContain(wait.key);
      await runtime.waits.resolve(wait, value as never);
    }
    await within(runtime.jobs.await(id), 5_000);
    const events = await runtime.jobs.events(id);
    expect(events.map(({ kind }) => kind)).toEqual(expect.arrayContaining(["spawned", "started", "resolved", "ended"]));
    expect(events).toContainEqual(expect.objectContaining({ name: "once/test/work/plain", value: { key: "mine" } }));
    expect(events).toContainEqual(expect.objectContaining({ name: "once/test/work/call/0/gate", value: "mine" }));
    expect(events).toContainEqual(
      expect.objectContaining({ name: "once/test/work/told", value: `https://x.test/?k=${answered[2]}` }),
    );
    expect(keys[2]).toBe(mailed);
    for (const key of keys) expect(JSON.stringify(events)).not.toContain(key);
  });
});

test("J5 the events of a job that there is not are `job.unknown`", async () => {
  await using runtime = await running();
  for (const id of ["no", "", undefined, 1])
    expect(await codeOf(runtime.jobs.events(id as string))).toBe("job.unknown");
});
