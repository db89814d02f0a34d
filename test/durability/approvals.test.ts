import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { createRuntime, definePlugin, defineTool } from "bowline";
import { ask } from "bowline/plugin";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { signalOf, within } from "../kit/reading.ts";
import { around, file } from "../kit/stores.ts";
import { answerWait } from "../kit/worlds.ts";
import { model, nothing } from "./witness.ts";

const WAITING = 105;
const PLAIN = 5;
const source = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);

/** A process that leaves sessions whose turns wait for an approval, and after them some whose model is being asked. */
const LEAVES = `
  import { createRuntime, definePlugin, defineTool } from ${source("index.ts")};
  import { ask } from ${source("plugin.ts")};
  import { sqlite } from ${source("stores/sqlite.ts")};
  import { calls } from ${source("testing/index.ts")};
  import { z } from "zod";
  const asked = [];
  const model = { id: "stateless", modelId: "test", async *stream({ messages }) {
    if (JSON.stringify(messages).includes("Pay")) return yield* calls("pay");
    asked.push(1);
    await new Promise(() => {});
  } };
  const gate = definePlugin({ id: "acme/gate", setup: () => ({ beforeToolCall: () => [ask("May I?")] }) });
  const pay = defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => "Paid." });
  const runtime = await createRuntime({ store: sqlite(process.argv[1], { durability: "process" }), model, tools: [pay], plugins: [gate] });
  let wait;
  for (let n = 0; n < ${WAITING}; n++) {
    const session = await runtime.session("waits " + n);
    for await (const event of session.turn("Pay.")) if (event.kind === "waiting") { wait = event.wait; break; }
  }
  for (let n = 0; n < ${PLAIN}; n++) void (await runtime.session("plain " + n)).turn("Say.").result().catch(() => {});
  while (asked.length < ${PLAIN}) await new Promise((resolve) => setTimeout(resolve, 5));
  console.log(wait);
`;

test("D2 H1 more approvals than recovery has room for starve nobody: the other turns that were left run, and the last answer is heard", async () => {
  const path = file();
  const child = spawn(process.execPath, ["--input-type=module", "-e", LEAVES, path], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [lastWait] = (await once(createInterface({ input: child.stdout }), "line")) as [string];
  child.kill("SIGKILL");
  await once(child, "close");

  const [plain, paid] = [signalOf(), signalOf()];
  const ended: string[] = [];
  const store = around(sqlite(path, { durability: "process" }), {
    commit: async (commit, lease) => {
      const done = await commit();
      ended.push((lease as { sessionId: string }).sessionId);
      if (ended.length === PLAIN) plain.resolve();
      if (ended.length === PLAIN + 1) paid.resolve();
      return done;
    },
  });
  const gate = definePlugin({ id: "acme/gate", setup: () => ({ beforeToolCall: () => [ask("May I?")] }) });
  const runtime = await createRuntime({
    store,
    plugins: [gate],
    model: model(nothing(), ({ messages }) =>
      JSON.stringify(messages).includes("Pay") && messages.at(-1)?.role !== "tool" ? calls("pay") : says("Done."),
    ),
    tools: [defineTool({ name: "pay", description: "Pays.", input: z.object({}), execute: () => "Paid." })],
  });
  await within(plain.promise, 4_000); // Well before the next look for what was left.
  expect(ended.toSorted()).toEqual(Array.from({ length: PLAIN }, (_, n) => `plain ${n}`));
  expect(await answerWait(runtime, lastWait, { approved: true })).toBe("accepted");
  await within(paid.promise, 4_000);
  expect(ended.at(-1)).toBe(`waits ${WAITING - 1}`);
  await store.close(); // The others go on waiting: closing the runtime would give them their grace.
}, 30_000);
