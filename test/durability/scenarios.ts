import {
  defer,
  definePlugin,
  jsonSchema,
  question,
  type Runtime,
  retryable,
  type Session,
  switchFrame,
  type Turn,
} from "bowline";
import { ask } from "bowline/plugin";
import { toolsSearch } from "bowline/plugins/tools-search";
import { toolCalls } from "bowline/protocols/tool-calls";
import { type ModelPart, ProviderFailure } from "bowline/provider";
import { both, calls, says } from "bowline/testing";
import { z } from "zod";
import { ticks, wordsOf } from "../kit/reading.ts";
import { answerWait, type deployed } from "../kit/worlds.ts";
import { answering, counter, type Did, done, inTurn, model, tool } from "./witness.ts";

/** What happens around a live turn and is on record for a resumed one. */
export interface Outside {
  send(words: string): Promise<void>;
  cancel(): Promise<void>;
}

export interface Scenario {
  readonly name: string;
  options(did: Did, outside: Outside | undefined): Parameters<typeof deployed>[2];
  readonly history?: readonly string[];
  begin?(session: Session): Turn<unknown>;
  /** Whoever answers its waits. */
  attend?(turn: Turn<unknown>, runtime: Runtime): Promise<unknown>;
}

const asks = definePlugin({
  id: "acme/asks",
  setup: () => ({
    beforeToolCall: ({ call }) => (call.name === "pay" ? ask("It costs money.") : undefined),
  }),
});

/** Shows what was said so far as one line, when there is too much of it. */
const compactor = definePlugin({
  id: "acme/compactor",
  setup: () => ({
    compact: ({ messages }) => [
      { role: "user" as const, parts: [{ kind: "text" as const, text: `Before: ${messages.length} messages.` }] },
    ],
  }),
});

/** Counts in the state of the tool's own plugin, and pays for nested work once. */
const notebook = (did: Did) =>
  definePlugin({
    id: "acme/notebook",
    version: "1",
    state: z.object({ lines: z.array(z.string()).default([]) }),
    setup: ({ tool: make }) => ({
      beforeTurn: async ({ once }) => void (await once("greeting", () => "Hello.")),
      afterToolCall: ({ call, state }) => state.update(({ lines }) => ({ lines: [...lines, `after ${call.name}`] })),
      tools: [
        make({
          name: "write",
          description: "Writes a line.",
          input: z.object({ line: z.string() }),
          writes: true,
          execute: async ({ line }, { state, complete, attempt, idempotencyKey }) => {
            did.calls.push(done("write", { attempt, idempotencyKey }));
            const better = await complete.text(`Say it better: ${line}`, { label: "better" });
            state.update(({ lines }) => ({ lines: [...lines, better] }));
            return { written: line };
          },
        }),
      ],
    }),
  });

const KINDS = jsonSchema<{ kinds: number }>({
  type: "object",
  properties: { kinds: { type: "number" } },
  required: ["kinds"],
});

const finish = (input: number): ModelPart => ({
  kind: "finish",
  reason: "stop",
  usage: { input, cacheRead: 0, cacheWrite: 0, output: 5, reasoning: 0, unknownCalls: 0 },
});

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "text",
    history: ["Earlier."],
    options: (did) => ({ model: model(did, inTurn(says("Nine ", "kinds."))) }),
  },
  {
    name: "ten-tools",
    options: (did) => ({
      model: model(did, ({ messages }) => {
        const number = messages.filter(({ role }) => role === "assistant").length;
        return number === 10 ? says("Ten.") : calls("search", { number }, `call_${number}`);
      }),
      tools: [tool(did, "search", ({ number }) => ({ found: number }))],
    }),
  },
  {
    name: "parallel",
    options: (did) => ({
      model: model(
        did,
        inTurn(
          both(
            says("Let me look."),
            calls("slow", { ms: 3 }),
            calls("breaks"),
            calls("quick"),
            calls("nobody"),
            calls("quick", { wrong: true }),
          ),
          says("Two of five."),
        ),
      ),
      tools: [
        tool(did, "slow", async () => {
          for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
          return "Slow.";
        }),
        tool(did, "breaks", async () => {
          await ticks(3);
          throw new Error("It broke.");
        }),
        tool(did, "quick"),
      ],
    }),
  },
  {
    name: "plugin-state",
    options: (did) => ({
      model: model(did, (request) => {
        const last = wordsOf(request.messages.at(-1));
        if (last.startsWith("Say it better: "))
          return [{ kind: "text", delta: last.slice(15).toUpperCase() }, finish(1)];
        return inTurn(
          both(calls("write", { line: "a" }), calls("search"), calls("write", { line: "b" })),
          calls("write", { line: "c" }),
          says("Written."),
        )(request);
      }),
      plugins: [counter, notebook(did)],
      tools: [tool(did, "search")],
    }),
  },
  {
    name: "appends",
    options: (did) => ({
      model: model(did, inTurn(both(calls("search"), calls("mark")), says("Marked."))),
      plugins: [
        definePlugin({
          id: "acme/marks",
          setup: () => ({
            context: async ({ graph }) =>
              void (await graph.append([{ kind: "plugin", type: "mark", body: "context" }], { operationId: "first" })),
            afterToolCall: async ({ graph, call }) =>
              void (await graph.append([{ kind: "message", role: "system", text: `After ${call.name}.` }])),
          }),
        }),
      ],
      tools: [
        tool(did, "search"),
        tool(did, "mark", async (_, { graph }) => {
          await graph.append([{ kind: "plugin", type: "mark", body: "tool" }]);
          return "Marked.";
        }),
      ],
    }),
  },
  {
    name: "boundary-input",
    options: (did, outside) => ({
      model: model(did, inTurn(calls("search"), says("First."))),
      tools: [
        tool(did, "search", async () => {
          await outside?.send("And lions?");
          return "Tigers.";
        }),
      ],
      plugins: [counter],
    }),
  },
  {
    name: "cancel",
    options: (did, outside) => ({
      model: model(did, inTurn(both(calls("hangs"), calls("search"), calls("serial")), says("Never."))),
      plugins: [counter],
      tools: [
        tool(did, "search"),
        tool(did, "serial", () => "Serial.", { isSerial: true }),
        tool(did, "hangs", async () => {
          await new Promise((resolve) => setImmediate(resolve));
          await outside?.cancel();
          return outside === undefined ? "It came back." : new Promise(() => {});
        }),
      ],
    }),
  },
  {
    name: "approval",
    options: (did) => ({
      model: model(did, inTurn(both(calls("pay", { sum: 5 }), calls("search")), says("Paid."))),
      plugins: [asks],
      tools: [tool(did, "pay", ({ sum }) => ({ paid: sum })), tool(did, "search")],
    }),
    attend: (turn, runtime) => answering(turn, runtime, { approved: true, args: { sum: 4 } }),
  },
  {
    name: "deferred",
    options: (did) => ({
      model: model(did, inTurn(both(calls("fetch"), calls("survey"), calls("search")), says("Four coats."))),
      tools: [
        tool(did, "fetch", () => defer({ schema: z.object({ coats: z.number() }) })),
        tool(did, "survey", () => question(z.object({ warm: z.boolean() }), { text: "Is it warm?" })),
        tool(did, "search"),
      ],
    }),
    attend: async (turn, runtime) => {
      for await (const event of turn)
        if (event.kind === "waiting")
          await answerWait(runtime, event.wait, {
            value: event.wants === "question" ? { warm: false } : { coats: 4 },
          });
    },
  },
  {
    name: "applied",
    options: (did) => ({
      model: model(did, inTurn(both(calls("pay", { sum: 5 }), calls("search")), says("Paid."))),
      plugins: [asks, counter],
      tools: [tool(did, "pay", ({ sum }) => ({ paid: sum })), tool(did, "search")],
    }),
    attend: async (turn, runtime) => {
      const session = await runtime.session("s");
      for await (const event of turn) {
        if (event.kind !== "waiting") continue;
        await session.command(counter, "add", undefined, { operationId: "add" });
        await session.configure({ instructions: "Be kind." });
        await session.append([{ kind: "message", role: "user", text: "By the way." }], { operationId: "aside" });
        await answerWait(runtime, event.wait, { approved: true });
      }
    },
  },
  {
    name: "backoff",
    options: (did) => ({
      model: model(did, inTurn(both(calls("flaky"), calls("search")), says("At last."))),
      tools: [
        tool(
          did,
          "flaky",
          (_, { attempt }) => {
            if (attempt < 3) throw retryable(new Error("Not yet."));
            return "Third time.";
          },
          { retry: { policy: "safe", attempts: 3, baseMs: 1_000 } },
        ),
        tool(did, "search"),
      ],
    }),
  },
  {
    name: "typed-output",
    options: (did) => ({
      model: model(
        did,
        inTurn(
          calls("search"),
          calls("submit_output", { kinds: "nine" }),
          says("Nine."),
          calls("submit_output", { kinds: 9 }),
        ),
      ),
      tools: [tool(did, "search")],
    }),
    begin: (session) => session.turn("How many?", { key: "k", output: KINDS }),
  },
  {
    name: "batch",
    options: (did) => ({
      model: model(
        did,
        inTurn(
          both(
            calls("batch", {
              calls: [
                { tool: "search", input: { q: "tigers" } },
                { tool: "breaks", input: {} },
                { tool: "nobody", input: {} },
              ],
            }),
            calls("search", { q: "lions" }),
          ),
          says("Done."),
        ),
      ),
      plugins: [toolCalls({ batch: true }), counter],
      tools: [
        tool(did, "search", ({ q }) => `${q}!`),
        tool(did, "breaks", () => {
          throw new Error("It broke.");
        }),
      ],
    }),
  },
  {
    name: "compaction",
    history: ["One.", "Two.", "Three."],
    options: (did) => ({
      model: model(did, (request) => {
        if (request.messages.length > 4) throw new ProviderFailure({ class: "context-overflow", message: "Too long." });
        return inTurn(calls("search"), says("Short."))(request);
      }),
      plugins: [compactor],
      tools: [tool(did, "search")],
    }),
  },
  {
    name: "frame",
    options: (did) => ({
      model: model(did, ({ messages }) =>
        wordsOf(messages[0]).startsWith("Count the stripes") ? says("Seven.") : calls("hand_over"),
      ),
      tools: [tool(did, "hand_over", () => switchFrame("Count the stripes.", { of: "a tiger" }))],
    }),
  },
  {
    name: "membership",
    options: (did) => ({
      model: model(did, (request) =>
        inTurn(
          calls("tools_search", { query: "select: hidden" }),
          request.tools.some(({ name }) => name === "hidden") ? calls("hidden") : says("It is not there."),
          says("Found."),
        )(request),
      ),
      plugins: [toolsSearch],
      tools: [tool(did, "hidden", () => "Here.", { availability: "searchable" }), tool(did, "search")],
    }),
  },
];

export const beginning = (scenario: Scenario, session: Session): Turn<unknown> =>
  scenario.begin?.(session) ?? session.turn("How many kinds of tigers?", { key: "k" });
