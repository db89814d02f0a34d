import type { TurnProgress } from "bowline";
import { calls, says } from "bowline/testing";
import { expect, test } from "vitest";
import { after, cast, eventually, running } from "./roles.ts";

test("S11 E4 the preview of a child's event names the call that waits for the child and its capability", async () => {
  const waits = Promise.withResolvers<void>();
  const model = cast({
    "Go.": [calls("spawn_agent", { task: "Help." }), says("Done.")],
    "Help.": [after(waits.promise, says("Helped."))],
  });
  await using runtime = await running(model);
  const turn = (await runtime.session("root")).turn("Go.");
  const reading = (async () => {
    const found: Extract<TurnProgress, { readonly kind: "child" }>[] = [];
    for await (const event of turn) if (event.kind === "child") found.push(event);
    return found;
  })();
  await eventually(async () => {
    const [open] = await runtime.turns.list({ session: "root" });
    const items = open === undefined ? [] : (await runtime.turns.timeline(open.id)).items;
    return items.some(({ kind }) => kind === "wait") ? true : undefined;
  });
  waits.resolve();
  const previews = await reading;
  const about = { call: "r1.call.0", capability: "helper" };
  expect(previews.find(({ event }) => event.kind === "text")).toMatchObject({ ...about, event: { delta: "Helped." } });
  expect(previews.find(({ event }) => event.kind === "committed")).toMatchObject(about);
});
