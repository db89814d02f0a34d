import assert from "node:assert/strict";
import { createRuntime, defineTool, RuntimeError } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { around } from "../kit/stores.ts";

/** A file in which nothing long has room, `times` times, though what is short has. */
function nearlyFull(times: number) {
  let refused = 0;
  const store = around(sqlite(":memory:", { durability: "process" }), {
    append(act, ...[, , events]) {
      const isLong = (events as readonly { readonly kind: string }[]).some(({ kind }) => kind === "returned");
      if (!isLong || refused >= times) return act();
      refused++;
      throw new RuntimeError("store.full", { path: "agent.db" });
    },
  });
  return { store, refused: () => refused };
}

test("D2 a turn that finds the disk full many times is not a crash loop: it ends when there is room", async () => {
  const { store, refused } = nearlyFull(3);
  await using runtime = await createRuntime({
    store,
    model: scripted(calls("work"), says("Done.")),
    limits: { resumesMax: 1 },
    tools: [defineTool({ name: "work", description: "Works.", input: { type: "object" }, execute: () => "worked" })],
  });
  const session = await runtime.session("s");
  const turn = session.turn("Go.");
  const id = await turn.id;
  await turn.result().catch(() => {}); // Whoever waits is told that there was no room; the turn is left.
  for (let tries = 0; tries < 20 && (await store.terminal(id)) === undefined; tries++)
    await runtime.recover().catch(() => {});
  assert.equal((await store.terminal(id))?.outcome.kind, "answered");
  expect(refused()).toBe(3);
});
