/** A worker whose network fails: whatever is cut, lost or late, its turns end as if nothing had been, and nothing runs twice. */
import { setTimeout as sleep } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";
import { createRuntime, definePlugin, defineTool, type Runtime, type Session, type Store } from "bowline";
import { ask } from "bowline/plugin";
import { type PostgresOptions, postgres } from "bowline/stores/postgres";
import { both, calls, type Picture, recited, says } from "bowline/testing";
import pg from "pg";
import { z } from "zod";
import { remainsOf } from "../../src/testing/crash/picture.ts";
import { answer, resting } from "../crash/resting.ts";
import { queryOnce } from "../kit/postgres.ts";
import { startProxy, type TcpProxy } from "../kit/proxy.ts";
import { eventually, within } from "../kit/reading.ts";
import { freshDatabase } from "../kit/shared-postgres.ts";

// ── The story ───────────────────────────────────────────────────────────────────────────────────────────────────────

const careful = definePlugin({
  id: "network/careful",
  version: "1",
  state: z.object({ calls: z.number().default(0) }),
  setup: ({ task }) => ({
    beforeToolCall: ({ call, state }) => {
      state.update(({ calls: count }) => ({ calls: count + 1 }));
      return call.name === "pay" ? ask("It moves money.") : undefined;
    },
    operations: {
      work: task({
        input: z.object({ n: z.number() }),
        run: async ({ input, once }) => once("step", () => input.n + 1),
      }),
    },
  }),
});

/**
 * A day of a session: a turn with tools and an aside, an approval for which it is parked, a turn that is cancelled, a job,
 * a fork. All writes of the store that a running turn needs, one after the other.
 */
async function day(store: Store, acts: string[]): Promise<void> {
  let session!: Session;
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: { type: "object" },
    execute: async (_, { idempotencyKey }) => {
      acts.push(`look ${idempotencyKey}`);
      if (acts.length === 1) await session.send("And the zoo?", { key: "aside" });
      return "looked";
    },
  });
  const pay = defineTool({
    name: "pay",
    description: "Pays.",
    input: { type: "object" },
    onInterrupt: "fail",
    execute: (_, { idempotencyKey }) => {
      acts.push(`pay ${idempotencyKey}`);
      return "paid";
    },
  });
  const wait = defineTool({
    name: "wait",
    description: "Waits to be stopped.",
    input: { type: "object" },
    execute: (_, { signal }) =>
      new Promise<string>((resolve) => {
        acts.push("wait");
        signal.addEventListener("abort", () => resolve("stopped"), { once: true });
      }),
  });
  const model = recited(
    both(calls("look", {}, "a"), calls("look", {}, "b")),
    calls("pay", {}, "c"),
    says("Done."),
    calls("wait", {}, "d"),
    says("I was stopped."),
  );
  const app = { store, model, tools: [look, pay, wait], plugins: [careful()] };
  const runtime: Runtime = await createRuntime({ ...app, limits: { parkAfterMs: 1, cancelGraceMs: 500 } });
  session = await runtime.session("day");
  const first = session.turn("Look around, and pay.", { key: "go" });
  await resting(store, await first.id);
  for (const { key } of await runtime.waits.list({ session: "day" })) await answer(runtime, key, { approved: true });
  await first.result();
  const second = session.turn("Wait.", { key: "wait" });
  const turnId = await second.id;
  while (!acts.includes("wait")) await sleep(2);
  await session.cancel(turnId, { requestId: "stop", reason: "Enough." });
  await second.result();
  await session.jobs.spawn({ id: "job", label: "Work", operation: "network/careful.work", input: { n: 1 } });
  await session.jobs.await(["job"]);
  await runtime.sessions.fork("day", { id: "copy" });
  await runtime.close();
}

// ── Trials ──────────────────────────────────────────────────────────────────────────────────────────────────────────

export const WHENS = ["before", "sent", "answered"] as const;
export type When = (typeof WHENS)[number];
export interface Cut {
  /** What is on the wire: the name of a prepared statement, or its text. */
  readonly client: string;
  /** What is shown of it. */
  readonly text: string;
}

interface Lived {
  readonly picture: Picture;
  readonly acts: readonly string[];
  readonly wrong: readonly string[];
}

export const QUICK: PostgresOptions = { connections: 4, retryMs: 8_000, statementTimeoutMs: 1_000 };

let database: Promise<string> | undefined;
/** Else it is a test that speaks to the server. */
let isDay = false;
const DAY_MS = 60_000;

/**
 * Runs the day over a proxy to which something is done, one day after the other in one database that is empty again: names
 * of statements depend on the schema.
 */
export async function lived(fail: (proxy: TcpProxy) => unknown, options: PostgresOptions = QUICK): Promise<Lived> {
  database ??= freshDatabase();
  const url = await database;
  await queryOnce(url, "DROP SCHEMA IF EXISTS bowline CASCADE");
  await using proxy = await startProxy(url);
  fail(proxy);
  const acts: string[] = [];
  const wrong: string[] = [];
  isDay = true;
  await within(day(postgres(proxy.url(url), options), acts), DAY_MS).catch((error: unknown) => {
    const { code = "", stack = error } = error as { readonly code?: string; readonly stack?: string };
    wrong.push(`${code} ${String(stack)}`.slice(0, 600));
  });
  isDay = false;
  if (new Set(acts).size !== acts.length) wrong.push(`something ran twice: ${acts.join(", ")}`);
  const store = postgres(url, { clock: "caller" });
  try {
    const remains = await remainsOf(store);
    wrong.push(...remains.wrong.map(({ kind, problem }) => `${kind}: ${problem}`));
    for (const [input, times] of remains.inputs) if (times !== 1) wrong.push(`${input} is in the graph ${times} times`);
    return { picture: remains.picture, acts, wrong };
  } finally {
    await store.close();
  }
}

/** The statements of the day, as they go over the wire. */
export async function statements(): Promise<{ readonly cuts: readonly Cut[]; readonly clean: Lived }> {
  const found = new Map<string, Cut>();
  const { query } = pg.Client.prototype;
  // biome-ignore lint/suspicious/noExplicitAny: it has a dozen forms
  pg.Client.prototype.query = function (this: pg.Client, ...given: any[]): any {
    const { name, text } = (typeof given[0] === "string" ? { text: given[0] } : given[0]) as Partial<pg.QueryConfig>;
    if (isDay && text !== undefined) found.set(name ?? text, { client: name ?? text, text: shortened(text) });
    return Reflect.apply(query, this, given);
  };
  try {
    const clean = await lived(() => {});
    return { cuts: [...found.values()], clean };
  } finally {
    pg.Client.prototype.query = query;
  }
}

const shortened = (text: string): string =>
  text
    .replaceAll(/"[^"]+"\./g, "")
    .replaceAll(/\s+/g, " ")
    .trim()
    .slice(0, 70);

/** Cuts all connections once, at a statement, and answers what became of the day; undefined where nothing is wrong. */
export async function cutAt({ client, text }: Cut, when: When, clean: Lived): Promise<CutDay> {
  let isMet = false;
  const { picture, acts, wrong } = await lived((proxy) => proxy.cutWhen({ client, when }).then(() => (isMet = true)));
  const isSame = isDeepStrictEqual(picture, clean.picture) && acts.length === clean.acts.length;
  return { text, when, isMet, wrong: isSame ? wrong : [...wrong, "it ended otherwise than without a cut"] };
}
export interface CutDay {
  readonly text: string;
  readonly when: When;
  readonly isMet: boolean;
  readonly wrong: readonly string[];
}

export const delayed = (roundTripMs: number): Promise<Lived> => lived((proxy) => proxy.delay(roundTripMs));

// ── Half-open connections ───────────────────────────────────────────────────────────────────────────────────────────

/** One turn with one call, which takes as long as the test likes, on two workers: one by way of a proxy. */
async function twoWorkers(options: PostgresOptions) {
  const url = await freshDatabase();
  const proxy = await startProxy(url);
  const begun: string[] = [];
  const go = Promise.withResolvers<void>();
  const runtimeAt = (name: string, at: string) => {
    const store = postgres(at, { connections: 4, ...options });
    const look = defineTool({
      name: "look",
      description: "Looks.",
      input: { type: "object" },
      execute: async () => {
        begun.push(`${name} look`);
        if (name === "far") await go.promise;
        return "looked";
      },
    });
    const script = recited(calls("look", {}, "a"), calls("note", {}, "b"), says("Done."));
    const note = defineTool({
      name: "note",
      description: "Notes.",
      input: { type: "object" },
      execute: () => {
        begun.push(`${name} note`);
        return "noted";
      },
    });
    return createRuntime({ store, model: script, tools: [look, note] });
  };
  const far = await runtimeAt("far", proxy.url(url));
  const session = await far.session("one");
  const turn = session.turn("Look.", { key: "go" });
  turn.result().catch(() => {});
  await turn.id;
  await eventually(() => (begun.length === 1 ? true : undefined), 10_000);
  return { url, proxy, begun, go, far, turn, near: () => runtimeAt("near", url) };
}

const looks = (begun: readonly string[]): number => begun.filter((each) => each.endsWith("look")).length;

/** The connections of a worker are dead, and it does not know, while a call is under way. */
export async function stranded(): Promise<{ outcome: string; calls: number; takeovers: number }> {
  const { proxy, begun, go, far, turn } = await twoWorkers({ leaseMs: 15_000, statementTimeoutMs: 400 });
  proxy.strand();
  go.resolve();
  const { outcome } = await within(turn.result(), 15_000);
  await far.close();
  await proxy.close();
  return {
    outcome: outcome.kind,
    calls: looks(begun),
    takeovers: begun.filter((each) => each.startsWith("near")).length,
  };
}

/** Nothing passes to a worker and from it, until its lease has lapsed and another has done its work; then all does, late. */
export async function frozen(): Promise<{ outcome: string; calls: number; late: readonly string[]; commits: number }> {
  const { url, proxy, begun, go, far, turn, near } = await twoWorkers({ leaseMs: 1_200, statementTimeoutMs: 400 });
  proxy.freeze(true);
  const other = await near();
  const [there] = await eventually(async () => {
    const rows = await queryOnce(url, "SELECT done FROM bowline.turn WHERE done IS NOT NULL");
    return rows.length > 0 ? rows : undefined;
  }, 15_000);
  const before = begun.length;
  go.resolve(); // What was under way ends now, far too late.
  await sleep(50);
  proxy.freeze(false);
  const { outcome } = await within(turn.result(), 15_000);
  const late = begun.slice(before);
  const commits = (await queryOnce(url, "SELECT 1 FROM bowline.fact WHERE kind = 1")).length;
  await other.close();
  await far.close();
  await proxy.close();
  return { outcome: there === undefined ? "nothing" : outcome.kind, calls: looks(begun), late, commits };
}
