import { definePlugin, type Plugin, type PreambleInput, type PromptPart, type Protocol, point } from "bowline/protocol";
import { memory } from "bowline/stores/memory";
import { calls, says } from "bowline/testing";
import { expect, test } from "vitest";
import { inTurn, model, nothing } from "../durability/witness.ts";
import { passed, signalOf, within } from "../kit/reading.ts";
import { durable, lives } from "../kit/stores.ts";
import { BEGINNING, deployed, HOUR, named, quickWorld } from "../kit/worlds.ts";
import { did, opened } from "../tools/obedient.ts";
import { toolLoop } from "../turn/drivers.ts";

/** A protocol that keeps what its preamble was made from, as `look` sees it. */
function looking(look: (input: PreambleInput) => unknown) {
  const looks: unknown[] = [];
  const preamble: Protocol["protocolDriver"]["preamble"] = (input) => {
    looks.push(look(input));
    return { tools: input.tools, prompt: [{ slot: "execution", text: JSON.stringify(looks.at(-1)) }] };
  };
  const slots: Protocol = { protocolSession: {}, protocolDriver: { driver: toolLoop, preamble } };
  return { looks, protocol: definePlugin({ id: "acme/protocol", setup: () => slots })() };
}

const rules = point<string>("acme/rules");
const contributes = (value: string): Plugin =>
  definePlugin({ id: "acme/rules", setup: () => ({ contributions: [rules.of(value)] }) })();
const declares = (name: string): Plugin =>
  definePlugin({ id: "acme/events", setup: () => ({ triggers: [{ name }] }) })();
/** A context hook that adds what the test says at that moment. */
const adds = (text: () => string): Plugin =>
  definePlugin({
    id: "acme/adds",
    setup: () => ({
      context: ({ context }) => ({ ...context, prompt: [...context.prompt, { slot: "context", text: text() }] }),
      // Volatile, so that every round is prepared anew.
      prompt: () => [{ slot: "guidance", text: "Of a prompt hook.", isVolatile: true as const }],
    }),
  })();
const texts = ({ prompt }: PreambleInput): readonly string[] => prompt.map(({ text }) => text);

test("P3 a preamble is made from the tools, points, triggers, and the prompt of runtime, session, turn and context", async () => {
  const { looks, protocol } = looking((input) => ({
    tools: input.tools.map(({ name }) => name),
    rules: input.read(rules),
    triggers: input.triggers,
    prompt: texts(input),
  }));
  await using world = await opened({
    tools: [named("ping")],
    instructions: "Of the runtime.",
    plugins: [protocol, contributes("Be kind."), declares("mail.came"), adds(() => "Of a context hook.")],
  });
  const session = await world.runtime.session("own", { config: { prompt: [{ slot: "project", text: "Mine." }] } });
  await session.turn("Hi.", { prompt: [{ slot: "environment", text: "Of the turn." }] }).result();
  const made = {
    tools: ["ping"],
    rules: ["Be kind."],
    triggers: [{ name: "mail.came" }],
    prompt: ["Of the runtime.", "Mine.", "Of the turn.", "Of a context hook."],
  };
  expect(looks).toEqual([made]);
  expect(world.model.requests[0]?.system).toContain(JSON.stringify(made));
});

test("P3 a preamble that reads the prompt is made again when the prompt changed, and not in later rounds", async () => {
  let text = "One.";
  const { looks, protocol } = looking(texts);
  await using world = await opened({ tools: [named("ping")], plugins: [protocol, adds(() => text)] });
  await did(world.session, "ping");
  await did(world.session, "ping");
  expect(looks).toEqual([["One."]]);
  text = "Two.";
  await did(world.session, "ping");
  text = "One.";
  await did(world.session, "ping");
  expect(looks).toEqual([["One."], ["Two."]]);
  expect(world.model.requests.at(-1)?.system).toContain('["One."]');
});

test("P3 a part that its plugin changes in place is a new part", async () => {
  const part: { -readonly [K in keyof PromptPart]: PromptPart[K] } = { slot: "context", text: "One." };
  const edits = definePlugin({
    id: "acme/edits",
    setup: () => ({ context: ({ context }) => ({ ...context, prompt: [part] }) }),
  });
  const { looks, protocol } = looking(texts);
  await using world = await opened({ plugins: [protocol, edits] });
  await did(world.session);
  part.text = "Two.";
  await did(world.session);
  expect(looks).toEqual([["One."], ["Two."]]);
});

test("P3 sessions share a preamble as long as what it looked at is the same, whatever else differs", async () => {
  const { looks, protocol } = looking(({ read, triggers }) => [read(rules), triggers.length]);
  const perSession = definePlugin({
    id: "acme/rules",
    setup: ({ session }) => ({
      contributions: [rules.of(session.id === "other" ? "Be brief." : "Be kind.")],
      triggers: [{ name: "mail.came" }],
    }),
  });
  await using world = await opened({ tools: [named("ping")], plugins: [protocol, perSession] });
  for (const id of ["one", "two", "three"])
    await did(await world.runtime.session(id, { config: { instructions: `You are ${id}.` } }));
  expect(looks).toEqual([[["Be kind."], 1]]);
  await did(await world.runtime.session("other"));
  expect(looks).toEqual([
    [["Be kind."], 1],
    [["Be brief."], 1],
  ]);
});

test("P3 a protocol cannot change the prompt parts that it is shown", async () => {
  const { protocol } = looking(({ prompt }) => (prompt as PromptPart[]).push({ slot: "intro", text: "More." }));
  await using world = await opened({ instructions: "Be kind.", plugins: [protocol] });
  expect((await did(world.session)).outcome.kind).toBe("failed");
});

test("P3 a turn that another process left resumes with a preamble made from the recorded prompt", async () => {
  const life = lives(durable(memory()));
  const struck = signalOf();
  const { looks, protocol } = looking(texts);
  let isFirst = true;
  const deploy = (now: number, name: string) =>
    deployed(life.next(), quickWorld({ now, name }), {
      model: model(nothing(), inTurn(calls("work"), says("Done."))),
      plugins: [protocol, adds(() => (isFirst ? "As it was." : "As it is."))],
      tools: [
        named("work", async () => {
          if (!isFirst) return "worked";
          life.kill();
          struck.resolve();
          return new Promise(() => {});
        }),
      ],
    });
  const one = await deploy(BEGINNING, "one");
  void (await one.runtime.session("s")).turn("Go.", { key: "k" });
  await within(struck.promise);
  await passed(5);
  isFirst = false;
  looks.length = 0;
  const two = await deploy(BEGINNING + HOUR, "two");
  const session = await two.runtime.session("s");
  expect((await within(session.turn("Go.", { key: "k" }).result(), 3_000)).outcome.kind).toBe("answered");
  expect(looks).toEqual([["As it was."]]);
});
