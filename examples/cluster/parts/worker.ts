// One worker. It runs its share of the turns, and resumes turns of workers that were killed. The program kills it
// without warning.
import { openSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime, defineTool, type Store } from "bowline";
import { journal } from "bowline/hosts/journal";
import type { Provider } from "bowline/provider";
import { postgres } from "bowline/stores/postgres";
import { calls, recited, says } from "bowline/testing";
import type { Entry } from "./judge.ts";

const { url, ledger, worker, workers, sessions, turns } = JSON.parse(process.argv[2] ?? "{}");
/** How many customers a worker serves at a time. */
const AT_ONCE = 20;
const file = openSync(ledger, "a");
const record = (line: Entry): void => void writeSync(file, `${JSON.stringify({ worker, ...line })}\n`);

const tool = (name: string, onInterrupt?: "fail") =>
  defineTool({
    name,
    description: `Does ${name}.`,
    input: { type: "object" },
    ...(onInterrupt === undefined ? {} : { onInterrupt }),
    execute: () => sleep(10 + Math.random() * 40, "done"),
  });

/** A scripted model. In every turn it calls `look`, calls `pay`, and answers. Any AI SDK model works too. */
const model: Provider = {
  id: "script",
  modelId: "clerk",
  async *stream(request, options) {
    await sleep(20 + Math.random() * 60);
    const messages = request.messages.slice(request.messages.findLastIndex(({ role }) => role === "user"));
    yield* recited(calls("look", {}), calls("pay", {}), says("Done.")).stream({ ...request, messages }, options);
  },
};

/** The store, which also writes each recorded answer to the ledger, so that `judged` finds repeated calls. */
function withLedger(store: Store): Store {
  const effects = (events: readonly object[]): readonly string[] =>
    events.flatMap((event) => ("effect" in event ? [String(event.effect)] : []));
  const overrides: Partial<Store> = {
    async append(lease, seq, events, ...more) {
      const answer = await store.append(lease, seq, events, ...more);
      record({ kind: "recorded", turn: lease.turnId, effects: effects(events) });
      return answer;
    },
    async open(...given) {
      const answer = await store.open(...given);
      if (answer.kind === "resumed")
        record({ kind: "took", turn: answer.lease.turnId, effects: effects(answer.journal) });
      return answer;
    },
  };
  return new Proxy(store, {
    get(target, key) {
      const found: unknown = Reflect.get(Object.hasOwn(overrides, key) ? overrides : target, key);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
}

const host = journal();
const runtime = await createRuntime({
  store: withLedger(postgres(url, { leaseMs: 5_000 })),
  host: {
    ...host,
    open: (turn, perform, context) =>
      host.open(
        turn,
        (effect, scope) => {
          if (effect.kind === "ask" || effect.kind === "call") {
            const once = effect.kind === "call" && effect.onInterrupt !== undefined ? { once: true as const } : {};
            record({ kind: "began", turn: turn.lease.turnId, effect: effect.name, ...once });
          }
          return perform(effect, scope);
        },
        context,
      ),
  },
  model,
  tools: [tool("look"), tool("pay", "fail")],
});

record({ kind: "ready" });
const customers = Array.from({ length: sessions }, (_, at) => at).filter((at) => at % workers === worker);
const clerk = async (): Promise<void> => {
  for (let at = customers.shift(); at !== undefined; at = customers.shift()) {
    const session = await runtime.session(`customer ${at}`);
    for (let nth = 0; nth < turns; nth++) {
      // A restarted worker sends all its turns again. The same key returns the same turn, so no turn runs twice.
      const turn = session.turn(`Order ${nth}.`, { key: `order ${nth}` });
      record({ kind: "accepted", turn: await turn.id });
      await turn.result();
      record({ kind: "answered", turn: await turn.id });
    }
  }
};
for (let n = 0; n < AT_ONCE; n++) void clerk();
await runtime.run(); // Keeps running, to resume turns of killed workers.
