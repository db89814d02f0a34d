/** A conversation in which all happens that a client can be shown: the streams that its readers get are real. */
import { type Approval, definePlugin, defineTool, type Runtime, retryable, type SessionEvent } from "bowline";
import { type ClientView, fold } from "bowline/client";
import { ask } from "bowline/plugin";
import type { ModelPart, Provider } from "bowline/provider";
import { both, calls, cut, says, thinks } from "bowline/testing";
import { wordsOf } from "../kit/reading.ts";
import { ping } from "../kit/worlds.ts";
import { delegate } from "../sessions/plugins.ts";

/** Called wherever something may happen meanwhile. */
export type Moment = (where: string) => Promise<unknown>;

type Lines = readonly (readonly (readonly ModelPart[])[])[];
const SCRIPT: { readonly [opening: string]: Lines } = {
  Go: [
    [cut("I will", " not"), thinks("Hm. ", both(says("Let ", "me see."), calls("work"), calls("pay", { euros: 9 })))],
    [both(calls("delegate", { id: "below", task: "Look" }), calls("ping"))],
    [says("All ", "done.")],
  ],
  Look: [[thinks("Where? ", both(calls("ping"), calls("pay", { euros: 1 })))], [cut("No"), says("Here.")]],
  More: [[calls("work")], [says("And ", "more.")]],
};

/** A model without a memory but for its broken attempts: its place is in what it is told. */
function speaker(moment: Moment): Provider {
  const attempts = new Map<string, number>();
  return {
    id: "speaker",
    modelId: "test",
    async *stream({ messages }) {
      const users = messages.findLastIndex(
        (message) => message.role === "user" && Object.hasOwn(SCRIPT, wordsOf(message)),
      );
      const opening = wordsOf(messages[users]);
      const place = messages.slice(users).filter(({ role }) => role === "assistant").length;
      const id = `${opening} ${place}`;
      const attempt = attempts.get(id) ?? 0;
      attempts.set(id, attempt + 1);
      const lines = SCRIPT[opening]?.[place] ?? [];
      for (const part of lines[Math.min(attempt, lines.length - 1)] ?? []) {
        await moment(`${id} ${attempt}`);
        yield part;
      }
    },
  };
}

/** Prints, tells how far it is, and fails at first. */
function worker(moment: Moment) {
  let attempts = 0;
  return defineTool({
    name: "work",
    description: "Works.",
    input: { type: "object" },
    retry: { policy: "safe", attempts: 3, baseMs: 1, maxMs: 1 },
    execute: async (_, { output, progress }) => {
      const attempt = ++attempts;
      output(`attempt ${attempt}\n`);
      progress({ done: 1, of: 2 });
      await moment(`work ${attempt}`);
      output("half\n");
      if (attempt % 2 === 1) throw retryable("Not yet.");
      progress({ done: 2, of: 2 });
      await moment("worked");
      return "worked";
    },
  });
}

const pay = defineTool({ name: "pay", description: "Pays.", input: { type: "object" }, execute: () => "paid" });
const careful = definePlugin({
  id: "test/careful",
  setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? ask("It moves money.") : undefined) }),
});

export const world = (moment: Moment) => ({
  model: speaker(moment),
  tools: [worker(moment), pay, ping, delegate],
  plugins: [careful],
});

/** Approves whatever waits. */
export async function approve(runtime: Runtime, events: AsyncIterable<SessionEvent>): Promise<void> {
  for await (const event of events) if (event.kind === "waiting") await answer(runtime, event.wait, { approved: true });
}

export async function answer(runtime: Runtime, wait: string, approval: Approval): Promise<void> {
  const found = await runtime.waits.get(wait);
  if (found !== undefined) await runtime.waits.resolve(found.key, approval);
}

export const viewOf = (events: readonly SessionEvent[], from?: ClientView): ClientView | undefined =>
  events.reduce<ClientView | undefined>(fold, from);
