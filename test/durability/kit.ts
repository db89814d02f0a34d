import { createHash } from "node:crypto";
import {
  definePlugin,
  defineTool,
  type Json,
  type ModelPart,
  type ModelRequest,
  type Provider,
  type Runtime,
  type RuntimeOptions,
  type Store,
  type Tool,
  type ToolContext,
  type ToolSpec,
  type TraceRecord,
  type Turn,
} from "bowline";
import { journal } from "bowline/hosts/journal";
import { toolCalls } from "bowline/protocols/tool-calls";
import { z } from "zod";
import type { World } from "../../src/model/world.ts";
import { openRuntime } from "../../src/runtime/runtime.ts";
import { outline, text } from "../stories/kit.ts";

/** The first of January 2026: when journals of these tests were recorded. */
export const BEGINNING = 1_767_225_600_000;
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/**
 * A world in which nobody waits: a sleep of up to an hour is over at once, and the clock has moved by it. A longer one
 * (the `until` of an approval) only ends when it is told to.
 */
export interface QuickWorld extends World {
  pass(ms: number): void;
}
export function quickWorld({ now = BEGINNING, name = "" }: { readonly now?: number; readonly name?: string } = {}) {
  let time = now;
  let ids = 0;
  let secrets = 0;
  const world: QuickWorld = {
    now: () => time,
    pass: (ms) => void (time += ms),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (!(ms > 0) || signal?.aborted === true) return resolve();
        const due = time + ms;
        const wake = (): void => {
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        signal?.addEventListener("abort", wake, { once: true });
        if (ms <= HOUR)
          setImmediate(() => {
            if (signal?.aborted !== true) time = Math.max(time, due);
            wake();
          });
      }),
    id: (prefix) => `${prefix}_${String(++ids).padStart(6, "0")}${name}`,
    secret: () => `secret-${name}-${++secrets}`,
  };
  return world;
}

export interface Deployment {
  readonly runtime: Runtime;
  readonly traces: readonly TraceRecord[];
}

type Options = Partial<Omit<RuntimeOptions, "model" | "models">> & {
  readonly model: Provider;
  readonly models?: RuntimeOptions["models"];
};

/** A runtime on the journal host, in a world of its own. It does nothing by itself unless told to. */
export async function deployed(store: Store, world: World, options: Options): Promise<Deployment> {
  const traces: TraceRecord[] = [];
  const { models, ...rest } = options;
  const runtime = await openRuntime(
    {
      recover: "manual",
      trace: (record) => void traces.push(record),
      ...rest,
      ...(models === undefined ? {} : { models }),
      store,
    },
    {
      host: () => journal(),
      protocol: toolCalls,
      adapt: (model) => model as Provider,
      world,
    },
  );
  return { runtime, traces };
}

/** The same store, which says that it keeps things, and stays open whoever closes it. */
export const durable = (store: Store): Store =>
  new Proxy(store, {
    get(target, key) {
      if (key === "isDurable") return true;
      if (key === "close") return () => {};
      const found: unknown = Reflect.get(target, key);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });

// ── What was done ───────────────────────────────────────────────────────────────────────────────────────────────────

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
    replies[messages.filter(({ role }) => role === "assistant").length] ?? [text("There is no more."), FINISH];

const FINISH: ModelPart = {
  kind: "finish",
  reason: "stop",
  usage: { input: 10, cacheRead: 0, cacheWrite: 0, output: 5, reasoning: 0, unknownCalls: 0 },
};

const ANYTHING = z.looseObject({});
type Execute = (input: { [key: string]: unknown }, context: ToolContext) => unknown;

/** A tool that is written down when it is called. */
export const tool = (
  did: Did,
  name: string,
  execute: Execute = () => `${name}!`,
  more: Partial<ToolSpec<typeof ANYTHING, unknown>> = {},
): Tool =>
  defineTool({
    name,
    description: `Does ${name}.`,
    input: ANYTHING,
    ...more,
    execute: (input, context) => {
      did.calls.push(done(name, context));
      return execute(input, context) as Json;
    },
  });

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
export async function answering(turn: Turn<unknown>, runtime: Runtime, answer: Json): Promise<readonly string[]> {
  const keys: string[] = [];
  for await (const event of turn) {
    if (event.kind !== "waiting" || keys.includes(event.wait)) continue;
    keys.push(event.wait);
    await runtime.waits.resolve(event.wait, answer);
  }
  return keys;
}
