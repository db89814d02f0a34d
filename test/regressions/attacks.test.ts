import { definePlugin, defineTool, finish } from "bowline";
import { calls, says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { outline } from "../kit/reading.ts";
import { open } from "../kit/worlds.ts";

const revoked = (): unknown => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};

test("a tool that rejects with an unreadable value fails its call, and the turn continues", async () => {
  for (const thrown of [revoked(), Object.assign(new Error("x"), { message: { odd: true } }), Symbol("s")]) {
    const act = defineTool({
      name: "act",
      description: "Fails.",
      input: { type: "object" },
      execute: () => Promise.reject(thrown),
    });
    await using world = await open(scripted(calls("act"), says("Done.")), { tools: [act] });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
    expect(outline((await world.session.read()).messages).join()).toContain("act failed");
  }
});

test("a hook that rejects with such a thing is blamed by name", async () => {
  const plugin = definePlugin({ id: "a/odd", setup: () => ({ beforeTurn: () => Promise.reject(revoked()) }) });
  await using world = await open(scripted(says("Never.")), { plugins: [plugin] });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "failed", by: "plugin" });
});

test("a failure's words carry no credentials into the outcome", async () => {
  const message =
    'POST https://ann:hunter22@host/v1?key=abcdef123 {"Authorization":"Basic dXNlcjpwYXNz"} token: tok-1234567 sk-abcdefgh';
  const model = {
    id: "own",
    modelId: "m",
    stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error(message)) }) }),
  };
  await using own = await open(model as never, { limits: { modelAttemptsMax: 1 } });
  const said = JSON.stringify((await own.session.turn("Go.").result()).outcome);
  for (const secret of ["hunter22", "abcdef123", "dXNlcjpwYXNz", "tok-1234567", "sk-abcdefgh"])
    expect(said).not.toContain(secret);
});

test("what a tool decides about the turn must be JSON", async () => {
  const act = defineTool({
    name: "act",
    description: "Ends.",
    input: { type: "object" },
    execute: () => finish(1n as never),
  });
  await using world = await open(scripted(calls("act"), says("Done.")), { tools: [act] });
  expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
});

test("a tool that changes its arguments changes no history", async () => {
  const act = defineTool({
    name: "act",
    description: "Scribbles.",
    input: { type: "object" },
    execute: (input) => {
      (input as { words: string }).words = "poison";
      return "ok";
    },
  });
  const model = scripted(calls("act", { words: "bread" }), says("Done."));
  await using world = await open(model, { tools: [act] });
  await world.session.turn("Go.").result();
  expect(JSON.stringify((await world.session.read()).messages)).not.toContain("poison");
});
