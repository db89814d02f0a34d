import { createRuntime, defineTool } from "bowline";
import { checkStore } from "bowline/stores/rules";
import { calls, says, scripted, storeLaws } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { sample } from "../kit/size.ts";
import { file } from "../kit/stores.ts";
import { JsonEngine, jsonFile } from "./json-file.ts";

const NTH = sample(3, 1);

describe("the laws of stores on a JSON file", () => {
  for (const { law, check } of storeLaws.filter((_, index) => index % NTH === 0))
    test(law, async () => {
      const path = file();
      await check(jsonFile(path));
      expect(await checkStore(new JsonEngine(path))).toEqual([]); // What the file has, not what was in memory.
    });
});

test("an agent runs on a JSON file, and a later process continues its session", async () => {
  const path = file();
  const open = async (...replies: Parameters<typeof scripted>) => {
    const model = scripted(...replies);
    const runtime = await createRuntime({ store: jsonFile(path), model, tools: [add] });
    return { runtime, model, session: await runtime.session("sums") };
  };

  const first = await open(calls("add", { a: 20, b: 22 }), says("It is 42."));
  const { outcome } = await first.session.turn("What is 20 + 22?").result();
  expect(outcome).toMatchObject({ kind: "answered", text: "It is 42." });
  const { messages } = await first.session.read();
  expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant"]);
  await first.runtime.close();

  const second = await open(says("You asked for it."));
  expect((await second.session.read()).messages).toEqual(messages);
  expect((await second.session.turn("Why?").result()).outcome.kind).toBe("answered");
  expect(JSON.stringify(second.model.requests)).toContain("It is 42.");
  await second.runtime.close();
  expect(await checkStore(new JsonEngine(path))).toEqual([]);
});

const add = defineTool({
  name: "add",
  description: "Adds two numbers.",
  input: z.object({ a: z.number(), b: z.number() }),
  execute: ({ a, b }) => a + b,
});
