/** What acted on the world is written down here: models, tools and a plugin that leave a trace of each call. */
import { createHash } from "node:crypto";
import { type Approval, definePlugin, type Runtime, type Tool, type ToolContext, type Turn } from "bowline";
import type { ModelPart, ModelRequest, Provider } from "bowline/provider";
import { z } from "zod";
import { end, text } from "../kit/models.ts";
import { outline } from "../kit/reading.ts";
import { answerWait, named } from "../kit/worlds.ts";

/** What acted on the world: model calls by what they were told last, tool calls by attempt and idempotency key. */
export interface Did {
  readonly asks: string[];
  readonly calls: string[];
  readonly hooks: string[];
}
export const nothing = (): Did => ({ asks: [], calls: [], hooks: [] });

/** As every version must make it: a call in flight during an upgrade runs again under the key that it began with. */
export const keyOf = (turn: string, position: string): string =>
  createHash("sha256").update(`${turn}/${position}`).digest("base64url");

export const done = (name: string, { attempt, idempotencyKey }: Pick<ToolContext, "attempt" | "idempotencyKey">) =>
  `${name}#${attempt} ${idempotencyKey}`;

/** A model that has no memory of its own: what it says follows from what it is shown. */
export const model = (
  did: Did,
  reply: (request: ModelRequest) => readonly ModelPart[] | Promise<readonly ModelPart[]>,
): Provider => ({
  id: "stateless",
  modelId: "test",
  async *stream(request) {
    did.asks.push(`${request.messages.length} ${outline(request.messages).at(-1)}`);
    yield* await reply(request);
  },
});

/** Plays the reply whose number is that of the assistant's messages so far. */
export const inTurn =
  (...replies: readonly (readonly ModelPart[])[]) =>
  ({ messages }: ModelRequest): readonly ModelPart[] =>
    replies[messages.filter(({ role }) => role === "assistant").length] ?? [text("There is no more."), end];

type Execute = (input: { [key: string]: unknown }, context: ToolContext) => unknown;

/** A tool that is written down when it is called. */
export const tool = (
  did: Did,
  name: string,
  execute: Execute = () => `${name}!`,
  more: Parameters<typeof named>[2] = {},
): Tool =>
  named(
    name,
    (input, context) => {
      did.calls.push(done(name, context));
      return execute(input, context);
    },
    more,
  );

/** Counts calls before and results after: what it keeps says how often each was seen. */
export const counter = definePlugin({
  id: "acme/counter",
  version: "1",
  state: z.object({ before: z.number().default(0), after: z.number().default(0), ends: z.number().default(0) }),
  setup: ({ query, command }) => ({
    beforeToolCall: ({ state }) => state.update((now) => ({ ...now, before: now.before + 1 })),
    afterToolCall: ({ state }) => state.update((now) => ({ ...now, after: now.after + 1 })),
    afterTurn: ({ state }) => state.update((now) => ({ ...now, ends: now.ends + 1 })),
    operations: {
      counts: query({ run: ({ state }) => state.get() }),
      add: command({
        run: ({ state }) => {
          state.update((now) => ({ ...now, ends: now.ends + 100 }));
          return state.get().ends;
        },
      }),
    },
  }),
});

/** Answers every wait of a turn as it is told of it. */
export async function answering(turn: Turn<unknown>, runtime: Runtime, answer: Approval): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const event of turn) {
    if (event.kind !== "waiting" || keys.includes(event.wait)) continue;
    keys.push(event.wait);
    await answerWait(runtime, event.wait, answer);
  }
  return keys;
}
