import fc from "fast-check";
import { expect, test } from "vitest";
import { asCallId } from "../../src/model/ids.ts";
import type { Message, Part } from "../../src/model/message.ts";
import type { ModelRequest, ModelSettings } from "../../src/model/request.ts";
import { aiSdk } from "../../src/providers/ai-sdk.ts";
import { anthropic } from "./anthropic.ts";
import { ask, message, requestOf, says } from "./ask.ts";
import { google } from "./google.ts";
import { openai } from "./openai.ts";
import { openaiCompatible } from "./openai-compatible.ts";
import type { ProviderWire } from "./provider-wire.ts";
import { serveWire, type WireRequest } from "./server.ts";

type Body = WireRequest["body"];

/** What is sent for each of these requests, one after the other. */
async function sent(wire: ProviderWire, requests: readonly ModelRequest[]): Promise<readonly Body[]> {
  await using server = await serveWire(requests.map(() => wire.text));
  const model = aiSdk(wire.model(server.url));
  for (const request of requests) expect(await ask(model, request)).toEqual({ parts: wire.text.parts });
  return server.requests.map(({ body }) => body);
}

interface Round {
  readonly thought: boolean;
  readonly said: string;
  readonly results: readonly string[];
}

const made = { route: "anthropic/claude-sonnet-4-5", data: { anthropic: { signature: "c2lnbmVk" } } };

/** A reply and what came of it: results, or the user's next words if there were no calls. */
function messagesOf({ thought, said, results }: Round, index: number): readonly Message[] {
  const ids = results.map((_, at) => asCallId(`toolu_${index}_${at}`));
  const parts: readonly Part[] = [
    ...(thought ? [{ kind: "reasoning", text: "Hm.", made } as const] : []),
    { kind: "text", text: said, made: { route: made.route } },
    ...ids.map((callId) => ({ kind: "toolCall", callId, name: "clock", input: { at: index } }) as const),
  ];
  const answers = results.map((text, at): Message => {
    const part: Part = { kind: "text", text };
    return message({
      role: "tool",
      parts: [{ kind: "toolResult", callId: ids[at]!, name: "clock", status: "ok", parts: [part] }],
    });
  });
  return [message({ role: "assistant", parts }), ...(answers.length === 0 ? [says(`And then, ${index}?`)] : answers)];
}

/** One request a round; the last message of each is different every time. */
const requestsOf = (rounds: readonly Round[], settings: ModelSettings = {}): readonly ModelRequest[] =>
  [[], ...rounds].map((_, count) => {
    const stays = [says("Hello"), ...rounds.slice(0, count).flatMap(messagesOf)];
    return requestOf([...stays, says(`It is ${count} o'clock.`)], { stable: stays.length, settings });
  });

interface WireBlock {
  readonly at: string;
  readonly block: { readonly type: string; readonly text?: string; readonly cache_control?: object };
}

const blocksOf = (body: Body): readonly WireBlock[] => [
  ...body.tools.map((block: object) => ({ at: "tools", block })),
  ...body.system.map((block: object) => ({ at: "system", block })),
  ...body.messages.flatMap(({ role, content }: Body) => content.map((block: object) => ({ at: role, block }))),
];
const isMarked = ({ block }: WireBlock): boolean => block.cache_control !== undefined;
const bare = ({ at, block: { cache_control: _, ...block } }: WireBlock): string => JSON.stringify({ at, block });

test("K9 anthropic: the body has cache_control on system and on the last message that stays, and nowhere else", async () => {
  const [first, second] = await sent(anthropic, requestsOf([{ thought: false, said: "Both.", results: ["1", "2"] }]));
  const cache_control = { type: "ephemeral" };
  expect(first).toMatchObject({
    system: [{ type: "text", text: "Be brief.", cache_control }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "Hello", cache_control },
          { type: "text", text: "It is 0 o'clock." },
        ],
      },
    ],
  });
  expect(second.messages).toEqual([
    { role: "user", content: [{ type: "text", text: "Hello" }] },
    {
      role: "assistant",
      content: [
        { type: "text", text: "Both." },
        { type: "tool_use", id: "toolu_0_0", name: "clock", input: { at: 0 } },
        { type: "tool_use", id: "toolu_0_1", name: "clock", input: { at: 0 } },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_0_0", content: "1" },
        { type: "tool_result", tool_use_id: "toolu_0_1", content: "2", cache_control },
        { type: "text", text: "It is 1 o'clock." },
      ],
    },
  ]);
  for (const body of [first, second]) {
    expect(blocksOf(body).filter(isMarked)).toHaveLength(2);
    expect(body).not.toHaveProperty("cache_control");
  }
});

test("K9 anthropic: with the cache off the body has no cache_control, and is the same otherwise", async () => {
  const rounds: readonly Round[] = [{ thought: true, said: "Many.", results: Array.from({ length: 20 }, () => "1") }];
  const off = await sent(anthropic, requestsOf(rounds, { cache: "off" }));
  const auto = await sent(anthropic, requestsOf(rounds));
  expect(JSON.stringify(off)).not.toContain("cache_control");
  expect(auto.map((body) => blocksOf(body).map(bare))).toEqual(off.map((body) => blocksOf(body).map(bare)));
  expect(auto.map((body) => blocksOf(body).filter(isMarked).length)).toEqual([2, 3]);
});

test("K9 anthropic: a lifetime the user chose is that of every breakpoint", async () => {
  const cacheControl = { type: "ephemeral", ttl: "1h" } as const;
  const [body] = await sent(anthropic, requestsOf([], { providerOptions: { anthropic: { cacheControl } } }));
  expect(body.cache_control).toEqual(cacheControl);
  expect(
    blocksOf(body)
      .filter(isMarked)
      .map(({ block }) => block.cache_control),
  ).toEqual([cacheControl, cacheControl]);
});

test("K9 anthropic: what one round caches is word for word what the next begins with", async () => {
  const said = fc.constantFrom("", " ", "Well.", "Well. \n");
  const results = fc.array(fc.constantFrom("", "fine", "null"), { maxLength: 14 });
  const rounds = fc.array(fc.record({ thought: fc.boolean(), said, results }), { minLength: 1, maxLength: 5 });
  const same = fc.asyncProperty(rounds, async (story) => {
    const bodies = (await sent(anthropic, requestsOf(story))).map(blocksOf);
    for (const [index, blocks] of bodies.entries()) {
      const marked = blocks.filter(isMarked);
      expect(marked.length).toBeLessThanOrEqual(4);
      expect(marked[0]!.at).toBe("system");
      for (const { block } of marked) {
        expect(block.type).not.toBe("thinking");
        if (block.type === "text") expect(block.text!.trim()).not.toBe("");
      }
      const last = blocks.findLastIndex(isMarked);
      const stays = blocks.slice(0, -1).map(bare);
      expect(last).toBeLessThan(stays.length);
      const next = bodies[index + 1]?.map(bare);
      if (next === undefined) continue;
      expect(next.slice(0, stays.length)).toEqual(stays);
      // And the next finds it: from one of its breakpoints it is at most 20 blocks back.
      const back = bodies[index + 1]!.map((each, at) => (isMarked(each) ? at - last : -1));
      expect(back.some((distance) => distance >= 0 && distance < 20)).toBe(true);
    }
  });
  await fc.assert(same, { numRuns: 40 });
});

test.each([openai, openaiCompatible, google])("K9 $name: is sent the same with and without the cache", async (wire) => {
  const rounds: readonly Round[] = [{ thought: false, said: "Both.", results: ["1", "2"] }];
  const off = await sent(wire, requestsOf(rounds, { ...wire.settings, cache: "off" }));
  expect(await sent(wire, requestsOf(rounds, { ...wire.settings }))).toEqual(off);
  expect(JSON.stringify(off)).not.toMatch(/cache/i);
});
