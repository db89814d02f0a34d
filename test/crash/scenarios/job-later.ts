import assert from "node:assert/strict";
import { createRuntime } from "bowline";
import { defineScenario, recited, says } from "bowline/testing";

/** An input that is sent later arrives once, in whichever life its time comes, and one that is taken back never. */
export default defineScenario({
  async run({ store, host }) {
    const model = recited(says("Hello."), says("Good morning."));
    await using runtime = await createRuntime({ store, host, model });
    const session = await runtime.session("later");
    const never = await session.sendAfter(3_600_000, "Never.", { key: "never" });
    const { turnId, jobId } = await session.sendAfter(100, "Wake up.", { key: "later" });
    await session.turn("Hello.", { key: "hello" }).result();
    await session.jobs.cancel(never.jobId);
    await session.jobs.await([jobId]);
    await session.follow(turnId).result();
  },
  check({ sessions, jobs }) {
    const said = sessions.later?.messages.map(({ role, text }) => `${role}: ${text}`) ?? [];
    const users = said.filter((each) => each.startsWith("user: "));
    assert.deepEqual([...users].sort(), ["user: Hello.", "user: Wake up."], said.join("\n"));
    assert.equal(said.length, 4, said.join("\n"));
    assert.deepEqual(
      jobs.map(({ state }) => state),
      ["cancelled", "completed"],
    );
  },
});
