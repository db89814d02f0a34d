// The agent whose power is cut, and what it is asked to do. It plays the same part twice: in the process that is
// recorded, and again on every image of its disk, with the same keys. By paths, as node loads it in a process of its own.

import { z } from "zod";
import { journal } from "../../src/hosts/journal.ts";
import {
  attach,
  createRuntime,
  definePlugin,
  defineTool,
  hasCode,
  type Runtime,
  type Session,
} from "../../src/index.ts";
import { andThen } from "../../src/model/awaitable.ts";
import { ask, type ModelRequest } from "../../src/plugin.ts";
import type { Provider } from "../../src/provider.ts";
import { calls, says } from "../../src/providers/scripted.ts";
import type { SqliteStore } from "../../src/stores/sqlite.ts";
import type { SessionChange, Store } from "../../src/stores/store.ts";
import { watchedHost } from "../../src/testing/crash/boundaries.ts";
import type { TurnEvent } from "../../src/turn/event.ts";

/** What someone was told, or what was begun. Everything but `began` is an acknowledgement. */
export type Mark =
  | { readonly kind: "accepted" | "committed" | "answered" | "cancelled"; readonly turn: string }
  /** The answer of an effect is in the journal. */
  | { readonly kind: "recorded"; readonly turn: string; readonly effect: string }
  /** A command or a configuration is kept. */
  | { readonly kind: "changed"; readonly operation: string }
  | { readonly kind: "forked"; readonly session: string }
  /** An outward effect began; `once` when its tool forbids a second attempt. */
  | { readonly kind: "began"; readonly turn: string; readonly effect: string; readonly once?: true };

type Tell = (mark: Mark) => void;

const bytes = (size: number, seed: number): Uint8Array => new Uint8Array(size).map((_, n) => (n * seed) % 251);
const soon = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const numbered = { type: "object", properties: { n: { type: "number" } } } as const;

const tools = [
  defineTool({
    name: "note",
    description: "Notes a number.",
    input: numbered,
    execute: async ({ n }) => {
      await soon();
      return `noted ${n}`;
    },
  }),
  defineTool({
    name: "draw",
    description: "Draws a picture.",
    input: numbered,
    execute: ({ n }) => attach(bytes(6_000, Number(n) + 2), { mediaType: "image/png", name: `${n}.png` }) as never,
  }),
  defineTool({
    name: "pay",
    description: "Pays.",
    input: numbered,
    onInterrupt: "fail",
    execute: async () => {
      await soon();
      return "paid";
    },
  }),
];

const careful = definePlugin({
  id: "power/careful",
  version: "1",
  state: z.object({ level: z.number().default(0), calls: z.number().default(0) }),
  setup: ({ command }) => ({
    beforeToolCall: ({ call, state }) => {
      state.update((now) => ({ ...now, calls: now.calls + 1 }));
      const { n } = call.input as { readonly n: number };
      return call.name === "pay" && n % 10 === 0 ? ask("It moves money.") : undefined;
    },
    operations: {
      raise: command({
        input: z.object({ level: z.number() }),
        run: ({ input, state }) => state.update((now) => ({ ...now, level: input.level })),
      }),
    },
  }),
});

/** Does what the last input says: "draw 3" makes three calls, one after the other, and then answers. */
const model: Provider = {
  id: "obedient",
  modelId: "test",
  async *stream({ messages }: ModelRequest) {
    const asked = messages.findLastIndex(({ role }) => role === "user");
    const words = messages[asked]?.parts.find((part) => part.kind === "text");
    const [, tool, count] = /^(\w+) (\d+)/.exec(words?.kind === "text" ? words.text : "") ?? [];
    const done = messages.slice(asked).filter(({ role }) => role === "assistant").length;
    if (tool === undefined || done >= Number(count)) yield* says(`Did ${tool ?? "nothing"} ${done} times.`);
    else yield* calls(tool, { n: asked * 10 + done }, `${asked}.${done}`);
  },
};

/** The same store, which tells what it has put into journals, and what it has changed between turns. */
const telling = (store: Store, tell: Tell): Store =>
  new Proxy(store, {
    get(target, key) {
      const found: unknown = Reflect.get(target, key);
      if (typeof found !== "function") return found;
      if (key === "append")
        return (...given: Parameters<Store["append"]>) =>
          andThen(target.append(...given), (until) => {
            for (const event of given[2]) if (isAnswer(event)) tell(recorded(given[0].turnId, event.effect));
            return until;
          });
      if (key === "apply")
        return (change: SessionChange) =>
          andThen(target.apply(change), (answer) => {
            if (answer.kind === "committed") tell({ kind: "changed", operation: change.operation });
            return answer;
          });
      return found.bind(target);
    },
  });
const recorded = (turn: string, effect: string): Mark => ({ kind: "recorded", turn, effect });
const isAnswer = (event: TurnEvent): event is TurnEvent & { readonly effect: string } =>
  "effect" in event && event.kind !== "called";

export function open(store: Store, tell: Tell): Promise<Runtime> {
  const host = watchedHost(journal(), {
    at: () => {},
    record: (told) => {
      if (told.kind === "began") tell(told);
    },
  });
  return createRuntime({ store: telling(store, tell), host, model, tools, plugins: [careful], recover: "manual" });
}

/**
 * The whole play, on two runtimes one after the other: a close empties and removes the write-ahead log, the next open
 * makes another. The second runtime is left open, as at a power cut.
 */
export async function play(store: () => SqliteStore, tell: Tell): Promise<Runtime> {
  const early = store();
  const first = await open(early, tell);
  await morning(new Client(first, tell));
  await early.vacuum({ compact: true });
  await first.close();
  const second = await open(store(), tell);
  await afternoon(new Client(second, tell));
  return second;
}

/** The keys of turns whose first payment waits for a person: one is answered, the other cancelled. */
export const ASKING = ["p1", "p2"] as const;

async function morning(client: Client): Promise<void> {
  const [alice, bob] = await client.sessions("alice", "bob");
  await client.turn(alice, "note 3", "a1");
  await client.turn(bob, "draw 1", "b1", bytes(20_000, 3));
  await Promise.all([client.turn(alice, "draw 2", "a2"), client.turn(bob, "note 2", "b2")]);
  await alice.command(careful, "raise", { level: 7 });
  await bob.configure({ label: "Bob's" });
  const carol = await client.fork(alice, "carol");
  await client.turn(carol, "note 1", "c1");
}

async function afternoon(client: Client): Promise<void> {
  const [alice, bob, bank] = await client.sessions("alice", "bob", "bank");
  await client.turn(bank, "pay 2", ASKING[0]);
  await client.turn(bank, "pay 1", ASKING[1], undefined, "cancel");
  // The second and the third wait while the first runs.
  await Promise.all(["a3", "a4", "a5"].map((key) => client.turn(alice, "note 1", key)));
  for (let n = 3; n < 9; n++) await client.turn(n % 2 === 0 ? alice : bob, "draw 2", `d${n}`);
  await alice.command(careful, "raise", { level: 8 });
  await client.turn(bank, "note 2", "p3");
}

class Client {
  readonly #runtime: Runtime;
  readonly #tell: Tell;

  constructor(runtime: Runtime, tell: Tell) {
    this.#runtime = runtime;
    this.#tell = tell;
  }

  sessions<const Ids extends readonly string[]>(...ids: Ids): Promise<{ readonly [K in keyof Ids]: Session }> {
    return Promise.all(ids.map((id) => this.#runtime.session(id))) as never;
  }

  async turn(
    session: Session,
    words: string,
    key: string,
    photo?: Uint8Array,
    whenAsked: "answer" | "cancel" = "answer",
  ): Promise<void> {
    const input = photo === undefined ? words : [words, attach(photo, { mediaType: "image/jpeg", name: "photo.jpg" })];
    const turn = session.turn(input, { key });
    const id = await turn.id;
    this.#tell({ kind: "accepted", turn: id });
    for await (const event of turn) {
      if (event.kind !== "waiting") continue;
      if (whenAsked === "answer") await this.#answer(id, event.wait);
      else await session.cancel(id, { reason: "Too dear.", requestId: `cancel ${key}` });
      if (whenAsked === "cancel") this.#tell({ kind: "cancelled", turn: id });
    }
    await turn.result();
    this.#tell({ kind: "committed", turn: id });
  }

  async #answer(turn: string, wait: string): Promise<void> {
    const asked = await this.#runtime.waits.get(wait);
    if (asked === undefined) return; // It was answered before the power was cut.
    await this.#runtime.waits.resolve(asked.key, { approved: true });
    this.#tell({ kind: "answered", turn });
  }

  /** The fork that is there already is the one meant. */
  async fork(session: Session, id: string): Promise<Session> {
    try {
      const forked = await session.fork({ id });
      this.#tell({ kind: "forked", session: id });
      return forked;
    } catch (error) {
      if (!hasCode(error, "session.exists")) throw error;
      return this.#runtime.session(id);
    }
  }
}
