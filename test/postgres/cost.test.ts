import assert from "node:assert/strict";
import { createRuntime, defineTool } from "bowline";
import type { ModelPart, Provider } from "bowline/provider";
import { expect, test } from "vitest";
import { z } from "zod";
import { postgres } from "../../src/stores/postgres.ts";
import { call, end, endInCalls, text } from "../kit/models.ts";
import { startProxy } from "../kit/proxy.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";

const ROUNDS = 10;
const LATER = 6;

/** Calls a tool so many times, one by one, and then answers. */
const looping: Provider = {
  id: "looping",
  modelId: "test",
  async *stream({ messages }): AsyncIterable<ModelPart> {
    const results = messages.length - 1 - messages.findLastIndex(({ role }) => role === "user");
    if (results / 2 >= ROUNDS) {
      yield text("done");
      yield end;
    } else {
      yield call("echo", { n: results }, `call_${messages.length}`);
      yield endInCalls;
    }
  },
};

describePostgres("what a turn costs on Postgres", () => {
  test("E7 a turn of ten tools takes at most 24 round trips, and so do later ones", async () => {
    const url = await freshDatabase();
    const proxy = await startProxy(url);
    let calls = 0;
    const echo = defineTool({
      name: "echo",
      description: "Says it again.",
      input: z.object({ n: z.number() }),
      execute: ({ n }) => {
        calls++;
        return `said ${n}`;
      },
    });
    const store = postgres(proxy.url(url), { listen: false });
    const runtime = await createRuntime({ store, model: looping, tools: [echo], recover: "manual" });
    const session = await runtime.session("one");
    await session.turn("go").result();
    const trips: number[] = [];
    for (let nth = 0; nth < LATER; nth++) {
      const before = proxy.roundTrips();
      const { outcome } = await session.turn("go").result();
      assert.equal(outcome.kind, "answered");
      trips.push(proxy.roundTrips() - before);
    }
    expect(calls).toBe((1 + LATER) * ROUNDS);
    // A turn that is slow is renewed meanwhile, twice a second: on a busy machine that comes into some of them.
    expect(Math.min(...trips.slice(0, LATER / 2))).toBeLessThanOrEqual(24);
    expect(Math.min(...trips.slice(LATER / 2))).toBeLessThanOrEqual(24);
    await runtime.close();
  });
});
