import { expect, test } from "vitest";
import { ask, HASH, message, optionsOf, requestOf, says } from "../../../test/wire/ask.ts";
import { type Called, fake, finish, VERSIONS, type Version } from "../../../test/wire/fake.ts";
import { asCallId } from "../../model/ids.ts";
import type { Attachment, Part } from "../../model/message.ts";
import { aiSdk } from "./adapter.ts";

async function promptOf(
  version: Version,
  parts: readonly Part[],
  role: "user" | "assistant" | "tool" = "user",
  provider?: string,
) {
  const { model, calls } = fake(version, [finish(version)], provider);
  const load = () => new TextEncoder().encode("hi!");
  await ask(aiSdk(model), requestOf([message({ role, parts })]), optionsOf({ load }));
  return calls[0].prompt.slice(1);
}

const picture: Attachment = { kind: "attachment", hash: HASH, mediaType: "image/png", bytes: 3, name: "a.png" };
const bytes = new TextEncoder().encode("hi!");

test.each(VERSIONS)("E1 %s: settings, tools and the choice among them arrive", async (version) => {
  const { model, calls } = fake(version, [finish(version)]);
  const settings = {
    temperature: 0.5,
    maxOutputTokens: 99,
    topP: 0.9,
    stopSequences: ["END"],
    seed: 7,
    reasoning: "low",
    providerOptions: { acme: { fast: true } },
  } as const;
  const options = optionsOf();
  await ask(aiSdk(model), requestOf([says("Hello")], { settings, toolChoice: { name: "clock" } }), options);
  const { reasoning, ...rest } = settings;
  expect(calls[0]).toMatchObject({ ...rest, toolChoice: { type: "tool", toolName: "clock" } });
  expect(calls[0].tools[1]).toEqual({
    type: "function",
    name: "clock",
    description: "Tells the clock.",
    inputSchema: { type: "object", properties: { city: { type: "string" } } },
  });
  expect(calls[0].reasoning).toBe(version === "v4" ? reasoning : undefined);
  expect(calls[0].abortSignal).toBe(options.signal);
  expect(calls[0].prompt[0]).toEqual({ role: "system", content: "Be brief." });
});

test("without tools there is no choice among them", async () => {
  const { model, calls } = fake("v4", [finish("v4")]);
  await ask(aiSdk(model), requestOf([says("Hello")], { tools: [], toolChoice: "required", system: "" }));
  expect(calls[0]).not.toHaveProperty("tools");
  expect(calls[0]).not.toHaveProperty("toolChoice");
  expect(calls[0].prompt).toEqual([{ role: "user", content: [{ type: "text", text: "Hello" }] }]);
});

test.each([
  ["v2", bytes],
  ["v3", bytes],
  ["v4", { type: "data", data: bytes }],
] as const)("E1 %s: a file has its bytes in the version's own shape", async (version, data) => {
  const file = { type: "file", data, mediaType: "image/png", filename: "a.png" };
  expect(await promptOf(version, [picture])).toEqual([{ role: "user", content: [file] }]);
});

test.each([
  ["v2", { type: "media", data: "aGkh", mediaType: "image/png" }],
  ["v3", { type: "image-data", data: "aGkh", mediaType: "image/png" }],
  ["v4", { type: "file", data: { type: "data", data: "aGkh" }, mediaType: "image/png", filename: "a.png" }],
] as const)("E1 %s: a file in a tool's result too", async (version, file) => {
  const [{ content }] = await promptOf(version, [result("ok", [{ kind: "text", text: "See:" }, picture])], "tool");
  expect(content[0].output).toEqual({ type: "content", value: [{ type: "text", text: "See:" }, file] });
});

test("chat completions get a result's file after all results, as the user's", async () => {
  const results = [result("ok", [picture], "c1"), result("ok", [{ kind: "text", text: "Fine." }], "c2")];
  const prompt = await promptOf("v4", [...results, { kind: "text", text: "Go on." }], "tool", "acme.chat");
  expect(
    prompt.map((each: Called) => each.content.map((part: Called) => part.output?.value ?? part.text ?? part.type)),
  ).toEqual([
    ["[a.png, image/png, follows]", "Fine."],
    ["file", "Go on."],
  ]);
});

test.each(["failed", "denied", "cancelled", "unknown"] as const)(
  "a result that is %s is an error to the model",
  async (status) => {
    const [{ role, content }] = await promptOf("v3", [result(status, [{ kind: "text", text: "No." }])], "tool");
    expect(role).toBe("tool");
    expect(content[0]).toMatchObject({
      toolCallId: "c1",
      toolName: "clock",
      output: { type: "error-text", value: "No." },
    });
  },
);

test("private data goes to the route that made it, and reasoning of others is left out", async () => {
  const data = { acme: { signature: "s" } };
  const parts = (route: string): readonly Part[] => [
    { kind: "reasoning", text: "Hm.", made: { route, data } },
    { kind: "text", text: "Yes.", made: { route, data } },
    { kind: "toolCall", callId: asCallId("c1"), name: "clock", input: { at: 1 }, made: { route, data } },
  ];
  const [own] = await promptOf("v2", parts("acme/m-1"), "assistant");
  expect(own).toEqual({
    role: "assistant",
    content: [
      { type: "reasoning", text: "Hm.", providerOptions: data },
      { type: "text", text: "Yes.", providerOptions: data },
      { type: "tool-call", toolCallId: "c1", toolName: "clock", input: { at: 1 }, providerOptions: data },
    ],
  });
  const [other] = await promptOf("v2", parts("acme/m-2"), "assistant");
  expect(other.content).toEqual([
    { type: "text", text: "Yes." },
    { type: "tool-call", toolCallId: "c1", toolName: "clock", input: { at: 1 } },
  ]);
});

test("a malformed call is sent without its input, and code output as the user's words", async () => {
  const call: Part = { kind: "toolCall", callId: asCallId("c1"), name: "clock", input: "x", malformed: "{oops" };
  const output: Part = { kind: "codeOutput", status: "threw", parts: [{ kind: "text", text: "Error: no" }] };
  expect(await promptOf("v4", [call, output], "assistant")).toEqual([
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "c1", toolName: "clock", input: {} }] },
    { role: "user", content: [{ type: "text", text: "Error: no" }] },
  ]);
});

test("messages in any order make a prompt that every API takes", async () => {
  const { model, calls } = fake("v4", [finish("v4")]);
  const words = (role: "system" | "user" | "assistant" | "tool", text: string) =>
    message({ role, parts: [{ kind: "text", text }] });
  const tool = (callId: string) => message({ role: "tool", parts: [result("ok", [], callId)] });
  const empty = message({
    role: "assistant",
    parts: [
      { kind: "reasoning", text: "?" },
      { kind: "text", text: "" },
    ],
  });
  await ask(
    aiSdk(model),
    requestOf([
      words("system", "And kind."),
      words("assistant", "A"),
      words("assistant", "B"),
      empty,
      tool("c1"),
      tool("c2"),
      words("system", "Hurry."),
      words("tool", "?"),
    ]),
  );
  expect(calls[0].prompt.map(({ role, content }: Called) => [role, content.length])).toEqual([
    ["system", 9],
    ["system", 9],
    ["assistant", 1],
    ["assistant", 1],
    ["tool", 2],
    ["user", 1],
    ["user", 1],
  ]);
});

test("ids of calls that repeat or that others wrote are made usable, in pairs", async () => {
  const call = (callId: string, route?: string): Part => ({
    kind: "toolCall",
    callId: asCallId(callId),
    name: "clock",
    input: {},
    ...(route === undefined ? {} : { made: { route } }),
  });
  const parts = [
    call("0"),
    call("0"),
    result("ok", [], "0"),
    result("ok", [], "0"),
    call("f.x:0"),
    result("ok", [], "f.x:0"),
  ];
  const prompt = await promptOf("v4", [...parts, call("own:1", "acme/m-1"), result("ok", [], "own:1")], "assistant");
  expect(prompt.flatMap(({ content }: Called) => content.map((part: Called) => part.toolCallId))).toEqual([
    "0",
    "0_2",
    "0",
    "0_2",
    "f_x_0",
    "f_x_0",
    "own:1",
    "own:1",
  ]);
});

function result(
  status: "ok" | "failed" | "denied" | "cancelled" | "unknown",
  parts: Extract<Part, { kind: "toolResult" }>["parts"],
  callId = "c1",
) {
  return { kind: "toolResult", callId: asCallId(callId), name: "clock", status, parts } as const;
}
