// Writes a report every night at 02:30 in Berlin. On 29 March the clocks go forward, so that night has no 02:30. After
// 30 March the machine sleeps for two nights. Time is simulated, so the example needs only a moment.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRuntime } from "bowline";
import type { Provider } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { says, simulatedWorld } from "bowline/testing";

const folder = mkdtempSync(join(tmpdir(), "bowline-nightly-"));

/** A scripted model. Any AI SDK model works too. */
const model: Provider = {
  id: "script",
  modelId: "reporter",
  async *stream({ messages }) {
    const [part] = messages.at(-1)?.parts ?? [];
    const [, due = ""] = /due at (\S+)/.exec(part?.kind === "text" ? part.text : "") ?? [];
    yield* says(`All was well until ${due}.`);
  },
};
const world = simulatedWorld({ now: Date.parse("2026-03-27T12:00:00Z") });
const runtime = await createRuntime({ store: sqlite(join(folder, "agent.db")), model, world });
const session = await runtime.session("reports");
await session.triggers.subscribe({
  id: "nightly",
  on: { cron: "30 2 * * *", timeZone: "Europe/Berlin" },
  send: "Write the report of the day.",
});

const jumpTo = (time: string): Promise<void> => world.jump(Date.parse(time) - world.now());
for (const night of ["2026-03-28", "2026-03-29", "2026-03-30"]) {
  await jumpTo(`${night}T00:25:00Z`);
  await world.advance(70 * 60_000);
}
// The machine missed two nights. Default: the runtime makes up for the last night only. With `missed: "all"` it makes up
// for both nights, and with `missed: "skip"` for none.
await jumpTo("2026-04-01T08:00:00Z");
await world.advance(60_000);

const nights = await session.triggers.occurrences({ subscription: "nightly" }); // Newest first.
const inBerlin = (at: number): string => new Date(at).toLocaleString("sv", { timeZone: "Europe/Berlin" });
for (const { at, deliveries } of nights) {
  const { outcome } = await session.follow(deliveries[0]?.turnId ?? "").result();
  console.log(inBerlin(at), outcome.kind === "answered" ? outcome.text : outcome);
}
assert.deepEqual(
  nights.map(({ at }) => inBerlin(at)),
  ["2026-04-01 02:30:00", "2026-03-30 02:30:00", "2026-03-29 03:00:00", "2026-03-28 02:30:00"],
);
assert.equal((await session.read()).messages.length, 2 * nights.length); // One turn for each night.
await runtime.close();
rmSync(folder, { recursive: true });
