import { expect, test } from "vitest";
import { ask, HASH, message, optionsOf, requestOf, says } from "../../../test/wire/ask.ts";
import { type Called, fake, finish, VERSIONS, type Version } from "../../../test/wire/fake.ts";
import { asCallId } from "../../model/ids.ts";
import type { Attachment, Message, Part, Role } from "../../model/message.ts";
import type { ModelRequest } from "../../model/request.ts";
import { aiSdk } from "./adapter.ts";
import { cacheStyleOf } from "./cache.ts";

const words = (role: Role, text: string): Message => message({ role, parts: [{ kind: "text", text }] });
const reply = (...ids: readonly string[]): Message =>
  message({
    role: "assistant",
    parts: ids.map((id) => ({ kind: "toolCall", callId: asCallId(id), name: "clock", input: {} })),
  });
const result = (id: string, text = "fine"): Message =>
  message({
    role: "tool",
    parts: [{ kind: "toolResult", callId: asCallId(id), name: "clock", status: "ok", parts: [{ kind: "text", text }] }],
  });
const many = (count: number, prefix: string): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);
/** A reply with `count` calls, and their results. */
const round = (count: number, prefix: string): readonly Message[] => {
  const ids = many(count, prefix);
  return [reply(...ids), ...ids.map((id) => result(id))];
};

async function called(
  messages: readonly Message[],
  more: Partial<ModelRequest> = {},
  { provider = "anthropic.messages", modelId = "claude-1", version = "v4" as Version } = {},
): Promise<Called> {
  const { model, calls } = fake(version, [finish(version)], provider);
  const load = () => new TextEncoder().encode("hi!");
  await ask(aiSdk({ ...model, modelId }), requestOf(messages, more), optionsOf({ load }));
  return calls[0];
}

/** All breakpoints: `system`, the text or id of a part, or `message` for a mark on a message. */
function marksIn({ prompt }: Called): readonly string[] {
  const nameOf = (part: Called): string => part.toolCallId ?? part.text ?? part.type;
  return prompt.flatMap(({ role, content, providerOptions }: Called) => {
    if (role === "system") return providerOptions === undefined ? [] : [`system ${content}`];
    const parts = content.filter((part: Called) => part.providerOptions !== undefined).map(nameOf);
    return providerOptions === undefined ? parts : [...parts, `message ${nameOf(content.at(-1))}`];
  });
}

const BREAKPOINT = { anthropic: { cacheControl: { type: "ephemeral" } } };

test.each(VERSIONS)("K9 %s: system and the last message are breakpoints", async (version) => {
  const { prompt } = await called([says("Hello"), ...round(1, "c")], {}, { version });
  expect(prompt).toEqual([
    { role: "system", content: "Be brief.", providerOptions: BREAKPOINT },
    { role: "user", content: [{ type: "text", text: "Hello" }] },
    { role: "assistant", content: [{ type: "tool-call", toolCallId: "c0", toolName: "clock", input: {} }] },
    {
      role: "tool",
      content: [
        {
          type: "tool-result",
          toolCallId: "c0",
          toolName: "clock",
          output: { type: "text", value: "fine" },
          providerOptions: BREAKPOINT,
        },
      ],
    },
  ]);
});

test("K9 with the cache off, and for a provider that needs no breakpoints, none is sent, nor is the setting", async () => {
  const off = await called([says("Hello")], { settings: { cache: "off" } });
  const auto = await called([says("Hello")], { settings: { cache: "auto" } });
  const other = await called([says("Hello")], { settings: { cache: "auto" } }, { provider: "openai.responses" });
  expect([off, auto, other].map((each) => marksIn(each).length)).toEqual([0, 2, 0]);
  for (const each of [off, auto, other]) expect(each).not.toHaveProperty("cache");
});

test("K9 what changes carries no breakpoint, and stands after all of them", async () => {
  const messages = [says("Hello"), ...round(2, "c"), words("user", "It is noon.")];
  expect(marksIn(await called(messages, { stable: 4 }))).toEqual(["system Be brief.", "c1"]);
  expect(marksIn(await called(messages, { stable: 3 }))).toEqual(["system Be brief.", "c0"]);
  expect(marksIn(await called(messages, { stable: 0 }))).toEqual(["system Be brief."]);
});

test("K9 a system message that changes is left out, with all after it", async () => {
  const messages = [words("system", "And kind."), words("system", "It is noon."), says("Hello")];
  expect(marksIn(await called(messages, { stable: 1 }))).toEqual(["system And kind."]);
  expect(marksIn(await called(messages))).toEqual(["system It is noon.", "Hello"]);
});

test("K9 where there is nothing to cache there is no breakpoint", async () => {
  expect(marksIn(await called([], { system: "" }))).toEqual([]);
  expect(marksIn(await called([says("Hello")], { system: "", stable: 0 }))).toEqual([]);
  expect(marksIn(await called([says("Hello")], { system: " \n" }))).toEqual(["Hello"]);
});

test("K9 empty words, empty results and reasoning are passed over", async () => {
  const made = { route: "anthropic/claude-1", data: { anthropic: { signature: "s" } } };
  const thought: Part = { kind: "reasoning", text: "Hm.", made };
  const end = (...parts: readonly Part[]) => called([says("Hello"), message({ role: "assistant", parts })]);
  expect(marksIn(await called([says("Hello"), reply("c0"), result("c0", "")]))).toEqual(["system Be brief.", "c0"]);
  const { prompt } = await called([says("Hello"), reply("c0"), result("c0", "")]);
  expect(prompt[2].content[0]).toMatchObject({ type: "tool-call", providerOptions: BREAKPOINT });
  expect(prompt[3].content[0]).not.toHaveProperty("providerOptions");
  // A signed part keeps its own options beside the breakpoint.
  const [, , { content }] = (await end(thought, { kind: "text", text: "Yes.", made }, thought)).prompt;
  expect(content.map((part: Called) => part.providerOptions.anthropic)).toEqual([
    { signature: "s" },
    { signature: "s", cacheControl: { type: "ephemeral" } },
    { signature: "s" },
  ]);
  const [, hello, thoughts] = (await end(thought, { kind: "text", text: "", made })).prompt;
  expect(hello.content[0].providerOptions).toEqual(BREAKPOINT);
  expect(JSON.stringify(thoughts)).not.toContain("cacheControl");
});

test("K9 a reply of many calls does not hide what the call before it cached", async () => {
  const before = [says("Hello"), ...round(1, "a")];
  expect(marksIn(await called([...before, ...round(6, "b")]))).toEqual(["system Be brief.", "b5"]);
  // From b7 back to a0 there are 16 blocks, too many to look back.
  expect(marksIn(await called([...before, ...round(8, "b")]))).toEqual(["system Be brief.", "Hello", "a0", "b7"]);
});

test("K9 a long turn of short rounds also reads from where it began", async () => {
  const rounds = (count: number) => many(count, "r").flatMap((name) => round(1, name));
  const turn = (count: number) => called([says("Hi"), words("assistant", "Hi."), says("Go"), ...rounds(count)]);
  expect(marksIn(await turn(7))).toEqual(["system Be brief.", "r60"]);
  expect(marksIn(await turn(8))).toEqual(["system Be brief.", "Go", "r70"]);
  expect(marksIn(await turn(30))).toEqual(["system Be brief.", "Go", "r290"]);
});

test("K9 no prompt has more than four breakpoints, and a user's own is one of them", async () => {
  const messages = [says("Hello"), ...round(20, "a"), ...round(20, "b")];
  expect(marksIn(await called(messages))).toEqual(["system Be brief.", "Hello", "a19", "b19"]);
  const cacheControl = { type: "ephemeral", ttl: "1h" };
  const providerOptions = { anthropic: { cacheControl, effort: "low" } };
  const own = await called(messages, { settings: { providerOptions } });
  expect(own.providerOptions).toEqual(providerOptions);
  expect(marksIn(own)).toEqual(["system Be brief.", "a19", "b19"]);
  // All have the user's lifetime: one that lived shorter than a later one would be refused.
  expect(own.prompt[0].providerOptions).toEqual({ anthropic: { cacheControl } });
});

test("K9 every call finds what the call before it cached within twenty blocks of a breakpoint", async () => {
  const sizes = [1, 3, 30, 1, 1, 12, 9, 10, 0, 25, 2];
  const messages: Message[] = [];
  let earlier: readonly string[] = [];
  for (const [index, size] of sizes.entries()) {
    // A round without calls is an answer, and a new turn.
    const name = `n${index}x`;
    messages.push(...(size === 0 ? [words("assistant", `${name}!`)] : []));
    messages.push(...(size === 0 || index === 0 ? [says(`${name}?`)] : round(size, name)));
    const { prompt } = await called([...messages, says(`now ${index}`)], { stable: messages.length });
    const blocks = prompt
      .slice(1)
      .flatMap(({ content }: Called) =>
        content.map((part: Called) => [`${part.type} ${part.toolCallId ?? part.text}`, part.providerOptions] as const),
      );
    const names = blocks.map(([block]: Called) => block);
    const marked = names.filter((_: string, at: number) => blocks[at][1] !== undefined);
    const found = earlier.filter((block) =>
      marked.some((mark: string) => {
        const back = names.indexOf(mark) - names.indexOf(block);
        return back >= 0 && back < 20;
      }),
    );
    if (index > 0) expect(found).toContain(earlier.at(-1));
    expect(marked.length).toBeLessThanOrEqual(3);
    earlier = marked;
  }
});

test.each([
  ["anthropic.messages", "claude-sonnet-4-5", "anthropic"],
  ["vertex.anthropic.messages", "claude-sonnet-4-5@20250929", "anthropic"],
  ["googleVertex.anthropic.messages", "claude-sonnet-4-5", "anthropic"],
  ["bedrock.anthropic.messages", "us.anthropic.claude-opus-4-6-v1", "anthropic"],
  ["bedrock.anthropic.messages", "anthropic.claude-3-haiku-20240307-v1:0", undefined],
  ["amazon-bedrock", "eu.anthropic.claude-sonnet-4-20250514-v1:0", "bedrock"],
  ["amazon-bedrock", "anthropic.claude-3-7-sonnet-20250219-v1:0", "bedrock"],
  ["amazon-bedrock", "anthropic.claude-3-5-haiku-20241022-v1:0", "bedrock"],
  ["amazon-bedrock", "anthropic.claude-3-5-sonnet-20240620-v1:0", undefined],
  ["amazon-bedrock", "anthropic.claude-v2:1", undefined],
  ["amazon-bedrock", "amazon.nova-pro-v1:0", undefined],
  ["amazon-bedrock", "arn:aws:bedrock:us-east-1:1:application-inference-profile/x", undefined],
  ["openrouter", "anthropic/claude-sonnet-4.5", "openrouter"],
  ["openrouter.chat", "anthropic/claude-sonnet-4.5", "openrouter"],
  ["openrouter", "openai/gpt-5", undefined],
  ["openai.responses", "gpt-5", undefined],
  ["google.generative-ai", "gemini-2.5-pro", undefined],
  ["gateway", "anthropic/claude-sonnet-4.5", undefined],
])("K9 %s with %s takes breakpoints as %s does", (api, modelId, namespace) => {
  expect(cacheStyleOf(api, modelId)?.namespace).toBe(namespace);
});

const CLAUDE_ON_BEDROCK = { provider: "amazon-bedrock", modelId: "us.anthropic.claude-sonnet-4-5-20250929-v1:0" };

test("K9 Bedrock gets them on messages, on none that holds something that changes, and not after documents", async () => {
  const messages = [says("Hello"), reply("c0", "c1"), result("c0"), result("c1")];
  const whole = await called(messages, {}, CLAUDE_ON_BEDROCK);
  expect(marksIn(whole)).toEqual(["system Be brief.", "message c1"]);
  expect(whole.prompt.at(-1).providerOptions).toEqual({ bedrock: { cachePoint: { type: "default" } } });
  const half = await called(messages, { stable: 3 }, CLAUDE_ON_BEDROCK);
  expect(marksIn(half)).toEqual(["system Be brief.", "message Hello"]);
  const file = (mediaType: string): Attachment => ({ kind: "attachment", hash: HASH, mediaType, bytes: 3 });
  const attached = (mediaType: string) =>
    called([...messages, message({ role: "user", parts: [file(mediaType)] })], {}, CLAUDE_ON_BEDROCK);
  expect(marksIn(await attached("text/csv"))).toEqual(["system Be brief.", "message c1"]);
  expect(marksIn(await attached("image/png"))).toEqual(["system Be brief.", "message file"]);
});

test("K9 OpenRouter gets them on parts, and on none of a reply", async () => {
  const callee = { provider: "openrouter", modelId: "anthropic/claude-sonnet-4.5" };
  const messages = [says("Hello"), reply("c0", "c1"), result("c0"), result("c1"), words("assistant", "Done.")];
  const { prompt } = await called(messages, {}, callee);
  expect(marksIn({ prompt })).toEqual(["system Be brief.", "c1"]);
  expect(prompt[0].providerOptions).toEqual({ openrouter: { cacheControl: { type: "ephemeral" } } });
});
