import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool, defineTrigger } from "bowline";
import { calls, defineScenario, recited, says } from "bowline/testing";
import { z } from "zod";
import { quiet } from "../jobs.ts";

const received = defineTrigger({ name: "mail.received", payload: z.object({ from: z.string() }) });
const SENDERS = ["ann", "bob", "cleo"];

/**
 * An event that happens in a turn, under a key and without one, and in the app: each starts a turn of one session and a job
 * of another, once.
 */
export default defineScenario({
  async run({ store, host, act }) {
    const mail = definePlugin({
      id: "crash/mail",
      version: "1",
      setup: ({ task }) => ({
        triggers: [received],
        operations: {
          file: task({
            input: z.object({ from: z.string() }),
            run: async ({ input: { from }, once, job }) => {
              const id = String(job?.id);
              const page = await once("page", () => act(`page of ${from}`, { job: id, step: "page" }) ?? from.length);
              return once("stamp", () => act(`stamp of ${from}`, { job: id, step: "stamp" }) ?? `${from}, ${page}`);
            },
          }),
        },
      }),
    });
    const collect = defineTool({
      name: "collect",
      description: "Collects the mail.",
      input: { type: "object" },
      execute: async (_, { triggers }) => {
        await triggers.emit(received, { from: "ann" }, { key: "mail-1" });
        await triggers.emit(received, { from: "bob" });
        return "two letters";
      },
    });
    const model = recited(calls("collect", {}, "collect"), ...["Collected.", "A", "B", "C"].map((text) => says(text)));
    await using runtime = await createRuntime({ store, host, model, tools: [collect], plugins: [mail] });
    const [desk, archive] = [await runtime.session("desk"), await runtime.session("archive")];
    await desk.triggers.subscribe({ id: "read", on: { event: received }, send: "Read this letter." });
    await archive.triggers.subscribe({ id: "file", on: { event: received }, operation: "crash/mail.file" });
    const turn = desk.turn("Collect.", { key: "collect" });
    await runtime.triggers.emit(received, { from: "cleo" }, { key: "mail-3" });
    await turn.result();
    for (const session of [desk, archive]) await quiet(store, session);
  },
  check({ sessions, outcomes, jobs, occurrences }) {
    const told = sessions.desk?.messages.flatMap(({ role, text }) => (role === "user" ? [text] : [])) ?? [];
    assert.equal(told.length, 4, told.join("\n"));
    for (const from of SENDERS)
      assert.equal(told.filter((text) => text.includes(`{"from":"${from}"}`)).length, 1, told.join("\n"));
    assert.equal(outcomes.filter((outcome) => (outcome as { kind: string } | null)?.kind === "answered").length, 4);
    const filed = jobs.flatMap(({ session, state, result }) => (session === "archive" ? [`${state} ${result}`] : []));
    assert.deepEqual(filed.sort(), ["completed ann, 3", "completed bob, 3", "completed cleo, 4"]);
    assert.equal(jobs.length, 6, JSON.stringify(jobs));
    assert.deepEqual(occurrences.map(({ payload }) => (payload as { from: string }).from).sort(), SENDERS);
    for (const { deliveries } of occurrences)
      assert.deepEqual([...deliveries].sort(), [
        ["archive/file", "completed"],
        ["desk/read", "completed"],
      ]);
  },
});
