import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime, defineTool, type JobRecord, type Session } from "bowline";
import { calls, defineScenario, recited, says } from "bowline/testing";
import { gone, runsOf, WORD } from "../../monitors/processes.ts";
import { isOver, quiet } from "../jobs.ts";

const COMMAND = `
echo begun >> "$LOG"
echo first
n=0; until [ -e "$GO" ] || [ $n -gt 1000 ]; do sleep 0.02; n=$((n + 1)); done
echo second
`;

/**
 * A tool starts a command, whose first line wakes its session, and another one takes that line. When the process is killed the command ends with it, or is
 * ended by the next one, and the session is told: nothing of it is left, nothing is begun again, and no line is told twice.
 */
export default defineScenario({
  async run({ store, host, act, folder }) {
    const [log, go] = [join(folder, "log"), join(folder, "go")];
    const watch = defineTool({
      name: "watch",
      description: "Watches.",
      input: { type: "object" },
      execute: async (_, { monitors }) => {
        const env = { LOG: log, GO: go, [WORD]: folder };
        const { state } = await monitors.start({ id: "build", command: COMMAND, env, wake: "wake" });
        return state;
      },
    });
    const take = defineTool({
      name: "take",
      description: "Takes what was printed.",
      input: { type: "object" },
      execute: async (_, { monitors }) =>
        (await monitors.takeUpdates()).map(({ n, text }) => `${n} ${text}`).join("\n"),
    });
    const words = ["A", "B", "C"].map((text) => says(text));
    const model = recited(calls("watch", {}, "watch"), says("Watching."), calls("take", {}, "take"), ...words);
    await using runtime = await createRuntime({ store, host, model, tools: [watch, take] });
    await runtime.recover(); // Whoever finds the command of a dead process ends it at once.
    const session = await runtime.session("desk");
    const { outcome } = await session.turn("Watch it.", { key: "watch" }).result();
    assert.ok((await session.jobs.list()).length === 1, outcome.kind); // A turn that was given up may have started none.
    // The command of a dead process is not told to end: that is up to whoever goes on with its job.
    const isHeard = async ({ id, starts }: JobRecord): Promise<boolean> =>
      (await session.read()).turns >= 2 && runsOf(folder).some((run) => run.startsWith(`${id}/${starts}/`));
    const job = await until(session, isHeard);
    if (!isOver(job)) writeFileSync(go, "");
    await quiet(store, session);
    await gone(folder);
    const begun = existsSync(log) ? readFileSync(log, "utf8").split("\n").length - 1 : 0;
    assert.ok(begun <= 1, `The command began ${begun} times.`);
    for (const { channel, text } of (await store.jobs.lines(job.id)).lines) act(`kept ${channel} ${text}`);
    for (const { n } of await session.monitors.takeUpdates()) act(`took ${n}`);
  },
  check({ sessions, jobs }, { acts }) {
    const told = sessions.desk?.messages.flatMap(({ role, text }) => (role === "user" ? [text] : [])) ?? [];
    const [job, ...others] = jobs;
    assert.equal(others.length, 0);
    assert.ok(job?.state === "completed" || job?.state === "abandoned", `It is ${job?.state}: ${job?.error}`);
    assert.equal(told.filter((text) => text.includes("is over.")).length, 1, told.join("\n"));
    const kept = [...new Set(acts.filter((act) => act.startsWith("kept ")))];
    for (const line of ["first", "second"]) {
      const times = told.filter((text) => text.split("\n").includes(line)).length;
      assert.ok(times <= 1, `${line} was told ${times} times:\n${told.join("\n")}`);
      if (job.state === "completed") assert.equal(times, 1, told.join("\n"));
    }
    // The first line is written with what is told of it.
    assert.equal(
      told.some((text) => text.split("\n").includes("first")),
      kept.includes("kept out first"),
    );
    assert.match(kept.at(-1) ?? "", /^kept note /);
    // A kill between the taking and its record leads to the same lines again, so none is lost in a turn.
    const [, taken = ""] = sessions.desk?.messages.flatMap(({ role, text }) => (role === "tool" ? [text] : [])) ?? [];
    assert.equal(taken.split("\n").includes("1 first"), kept.includes("kept out first"), taken);
    const inTurn = taken.split("\n").map((line) => `took ${line.split(" ")[0]}`);
    const took = [...inTurn, ...acts.filter((act) => act.startsWith("took "))];
    assert.equal(new Set(took).size, took.length, `A line was taken twice: ${took.join(", ")}`);
  },
});

/** Settles when something is so, or the command is over; with its job. */
async function until({ jobs }: Session, isSo: (job: JobRecord) => Promise<boolean>): Promise<JobRecord> {
  for (;;) {
    const [job] = await jobs.list();
    if (job !== undefined && (isOver(job) || (await isSo(job)))) return job;
    await sleep(5);
  }
}
