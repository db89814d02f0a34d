// A report every night at half past two in Berlin. The schedule is kept in a file, and whatever process is there at its
// time starts the work. On the 29th of March the clocks go forward, and there is no half past two; in the two nights after
// the 30th nobody is there. Time is simulated, so all of that passes in a few seconds.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime, type Provider, type Session } from "bowline";
import { sqlite } from "bowline/stores/sqlite";
import { says, simulatedWorld } from "bowline/testing";

const folder = mkdtempSync(join(tmpdir(), "bowline-nightly-"));
const HOUR = 3_600_000;

/** Stands in for a model; any AI SDK model will do. */
const model: Provider = {
  id: "script",
  modelId: "reporter",
  async *stream({ messages }) {
    const [part] = messages.at(-1)?.parts ?? [];
    const [, due = ""] = /due at (\S+)/.exec(part?.kind === "text" ? part.text : "") ?? [];
    yield* says(`All was well until ${due}.`);
  },
};

/** A process that is there from this time on, for so long. A real one would be there all the time. */
async function running(from: string, ms: number, act?: (session: Session) => Promise<unknown>): Promise<void> {
  const world = simulatedWorld({ now: Date.parse(from), name: from });
  await using runtime = await createRuntime({ store: sqlite(join(folder, "agent.db")), model, world });
  await act?.(await runtime.session("reports"));
  await world.advance(ms);
}

await running("2026-03-27T12:00:00Z", 0, ({ triggers }) =>
  triggers.subscribe({
    id: "nightly",
    on: { cron: "30 2 * * *", timeZone: "Europe/Berlin" },
    send: "Write the report of the day.",
  }),
);
for (const night of ["2026-03-28", "2026-03-29", "2026-03-30"]) await running(`${night}T00:00:00Z`, 2 * HOUR);

// Of two nights that were missed the last one is made up for, in the morning. With `missed: "all"` both would be, with
// `missed: "skip"` none.
await running("2026-04-01T08:00:00Z", HOUR);

await running("2026-04-01T12:00:00Z", 0, async (session) => {
  const nights = await session.triggers.occurrences({ subscription: "nightly" });
  const inBerlin = (at: number): string => new Date(at).toLocaleString("sv", { timeZone: "Europe/Berlin" });
  for (const { at, deliveries } of nights) console.log(inBerlin(at), deliveries[0]?.turnId);
  assert.deepEqual(
    nights.map(({ at }) => inBerlin(at)),
    ["2026-04-01 02:30:00", "2026-03-30 02:30:00", "2026-03-29 03:00:00", "2026-03-28 02:30:00"],
  );
  const answers = (await session.read()).messages.filter(({ role }) => role === "assistant");
  assert.equal(answers.length, nights.length); // One turn for each night.
});
rmSync(folder, { recursive: true });
