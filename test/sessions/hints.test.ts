/** What the store tells of other processes. Polls stand still here: whatever happens, a hint has brought about. */
import { createRuntime, type Runtime, type RuntimeOptions, type Store } from "bowline";
import type { Provider } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { asInputId, asSessionId, asTurnId, type SessionId } from "../../src/model/ids.ts";
import { realWorld } from "../../src/runtime/world.ts";
import type { Hint } from "../../src/stores/store.ts";
import { echo, end, plays, text } from "../kit/models.ts";
import { codeOf, within } from "../kit/reading.ts";
import { around, file } from "../kit/stores.ts";
import { held } from "../kit/worlds.ts";
import { isEnd, watch } from "./watching.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

type Session = Extract<Hint, { readonly kind: "session" }>;
const alice = asSessionId("alice");
const of = (what: Session["what"], sessionId: SessionId = alice): Hint => ({ kind: "session", sessionId, what });

/** In this world no process polls. Only the pause between two hints passes, which is at most 100 ms. */
const real = realWorld();
const still = {
  ...real,
  rest: (ms: number, signal?: AbortSignal) => (ms <= 100 ? real.rest(ms, signal) : new Promise<void>(() => {})),
};

interface Hinted extends AsyncDisposable {
  readonly runtime: Runtime;
  hint(hint: Hint): void;
  /** How often methods of the store were called. */
  readonly calls: Map<string, number>;
  readonly listeners: Set<(hint: Hint) => void>;
}

const WATCHED = [
  "agenda",
  "changes",
  "renew",
  "load",
  "has",
  "open",
  "latest",
  "live.read",
  "live.follow",
  "live.show",
];

/** A process on the file whose store tells what the test tells. */
async function startOn(
  path: string,
  model: Provider = echo(),
  options: Partial<Omit<RuntimeOptions, "model" | "models">> = {},
): Promise<Hinted> {
  const listeners = new Set<(hint: Hint) => void>();
  const calls = new Map<string, number>();
  const hints: Store["hints"] = (listener) => {
    listeners.add(listener);
    return () => void listeners.delete(listener);
  };
  const store = around(
    Object.assign(sqlite(path, { durability: "process" }), { hints }),
    Object.fromEntries(
      WATCHED.map((name) => [
        name,
        (act: () => unknown) => {
          calls.set(name, (calls.get(name) ?? 0) + 1);
          return act();
        },
      ]),
    ),
  );
  const runtime = await createRuntime({ store, model, recover: "manual", world: still, ...options });
  return {
    runtime,
    hint: (hint) => {
      for (const listener of listeners) listener(hint);
    },
    calls,
    listeners,
    [Symbol.asyncDispose]: () => runtime.close(),
  };
}

test("S11 a hint of a fact: observers of the session are notified at once, and of a tree too", async () => {
  const path = file();
  await using one = await startOn(path);
  await using two = await startOn(path);
  const session = await two.runtime.session("alice");
  const [own, tree] = [watch(session), watch(session, { tree: true })];
  await (await one.runtime.session("alice")).turn("Hello.").result();
  two.hint(of("fact"));
  await own.until(isEnd());
  await tree.until(isEnd());
});

test("S3 a hint of a cancel: the running turn looks at once", async () => {
  const path = file();
  const work = held();
  await using one = await startOn(path, plays(calling), { tools: [work.tool] });
  await using two = await startOn(path);
  const turn = (await one.runtime.session("alice")).turn("Work.");
  await work.began();
  await two.runtime.sessions.cancel("alice", await turn.id);
  one.hint(of("cancel"));
  work.release();
  expect((await within(turn.result(), 4_000)).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
});
async function* calling() {
  yield { kind: "call", callId: "call_1", name: "work", input: {} } as never;
  yield end;
}

test("S3 a hint of a fact: a handle here has the result of a turn that ended elsewhere", async () => {
  const path = file();
  const work = held();
  await using one = await startOn(path, plays(calling, saying("Done.")), { tools: [work.tool] });
  await using two = await startOn(path);
  const { turnId } = await (await one.runtime.session("alice")).send("Work.");
  await work.began();
  const result = (await two.runtime.session("alice")).follow(turnId).result();
  work.release();
  await (await one.runtime.session("alice")).follow(turnId).result();
  two.hint(of("fact"));
  expect((await within(result, 4_000)).outcome).toMatchObject({ text: "Done." });
});
const saying = (words: string) =>
  async function* () {
    yield text(words);
    yield end;
  };

test("S4 a hint of an input: a process that recovers opens its turn, and one that does not leaves it", async () => {
  const path = file();
  await using manual = await startOn(path);
  await using auto = await startOn(path, echo(), { recover: "auto" });
  await auto.runtime.recover();
  const store = sqlite(path, { durability: "process" });
  await store.create({ id: alice, config: { model: "echo/test" }, at: Date.now() });
  const input = {
    id: asInputId("i"),
    sessionId: alice,
    turnId: asTurnId("t"),
    message: { role: "user", parts: [{ kind: "text", text: "Hello." }] },
    place: "turn",
    hash: "h",
    at: Date.now(),
  } as const;
  await store.accept(input, { id: "other", process: "elsewhere" }, undefined, 10);
  manual.hint(of("input"));
  auto.hint(of("input"));
  await vi.waitFor(
    async () => expect(await store.terminal(input.turnId)).toMatchObject({ outcome: { text: "re: Hello." } }),
    4_000,
  );
  expect(manual.calls.get("agenda") ?? 0).toBe(0);
  await store.close();
});

test("S11 hints of followers and of previews: what is said elsewhere is shown at once", async () => {
  const path = file();
  const finish = Promise.withResolvers<void>();
  const model = plays(async function* () {
    yield text("One, ");
    await finish.promise;
    yield end;
  });
  await using one = await startOn(path, model);
  await using two = await startOn(path);
  const turn = (await one.runtime.session("alice")).turn("Hello.");
  await turn.id;
  const watcher = watch(await two.runtime.session("alice"));
  await vi.waitFor(() => expect(two.calls.get("live.follow")).toBe(1), 4_000);
  one.hint(of("followed"));
  await vi.waitFor(() => expect(one.calls.get("live.show")).toBe(1), 4_000);
  two.hint(of("preview"));
  await watcher.until((events) => events.some((event) => event.kind === "text" && event.delta === "One, "));
  finish.resolve();
  await turn.result();
});

test("S11 hints about sessions that concern nobody here cost nothing, however many they are", async () => {
  const path = file();
  await using one = await startOn(path);
  await (await one.runtime.session("alice")).turn("Hello.").result();
  one.calls.clear();
  for (let nth = 0; nth < 10_000; nth++) {
    const id = nth % 2 === 0 ? alice : asSessionId(`s${nth}`);
    for (const what of ["input", "cancel", "resolved", "fact", "preview", "followed"] as const) one.hint(of(what, id));
    one.hint({ kind: "jobs" });
  }
  await new Promise((resolve) => setTimeout(resolve, 100)); // Hints are gathered for a while.
  expect([...one.calls]).toEqual([]);
});

test("S11 hints that come together cause one look", async () => {
  const path = file();
  await using one = await startOn(path);
  await using two = await startOn(path);
  const session = await two.runtime.session("alice");
  const watcher = watch(session);
  await (await one.runtime.session("alice")).turn("Hello.").result();
  two.hint(of("fact"));
  await watcher.until(isEnd());
  two.calls.clear();
  for (let nth = 0; nth < 10_000; nth++) two.hint(of("fact"));
  await new Promise((resolve) => setTimeout(resolve, 100));
  expect(two.calls.get("changes")).toBeGreaterThan(0);
  expect(two.calls.get("changes")).toBeLessThan(5);
});

test("S11 a hint about a fact of this process causes no search", async () => {
  const path = file();
  await using one = await startOn(path);
  const session = await one.runtime.session("alice");
  const watcher = watch(session);
  await session.turn("Hello.").result();
  one.hint(of("fact"));
  await watcher.until(isEnd());
  const before = one.calls.get("changes") ?? 0;
  expect(before).toBeLessThanOrEqual(3); // At first, at the acceptance, at the commit.
});

test("S11 a hint of anything makes everybody look, and is harmless when there is nobody", async () => {
  const path = file();
  await using one = await startOn(path);
  await using two = await startOn(path);
  two.hint({ kind: "all" });
  const watcher = watch(await two.runtime.session("alice"));
  await (await one.runtime.session("alice")).turn("Hello.").result();
  two.hint({ kind: "all" });
  await watcher.until(isEnd());
});

test("D5 a runtime that is closed receives no more hints", async () => {
  const one = await startOn(file());
  expect(one.listeners.size).toBe(1);
  await one.runtime.close();
  expect(one.listeners.size).toBe(0);
});

test("E7 createRuntime reports an unusable store, not the first turn", async () => {
  const refused = Object.assign(new Error("The server refuses."), { code: "ECONNREFUSED" });
  const store = Object.assign(sqlite(":memory:"), { ready: () => Promise.reject(refused) });
  expect(await codeOf(() => createRuntime({ store, model: echo() }))).toBe("ECONNREFUSED");
});
