import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime, defineTool } from "bowline";
import { calls, defineScenario, recited, says } from "bowline/testing";
import { gone, runsOf, WORD } from "../../monitors/processes.ts";
import { isOver } from "../jobs.ts";

/** It ends by itself after a while: a trial that fails must leave nothing behind for ever. */
const COMMAND = "echo up; n=0; while [ $n -lt 1000 ]; do sleep 0.02; n=$((n + 1)); done";

/**
 * A command that is to be started again when its process is gone: of all its runs one alone is there, the latest, and none
 * when it is stopped.
 */
export default defineScenario({
  async run({ store, host, folder }) {
    const watch = defineTool({
      name: "watch",
      description: "Watches.",
      input: { type: "object" },
      execute: async (_, { monitors }) => {
        const how = { isPersistent: true, restarts: true } as const;
        return (await monitors.start({ id: "tail", command: COMMAND, env: { [WORD]: folder }, ...how })).state;
      },
    });
    const model = recited(calls("watch", {}, "watch"), says("Watching."));
    await using runtime = await createRuntime({ store, host, model, tools: [watch] });
    await runtime.recover(); // Whoever finds the command of a dead process goes on with it at once.
    const session = await runtime.session("desk");
    const { outcome } = await session.turn("Watch it.", { key: "watch" }).result();
    assert.ok((await session.jobs.list()).length === 1, outcome.kind); // A turn that was given up may have started none.
    for (;;) {
      const [job] = await session.jobs.list();
      assert.ok(job, "There is no job.");
      const runs = runsOf(folder);
      assert.ok(runs.length <= 1, `These run beside each other: ${runs.join(", ")}`);
      if (isOver(job) || runs.some((run) => run.startsWith(`${job.id}/${job.starts}/`))) break;
      await sleep(5);
    }
    const { state } = await session.monitors.stop("tail");
    assert.equal(state, "stopped");
    await gone(folder);
  },
  check({ sessions, jobs, outcomes }, { clean }) {
    assert.deepEqual(outcomes, clean.outcomes);
    assert.equal(sessions.desk?.turns, 1);
    assert.deepEqual(
      jobs.map(({ kind, state }) => [kind, state]),
      [["monitor", "cancelled"]],
    );
  },
});
