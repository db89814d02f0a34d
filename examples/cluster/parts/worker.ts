// One worker: sends its share of the turns, and goes on with whatever a dead worker left. It is killed without a warning.
import { openSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime, defineTool, type Store } from "bowline";
import { journal } from "bowline/hosts/journal";
import type { Provider } from "bowline/provider";
import { postgres } from "bowline/stores/postgres";
import { calls, recited, says } from "bowline/testing";
import type { Told } from "./judge.ts";

const { url, ledger, worker, workers, sessions, turns } = JSON.parse(process.argv[2] ?? "{}");
/** How many customers it serves at a time. */
const AT_ONCE = 20;
const file = openSync(ledger, "a");
const tell = (line: Told): void => void writeSync(file, `${JSON.stringify({ worker, ...line })}\n`);

const tool = (name: string, onInterrupt?: "fail") =>
  defineTool({
    name,
    description: `Does ${name}.`,
    input: { type: "object" },
    ...(onInterrupt === undefined ? {} : { onInterrupt }),
    execute: () => sleep(10 + Math.random() * 40, "done"),
  });

/** Stands in for a model: in every turn it looks, pays, and is done. Any AI SDK model will do. */
const model: Provider = {
  id: "script",
  modelId: "clerk",
  async *stream(request, options) {
    await sleep(20 + Math.random() * 60);
    const messages = request.messages.slice(request.messages.findLastIndex(({ role }) => role === "user"));
    yield* recited(calls("look", {}), calls("pay", {}), says("Done.")).stream({ ...request, messages }, options);
  },
};

/** The store, telling the ledger what is recorded: the example wants to prove something. */
function told(store: Store): Store {
  const effects = (events: readonly object[]): readonly string[] =>
    events.flatMap((event) => ("effect" in event ? [String(event.effect)] : []));
  const own: Partial<Store> = {
    async append(lease, seq, events, ...more) {
      const answer = await store.append(lease, seq, events, ...more);
      tell({ kind: "recorded", turn: lease.turnId, effects: effects(events) });
      return answer;
    },
    async open(...given) {
      const answer = await store.open(...given);
      if (answer.kind === "resumed")
        tell({ kind: "took", turn: answer.lease.turnId, effects: effects(answer.journal) });
      return answer;
    },
  };
  return new Proxy(store, {
    get(target, key) {
      const found: unknown = Reflect.get(Object.hasOwn(own, key) ? own : target, key);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
}

const host = journal();
const runtime = await createRuntime({
  store: told(postgres(url, { leaseMs: 5_000 })),
  host: {
    ...host,
    open: (turn, perform, context) =>
      host.open(
        turn,
        (effect, scope) => {
          if (effect.kind === "ask" || effect.kind === "call") {
            const once = effect.kind === "call" && effect.onInterrupt !== undefined ? { once: true as const } : {};
            tell({ kind: "began", turn: turn.lease.turnId, effect: effect.name, ...once });
          }
          return perform(effect, scope);
        },
        context,
      ),
  },
  model,
  tools: [tool("look"), tool("pay", "fail")],
});

tell({ kind: "ready" });
const mine = Array.from({ length: sessions }, (_, at) => at).filter((at) => at % workers === worker);
const clerk = async (): Promise<void> => {
  for (let at = mine.shift(); at !== undefined; at = mine.shift()) {
    const session = await runtime.session(`customer ${at}`);
    for (let nth = 0; nth < turns; nth++) {
      // The same key is the same turn: a worker that was killed sends all of them again, and is told what became of each.
      const turn = session.turn(`Order ${nth}.`, { key: `order ${nth}` });
      tell({ kind: "accepted", turn: await turn.id });
      await turn.result();
      tell({ kind: "answered", turn: await turn.id });
    }
  }
};
for (let n = 0; n < AT_ONCE; n++) void clerk();
await runtime.run(); // It stays for what others leave.
