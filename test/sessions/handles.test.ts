import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { definePlugin, type Runtime } from "bowline";
import { expect, test } from "vitest";
import { eventually, only } from "../kit/reading.ts";
import { running } from "../kit/worlds.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** A runtime, and the sessions that it has let go. */
async function world(): Promise<{ readonly runtime: Runtime; readonly closed: string[] }> {
  const closed: string[] = [];
  const hears = definePlugin({
    id: "acme/hears",
    setup: () => ({
      lifecycle: ({ event, sessionId }) => void (event.kind === "sessionClosed" && closed.push(sessionId)),
    }),
  });
  return { runtime: await running({ plugins: [hears] }), closed };
}

test("S1 handles that nobody closed and nobody has any more do not keep their sessions open", async () => {
  const { runtime, closed } = await world();
  for (let n = 0; n < 50; n++) await (await runtime.session(`s${n}`)).turn("Go.").result();
  await eventually(() => {
    collect();
    return closed.length >= 45 ? true : undefined;
  }, 5_000);
  const again = await runtime.session("s0"); // It is read again, and goes on.
  await again.turn("More.").result();
  expect((await again.read()).messages).toHaveLength(4);
  await runtime.close();
});

test("S3 a session that is observed stays open, though its handle is gone; so does one whose handle is there", async () => {
  const { runtime, closed } = await world();
  const events = (await runtime.session("watched")).observe();
  const held = await runtime.session("held");
  await runtime.session("dropped");
  const seen: string[] = [];
  const watching = (async () => {
    for await (const event of events) {
      seen.push(event.kind);
      if (only([event], "committed").length > 0) break;
    }
  })();
  await eventually(() => {
    collect();
    return closed.includes("dropped") ? true : undefined;
  }, 5_000);
  expect(closed).toEqual(["dropped"]);
  await held.turn("Go.").result();
  await (await runtime.session("watched")).turn("Go.").result();
  await watching;
  expect(seen).toContain("text");
  await runtime.close();
});
