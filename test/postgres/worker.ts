// A process of the cluster: sends its turns to all sessions, runs whatever is there to run, and says what it does in the
// ledger, until it is killed.
import { appendFileSync, existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createRuntime, defineTool, type EffectHost, hasCode, type Session, type Store } from "bowline";
import { journal } from "bowline/hosts/journal";
import type { Provider } from "bowline/provider";
import { postgres } from "bowline/stores/postgres";
import { both, calls, recited, says } from "bowline/testing";

export interface ClusterOrders {
  readonly url: string;
  /** Holds the ledger, and for each worker what it has an answer for. */
  readonly folder: string;
  readonly worker: number;
  readonly sessions: number;
  /** How many turns this worker sends to each session. */
  readonly turns: number;
  readonly leaseMs: number;
  /** How long the store tries while the server is away. */
  readonly retryMs: number;
  readonly statementTimeoutMs: number;
  /** A host that believes to hold its leases for ever. */
  readonly isBlind?: boolean;
}

/** A line of the ledger, which all workers share. */
export type ClusterLine = { readonly worker: number; readonly life: number } & (
  | { readonly kind: "began"; readonly turn: string; readonly effect: string; readonly once?: true }
  /** The store has said that these answers are written. */
  | { readonly kind: "recorded"; readonly turn: string; readonly effects: readonly string[] }
  /** A turn was taken over, with these answers in its journal. */
  | { readonly kind: "took"; readonly turn: string; readonly effects: readonly string[] }
  | { readonly kind: "accepted"; readonly turn: string; readonly key: string }
  | { readonly kind: "cancelled"; readonly turn: string; readonly said: string; readonly outcome?: string }
  /** The sender was told how its turn ended. */
  | { readonly kind: "ended"; readonly turn: string; readonly outcome: string }
  /** Something failed that is tried again. */
  | { readonly kind: "failed"; readonly what: string; readonly code: string }
  | { readonly kind: "ready" | "done" }
);

const orders = JSON.parse(process.argv[2] ?? "") as ClusterOrders;
const { url, folder, worker, sessions, turns, leaseMs, retryMs, statementTimeoutMs } = orders;

// Synchronous: what a process has handed to the system survives its death, and the lines of all are in one order.
const ledger = openSync(`${folder}/ledger.jsonl`, "a");
type LedgerLine = ClusterLine extends infer L ? (L extends ClusterLine ? Omit<L, "worker" | "life"> : never) : never;
const tell = (told: LedgerLine): void =>
  void writeSync(ledger, `${JSON.stringify({ worker, life: process.pid, ...told })}\n`);

const own = `${folder}/worker-${worker}`;
const answered = new Set(existsSync(own) ? readFileSync(own, "utf8").split("\n") : []);

// ── What is watched ─────────────────────────────────────────────────────────────────────────────────────────────────

const effectsIn = (events: readonly object[]): readonly string[] =>
  events.flatMap((event) =>
    "effect" in event && /\.(ask|call\.)/.test(String(event.effect)) ? [String(event.effect)] : [],
  );

function watched(store: Store): Store {
  const replaced: Partial<Store> = {
    async append(lease, seq, events, ...more) {
      const answer = await store.append(lease, seq, events, ...more);
      const effects = effectsIn(events);
      if (effects.length > 0) tell({ kind: "recorded", turn: lease.turnId, effects });
      return answer;
    },
    async open(...given) {
      const answer = await store.open(...given);
      if (answer.kind === "resumed")
        tell({ kind: "took", turn: answer.lease.turnId, effects: effectsIn(answer.journal) });
      return answer;
    },
  };
  return new Proxy(store, {
    get(target, key) {
      const found: unknown = Reflect.get(Object.hasOwn(replaced, key) ? replaced : target, key);
      return typeof found === "function" ? found.bind(target) : found;
    },
  });
}

const host = (inner: EffectHost): EffectHost => ({
  kind: inner.kind,
  parks: inner.parks,
  open(turn, perform, context) {
    const began: typeof perform = (effect, scope) => {
      if (effect.kind === "ask" || effect.kind === "call") {
        const isOnce = effect.kind === "call" && effect.onInterrupt !== undefined;
        tell({ kind: "began", turn: turn.lease.turnId, effect: effect.name, ...(isOnce ? { once: true } : {}) });
      }
      return perform(effect, scope);
    };
    if (orders.isBlind !== true) return inner.open(turn, began, context);
    const now = Math.min(Date.now(), turn.until - 1);
    return inner.open(turn, began, { ...context, world: { ...context.world, now: () => now } });
  },
});

// ── What is done ────────────────────────────────────────────────────────────────────────────────────────────────────

const work = (name: string, onInterrupt?: "fail") =>
  defineTool({
    name,
    description: `Does ${name}.`,
    input: { type: "object", properties: { ms: { type: "number" } } },
    ...(onInterrupt === undefined ? {} : { onInterrupt }),
    execute: async (input, { signal }) => {
      await sleep(Number((input as { readonly ms?: number }).ms ?? 0), undefined, { signal }).catch(() => {});
      return "done";
    },
  });

/** How long a tool takes: most are quick, and some are long enough to be killed in. */
const ms = (nth: number): number => (nth % 10 === 3 ? 60 : nth % 3);

/** Finds its place in the turn: it asks for one or two tools, and again, and is done. */
const model: Provider = {
  id: "cluster",
  modelId: "test",
  stream(request, options) {
    const from = request.messages.findLastIndex(({ role }) => role === "user");
    const messages = request.messages.slice(from);
    const [part] = messages[0]?.parts ?? [];
    const nth = part?.kind === "text" ? Number(part.text.split(" ").at(-1)) : 0;
    const first =
      nth % 3 === 0
        ? both(calls("look", { ms: ms(nth) }, "a"), calls("pay", { ms: ms(nth) }, "b"))
        : calls("look", { ms: ms(nth) }, "a");
    const second = nth % 4 === 0 ? [calls("pay", { ms: ms(nth + 1) }, "c")] : [];
    return recited(first, ...second, says("Done.")).stream({ ...request, messages }, options);
  },
};

async function cancel(session: Session, turn: string): Promise<void> {
  await sleep(Math.random() * 40);
  const answer = await session.cancel(turn, { requestId: `cancel ${turn}`, reason: "Enough." });
  const outcome = answer.kind === "already-completed" ? { outcome: wordsOf(answer.outcome) } : {};
  tell({ kind: "cancelled", turn, said: answer.kind, ...outcome });
}

const wordsOf = (outcome: object): string => {
  const { kind, by, code } = outcome as { readonly kind: string; readonly by?: string; readonly code?: string };
  return [kind, by, code].filter((word) => word !== undefined).join(" ");
};

/** Does it again until it succeeds: the same key is the same turn. */
async function surely(what: string, attempt: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      const code = (error as { readonly code?: string }).code ?? String(error);
      tell({ kind: "failed", what, code });
      if (hasCode(error, "input.conflict")) throw error;
      await sleep(100 * Math.random());
    }
  }
}

const store = watched(postgres(url, { leaseMs, retryMs, statementTimeoutMs, connections: 6 }));
const app = { store, host: host(journal()), model, tools: [work("look"), work("pay", "fail")] };
let runtime!: Awaited<ReturnType<typeof createRuntime>>;
await surely("start", async () => {
  runtime = await createRuntime({ ...app, limits: { cancelGraceMs: 50 } });
});
tell({ kind: "ready" });

await Promise.all(
  Array.from({ length: sessions }, async (_, at) => {
    let session!: Session;
    await surely("session", async () => {
      session = await runtime.session(`s${at}`);
    });
    for (let nth = 0; nth < turns; nth++) {
      const key = `w${worker} s${at} ${nth}`;
      if (answered.has(key)) continue;
      await surely("turn", async () => {
        const turn = session.turn(key, { key });
        turn.result().catch(() => {}); // It is asked for below.
        const id = await turn.id;
        tell({ kind: "accepted", turn: id, key });
        if ((nth + worker) % 8 === 5) await surely("cancel", () => cancel(session, id));
        const { outcome } = await turn.result();
        tell({ kind: "ended", turn: id, outcome: wordsOf(outcome) });
        appendFileSync(own, `${key}\n`);
      });
    }
  }),
);
tell({ kind: "done" });
setInterval(() => {}, 1_000); // Others may leave something to go on with.
