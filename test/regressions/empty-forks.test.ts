import { says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { named, running } from "../kit/worlds.ts";

test("K15 a fork from the start of a session without base tools has none either; a child has them", async () => {
  const model = scripted(...Array.from({ length: 3 }, () => says("Done.")));
  await using runtime = await running({ model, tools: [named("base")] });
  await runtime.sessions.create({ id: "bare", includeBaseTools: false });
  const bare = await runtime.session("bare");
  await bare.turn("Go.").result();
  const first = (await bare.read()).messages[0]?.id;
  const fork = await bare.fork({ before: first });
  const child = await runtime.session((await runtime.sessions.create({ kind: "child", from: "bare" })).id);
  for (const session of [fork, child]) await session.turn("Go.").result();
  expect((await fork.read()).messages, "the fork began empty").toHaveLength(2);
  expect(model.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([[], [], ["base"]]);
});
