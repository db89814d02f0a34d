import { sqlite } from "bowline/stores/sqlite";
import { expect, test } from "vitest";
import { aborted, text } from "../kit/models.ts";
import { eventually, within } from "../kit/reading.ts";
import { around, file } from "../kit/stores.ts";
import { running } from "../kit/worlds.ts";

const slow = {
  id: "slow",
  modelId: "test",
  async *stream(_: unknown, { signal }: { readonly signal: AbortSignal }) {
    yield text("One, ");
    await aborted(signal);
    signal.throwIfAborted();
  },
};

// `sessions.cancel` looked for the open turn first and for waiting inputs then. A turn that took its input in between ran on.
test("S4 a cancel ends a turn that another process opens while the cancel withdraws the waiting inputs", async () => {
  const path = file();
  const open = () => sqlite(path, { durability: "process" });
  await using worker = await running({ store: open(), model: slow, recover: "manual" });
  const takesInput = async (act: () => unknown): Promise<unknown> => {
    await worker.session("s"); // Opens the turn of the input.
    await eventually(async () => (await worker.sessions.find("s"))?.openTurn);
    return act();
  };
  const store = around(open(), { "inputs.list": takesInput });
  await using web = await running({ store, model: slow, recover: "never" });
  await web.sessions.create({ id: "s" });
  const { turnId } = await web.sessions.send("s", "Count.");
  expect(await within(web.sessions.cancel("s"))).toMatchObject({ kind: "requested" });
  expect((await within(worker.sessions.follow(turnId).result())).outcome).toMatchObject({ kind: "stopped" });
});
