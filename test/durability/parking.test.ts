// Turns that only wait: given up, found, operated on and answered, from any process.
import {
  createRuntime,
  defer,
  definePlugin,
  defineTool,
  question,
  type Runtime,
  type SessionView,
  type Store,
} from "bowline";
import { journal } from "bowline/hosts/journal";
import { ask, type ModelRequest } from "bowline/plugin";
import { toolCalls } from "bowline/protocols/tool-calls";
import type { Provider } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, recited, says, simulatedWorld } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import type { WaitId } from "../../src/model/ids.ts";
import { openRuntime } from "../../src/runtime/runtime.ts";
import type { AnyWait } from "../../src/runtime/waits.ts";
import { postgres } from "../../src/stores/postgres.ts";
import { codeOf, eventsOf, eventually, outline, ticks, within } from "../kit/reading.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { around, file } from "../kit/stores.ts";
import { onEvent } from "../kit/telemetry.ts";
import { DAY, HOUR } from "../kit/worlds.ts";

const careful = definePlugin({
  id: "bank/careful",
  version: "1",
  state: z.object({ notes: z.array(z.string()).default([]) }),
  setup: ({ command, query, task }) => ({
    beforeToolCall: ({ call }) => (call.name === "pay" ? ask("It moves money.", { waitMs: 3 * DAY }) : undefined),
    operations: {
      note: command({
        input: z.object({ text: z.string() }),
        run: ({ input, state, emit }) => {
          state.update(({ notes }) => ({ notes: [...notes, input.text] }));
          emit("noted", input.text);
          return input.text.length;
        },
      }),
      think: task({
        run: async ({ complete, once }) => [await complete.text("Think."), await once("dice", () => 4)],
      }),
      fails: command({
        run: ({ state }) => {
          state.update(() => ({ notes: ["never"] }));
          throw new Error("No.");
        },
      }),
      notes: query({ run: ({ state }) => state.get().notes }),
    },
  }),
});

const ran: string[] = [];
const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input: z.object({ eur: z.number() }),
  execute: ({ eur }, { idempotencyKey }) => {
    ran.push(idempotencyKey);
    return `Paid ${eur}.`;
  },
});
const later = defineTool({
  name: "later",
  description: "Comes later.",
  input: z.object({}),
  execute: () => defer({ schema: z.object({ at: z.string() }), until: new Date(Date.now() + DAY) }),
});
const size = defineTool({
  name: "size",
  description: "Asks for a size.",
  input: z.object({}),
  execute: () => question(z.enum(["S", "M", "L"]), { text: "Which size?" }),
});

const PARKS = { parkAfterMs: 20 };
const options = (model: Provider) => ({ model, tools: [pay, later, size], plugins: [careful], limits: PARKS });
const on = (path: string, model: Provider, more: object = {}): Promise<Runtime> =>
  createRuntime({ ...options(model), store: sqlite(path, { durability: "process" }), ...more });

const paying = () => recited(calls("pay", { eur: 5 }, "p"), says("Done."), says("More."));

/** Settles when the turn of the session is parked. */
const parked = (runtime: Runtime, store: ReturnType<typeof sqlite>, id: string) =>
  eventually(async () => {
    const [wait] = await runtime.waits.list({ session: id });
    if (wait?.turnId === undefined) return undefined;
    return (await store.find(wait.turnId))?.state === "parked" ? wait : undefined;
  }, 5_000);

// ── Parking ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test("D4 a turn that only waits is parked: no lease, no write, one look a second; after the answer it resumes once", async () => {
  const path = file();
  const calls: string[] = [];
  const told = (name: string) => (run: () => unknown) => {
    calls.push(name);
    return run();
  };
  const store = sqlite(path, { durability: "process" });
  const watched = around(store, {
    agenda: told("agenda"),
    renew: told("renew"),
    append: told("append"),
    open: told("open"),
  });
  await using runtime = await createRuntime({ ...options(paying()), store: watched });
  const session = await runtime.session("s");
  const turn = session.turn("Pay.");
  const result = turn.result();
  const wait = await parked(runtime, store, "s");
  calls.length = 0;
  await new Promise((resolve) => setTimeout(resolve, 1_200)); // What is shown is that nothing happens.
  expect(calls.filter((name) => name !== "agenda")).toEqual([]);
  expect(calls.length).toBeLessThanOrEqual(2);
  const next = session.turn("And then?");
  expect(await runtime.waits.resolve(wait, { approved: true })).toBe("accepted");
  expect((await within(result)).outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect((await within(next.result())).outcome).toMatchObject({ kind: "answered" });
});

test("D4 T9 the process ends while a turn waits: another one lists it, answers it, and a third finishes it once", async () => {
  const path = file();
  ran.length = 0;
  const first = await on(path, paying());
  const turn = (await first.session("s")).turn("Pay.", { key: "k" });
  const left = codeOf(() => turn.result());
  await eventually(async () => (await first.waits.list()).length === 1 || undefined);
  const began = performance.now();
  await first.close();
  expect(performance.now() - began).toBeLessThan(2_000); // It does not wait for a turn that only waits.
  expect(await left).toBe("turn.left");

  const web = await createRuntime({ store: sqlite(path), model: paying(), recover: "manual" }); // Has neither tool nor plugin.
  const [wait] = await web.waits.list({ session: "s" });
  expect(wait).toMatchObject({ kind: "approval", tool: "pay", arguments: { eur: 5 }, reason: "It moves money." });
  expect(await codeOf(() => web.waits.resolve(wait!.key, { approved: true, args: { eur: "x" } }))).toBe("wait.answer");
  expect(await web.waits.resolve(wait!.key, { approved: true }, { by: "ann" })).toBe("accepted");
  await web.close();
  expect(ran).toEqual([]);

  const third = await on(path, paying());
  const again = (await third.session("s")).turn("Pay.", { key: "k" });
  expect((await within(again.result(), 4_000)).outcome).toMatchObject({ kind: "answered" });
  expect(ran).toHaveLength(1);
  await third.close();
});

test("D4 T9 opening a session again resumes its parked turn that another process answered, also while a handle is open", async () => {
  const path = file();
  const store = sqlite(path, { durability: "process" });
  await using runtime = await createRuntime({ ...options(paying()), store, recover: "manual" });
  const session = await runtime.session("s");
  const { turnId } = await session.send("Pay."); // No handle of the turn: nothing here looks for its answer.
  const { key } = await parked(runtime, store, "s");
  await using web = await createRuntime({ store: sqlite(path), model: paying(), recover: "manual" });
  expect(await web.waits.resolve(key, { approved: true })).toBe("accepted");
  await using again = await runtime.session("s");
  expect(again.id).toBe(session.id);
  await eventually(async () => (await store.find(turnId))?.state === "ended" || undefined, 5_000);
});

test("D4 recovery does not wait for parked turns, and close does not call them lost", async () => {
  const path = file();
  const traced: string[] = [];
  const trace = ({ name }: { readonly name: string }): void => void traced.push(name);
  const first = await on(path, paying(), { telemetry: onEvent(trace) });
  for (let n = 0; n < 5; n++)
    void (await first.session(`s${n}`))
      .turn("Pay.")
      .result()
      .catch(() => {});
  await eventually(async () => (await first.waits.list()).length === 5 || undefined);
  await first.close();
  expect(traced).not.toContain("turn.lost");
  await using second = await on(path, paying(), { recover: "manual" });
  expect(await within(second.recover())).toEqual({ sessions: 0 });
  expect(await second.waits.list()).toHaveLength(5);
});

test("D4 T8 a wait may outlive `turnAgeMs`, and a turn that was left long after its wait expires", async () => {
  const path = file();
  const at = (now: number, name: string, model: Provider) =>
    openRuntime(
      { ...options(model), limits: { ...PARKS, turnAgeMs: HOUR }, store: sqlite(path), recover: "manual" },
      {
        host: () => journal(),
        protocol: toolCalls,
        adapt: (given) => given as Provider,
        world: simulatedWorld({ now, name }),
      },
    );
  const begin = Date.now();
  const one = await at(begin, "a", paying());
  void (await one.session("s"))
    .turn("Pay.")
    .result()
    .catch(() => {});
  await eventually(async () => (await one.waits.list()).length === 1 || undefined);
  await one.close();
  const two = await at(begin + DAY, "b", paying());
  const [wait] = await two.waits.list();
  await two.waits.resolve(wait!.key, { approved: true });
  await within(two.recover());
  expect(outline((await (await two.session("s")).read()).messages)).toContain("assistant: Done.");
  await two.close();
});

test("D4 durable sleep: a long pause between two attempts is parked until its time", async () => {
  const path = file();
  let tries = 0;
  const flaky = defineTool({
    name: "flaky",
    description: "Works the second time.",
    input: z.object({}),
    retry: { policy: "idempotent", attempts: 2, baseMs: HOUR, maxMs: HOUR },
    execute: () => {
      if (++tries === 1) throw new Error("Later.");
      return "Now.";
    },
  });
  const at = (now: number, name: string) =>
    openRuntime(
      {
        store: sqlite(path),
        model: recited(calls("flaky", {}, "f"), says("Done.")),
        tools: [flaky],
        limits: PARKS,
        recover: "manual",
      },
      {
        host: () => journal(),
        protocol: toolCalls,
        adapt: (given) => given as Provider,
        world: simulatedWorld({ now, name }),
      },
    );
  const one = await at(1_000_000, "a");
  void (await one.session("s"))
    .turn("Go.")
    .result()
    .catch(() => {});
  await eventually(() => tries === 1 || undefined);
  await one.close();
  const early = await at(1_000_000 + HOUR / 2, "b");
  expect(await early.recover()).toEqual({ sessions: 0 });
  await early.close();
  const late = await at(1_000_000 + HOUR + 10_000, "c");
  await within(late.recover());
  expect(tries).toBe(2);
  expect(outline((await (await late.session("s")).read()).messages)).toContain("assistant: Done.");
  await late.close();
});

// ── Deferred results and questions ──────────────────────────────────────────────────────────────────────────────────

test("T8 D4 many waits of one turn, answered in any order and from another process, resume it exactly once", async () => {
  const path = file();
  const model = () =>
    recited(both(calls("pay", { eur: 1 }, "a"), calls("later", {}, "b"), calls("size", {}, "c")), says("Done."));
  await using runtime = await on(path, model());
  const session = await runtime.session("s");
  const turn = session.turn("Go.");
  const seen = eventsOf(turn);
  const waits = await eventually(async () => {
    const found = await runtime.waits.list();
    return found.length === 3 ? found : undefined;
  });
  expect(waits.map(({ kind }) => kind).toSorted()).toEqual(["approval", "question", "result"]);
  await using other = await on(path, model(), { recover: "manual" });
  const of = (kind: string) => waits.find((wait) => wait.kind === kind)!.key;
  expect(await codeOf(() => other.waits.resolve(of("question"), { value: "XL" }))).toBe("wait.answer");
  await other.waits.resolve(of("question"), { value: "M" }, { by: "bob" });
  expect(await codeOf(() => other.waits.resolve(of("result"), { value: { at: 5 } }))).toBe("wait.answer");
  expect(await codeOf(() => other.waits.resolve(of("result"), { approved: true }))).toBe("wait.answer");
  await other.waits.resolve(of("result"), { value: { at: "noon" } });
  await other.waits.resolve(of("approval"), { approved: false, reason: "Too much." });
  expect(await other.waits.resolve(of("question"), { value: "S" })).toBe("already-resolved");
  expect((await within(turn.result(), 4_000)).outcome).toMatchObject({ kind: "answered", text: "Done." });
  const events = await seen;
  expect(events.filter(({ kind }) => kind === "waiting")).toHaveLength(3);
  expect(events.filter(({ kind }) => kind === "resolved")).toHaveLength(3);
  expect(events.filter(({ kind }) => kind === "toolStarted")).toHaveLength(3);
  expect(events.filter(({ kind }) => kind === "toolEnded")).toHaveLength(3);
  const tool = (await session.read()).messages.find(({ role }) => role === "tool");
  expect(tool?.parts).toMatchObject([
    {
      status: "denied",
      trail: [{ asked: [{ kind: "approval", plugin: "bank/careful", answer: { approved: false } }] }],
    },
    { status: "ok", parts: [{ text: '{"at":"noon"}' }] },
    {
      status: "ok",
      parts: [{ text: "M" }],
      trail: [{ asked: [{ kind: "question", reason: "Which size?", answer: { by: "bob" } }] }],
    },
  ]);
});

test.each([
  ["rejected", { error: "It burned down.", code: "store.burned" }, /store\.burned.*burned down/],
  ["revoked", undefined, /^Unknown: /],
] as const)("T8 a deferred result that is %s reaches the model", async (_, answer, shown) => {
  await using runtime = await on(file(), recited(calls("later", {}, "l"), says("Done.")));
  const session = await runtime.session("s");
  const turn = session.turn("Go.");
  const result = turn.result();
  const [wait] = await eventually(async () =>
    (await runtime.waits.list()).length > 0 ? runtime.waits.list() : undefined,
  );
  if (answer === undefined) await runtime.waits.revoke(wait!);
  else await runtime.waits.resolve(wait!.key, answer);
  await within(result);
  const tool = (await session.read()).messages.find(({ role }) => role === "tool");
  expect(JSON.stringify(tool?.parts[0])).toMatch(new RegExp(shown.source.replace("^", "")));
  expect(await codeOf(() => runtime.waits.resolve(wait!.key, { value: { at: "x" } }))).toBe("wait.unknown");
});

test("T8 D4 a cancel of a turn that waits is heard at once, in another process too, and its key is void", async () => {
  const path = file();
  await using runtime = await on(path, paying());
  const turn = (await runtime.session("s")).turn("Pay.");
  const result = turn.result();
  const [wait] = await eventually(async () =>
    (await runtime.waits.list()).length > 0 ? runtime.waits.list() : undefined,
  );
  await using other = await on(path, paying(), { recover: "manual" });
  expect(await other.sessions.cancel("s", await turn.id, "Enough.")).toMatchObject({ kind: "requested" });
  expect((await within(result, 4_000)).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
  expect(await codeOf(() => other.waits.resolve(wait!.key, { approved: true }))).toBe("wait.unknown");
  expect(await runtime.waits.list()).toEqual([]);
});

test("T8 D4 a key that a tool hands out can be answered before its call has come to wait, and is the same in a rerun", async () => {
  const path = file();
  const keys: string[] = [];
  const gate = Promise.withResolvers<void>();
  const handing = (stops: boolean) =>
    defineTool({
      name: "hand",
      description: "Hands a key out.",
      input: z.object({}),
      execute: async (_, context) => {
        const wait = defer({ schema: z.number() });
        keys.push(await context.waitKey(wait));
        if (stops) await gate.promise;
        return wait;
      },
    });
  const model = () => recited(calls("hand", {}, "h"), says("Done."));
  const make = (stops: boolean) =>
    createRuntime({ store: sqlite(path), model: model(), tools: [handing(stops)], limits: PARKS, recover: "manual" });
  const one = await make(true);
  void (await one.session("s"))
    .turn("Go.")
    .result()
    .catch(() => {});
  await eventually(() => keys.length === 1 || undefined);
  expect(await one.waits.list()).toEqual([]); // Nobody waits yet.
  expect(await one.waits.resolve(keys[0]!, { value: 42 })).toBe("accepted");
  await one.close({ graceMs: 0 }); // The call is in flight: it is left, and run again.
  const two = await make(false);
  await within(two.recover());
  expect(keys[1]).toBe(keys[0]);
  expect(outline((await (await two.session("s")).read()).messages)).toContain("hand ok: 42");
  await two.close();
  gate.resolve();
}, 15_000);

// ── Operations on a parked turn ─────────────────────────────────────────────────────────────────────────────────────

test("D4 K13 operations on a parked turn answer, become part of it, and a repeat has the same receipt before and after", async () => {
  const path = file();
  const thinking = ({ messages }: ModelRequest) =>
    JSON.stringify(messages).includes("Think.") ? says("Hm.") : calls("pay", { eur: 5 }, "p");
  const model = () => recited(thinking, says("Done."));
  const runtime = await on(path, model());
  const store = sqlite(path, { durability: "process" });
  const session = await runtime.session("s");
  const turn = session.turn("Pay.");
  const result = turn.result();
  const wait = await parked(runtime, store, "s");

  const noted = await within(session.command(careful, "note", { text: "one" }, { operationId: "n1" }));
  expect(noted).toMatchObject({ output: 3, events: [{ name: "noted" }] });
  expect(await session.query(careful, "notes")).toEqual(["one"]);
  expect(await codeOf(() => session.command(careful, "fails", undefined))).toBe("operation.failed");
  const thought = await within(session.task(careful, "think", undefined, { operationId: "t1" }));
  await within(session.configure({ label: "paid" }));
  await within(session.tools.set("later", "off"));
  const appended = await within(
    session.append([{ kind: "message", role: "user", text: "By the way." }], { operationId: "a1" }),
  );
  expect(appended).toEqual({ kind: "queued", operationId: "a1" });
  expect(await codeOf(() => session.compact())).toBe("session.waiting");

  expect((await session.read()).config.label).toBe("paid");

  const other = await on(path, model(), { recover: "manual" });
  const there = await other.session("s");
  expect((await there.read()).config.label).toBe("paid");
  expect(await within(there.command(careful, "note", { text: "one" }, { operationId: "n1" }))).toEqual(noted);
  expect(await codeOf(() => there.command(careful, "note", { text: "two" }, { operationId: "n1" }))).toBe(
    "append.conflict",
  );
  expect(await within(there.task(careful, "think", undefined, { operationId: "t1" }))).toEqual(thought);
  expect(await there.append([{ kind: "message", role: "user", text: "By the way." }], { operationId: "a1" })).toEqual(
    appended,
  );
  expect(
    await codeOf(() => there.append([{ kind: "message", role: "user", text: "Other." }], { operationId: "a1" })),
  ).toBe("append.conflict");
  expect(await there.query(careful, "notes")).toEqual(["one"]);
  await other.close();

  await runtime.waits.resolve(wait, { approved: true });
  await within(result, 4_000);
  const view = await session.read();
  expect(view.config.label).toBe("paid");
  expect(outline(view.messages)).toEqual([
    "user: Pay.",
    "calls pay",
    "pay ok: Paid 5.",
    "user: By the way.",
    "assistant: Done.",
  ]);
  expect(await session.query(careful, "notes")).toEqual(["one"]);
  expect((await session.tools.list({ raw: true })).find(({ name }) => name === "later")?.availability).toBe("off");
  expect(await session.command(careful, "note", { text: "one" }, { operationId: "n1" })).toEqual(noted);
  expect(
    await session.append([{ kind: "message", role: "user", text: "By the way." }], { operationId: "a1" }),
  ).toMatchObject({
    kind: "appended",
  });
  expect(await session.query(careful, "notes")).toEqual(["one"]);
  store.close();
  await runtime.close();
});

// ── Lists, keys, bad input ──────────────────────────────────────────────────────────────────────────────────────────

/** A session with a parked turn, in a process whose next look for turns is held back in the store after it took the lease. */
async function heldLook(path: string) {
  const store = sqlite(path, { durability: "process" });
  const [taken, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let isHeld = false;
  const open = async (act: () => unknown): Promise<unknown> => {
    const answer = await act();
    if (isHeld) taken.resolve();
    if (isHeld) await go.promise;
    return answer;
  };
  const runtime = await createRuntime({ ...options(paying()), store: around(store, { open }) });
  const session = await runtime.session("s");
  const turn = session.turn("Pay.", { key: "k" });
  const wait = await parked(runtime, store, "s");
  isHeld = true;
  expect(await runtime.waits.resolve(wait, { approved: true })).toBe("accepted");
  await taken.promise;
  return { runtime, session, turn, go };
}

test("D4 K13 an operation that follows an answer at once waits for the resumed turn, and neither waits for the lease to expire", async () => {
  const { runtime, session, turn, go } = await heldLook(file());
  const noted = session.command(careful, "note", { text: "Seen." });
  await ticks(10);
  go.resolve();
  expect((await within(noted, 5_000)).output).toBe(5);
  expect((await within(turn.result(), 5_000)).outcome).toMatchObject({ kind: "answered", text: "Done." });
  await runtime.close();
});

test("D4 D2 a turn that is being resumed while the runtime closes is given back, and another process resumes it", async () => {
  const path = file();
  const { runtime, turn, go } = await heldLook(path);
  const left = codeOf(() => turn.result());
  const closed = runtime.close();
  await ticks(100);
  go.resolve();
  await within(closed, 5_000);
  expect(await left).toBe("turn.left");
  await using second = await on(path, paying());
  const again = (await second.session("s")).turn("Pay.", { key: "k" });
  expect((await within(again.result(), 5_000)).outcome).toMatchObject({ kind: "answered", text: "Done." });
});

test("D4 what waits is listed by session and by tree, in pages, and events carry no key", async () => {
  const path = file();
  await using runtime = await on(path, paying());
  for (let n = 0; n < 5; n++)
    void (await runtime.session(`s${n}`))
      .turn("Pay.")
      .result()
      .catch(() => {});
  const all = await eventually(async () => {
    const found = await runtime.waits.list();
    return found.length === 5 ? found : undefined;
  });
  const first = await runtime.waits.list({ max: 2 });
  const rest = await runtime.waits.list({ after: first[1]!.id, max: 10 });
  expect([...first, ...rest].map(({ id }) => id)).toEqual(all.map(({ id }) => id));
  expect(await runtime.waits.list({ session: "s3" })).toMatchObject([{ sessionId: "s3", path: ["s3"] }]);
  expect(await runtime.waits.list({ tree: "s3" })).toHaveLength(1);
  expect(await runtime.waits.list({ session: "nobody" })).toEqual([]);
  expect(await codeOf(() => runtime.waits.list({ max: 0 }))).toBe("options.invalid");
  const told: string[] = [];
  const abort = new AbortController();
  for await (const event of (await runtime.session("s0")).observe({ signal: abort.signal })) {
    told.push(JSON.stringify(event));
    if (event.kind === "waiting") abort.abort();
  }
  const { key, id } = all.find(({ sessionId }) => sessionId === "s0")!;
  expect(told.join()).toContain(id);
  expect(told.join()).not.toContain(key);
  expect(await runtime.waits.get(id)).toMatchObject({ key });
});

/** Code that holds the runtime names a wait in every way that there is; `{ key }` alone is closed to ids. */
async function namesWaits(store: Store): Promise<void> {
  const model = recited(...Array.from({ length: 6 }, () => [calls("pay", { eur: 5 }), says("Done.")]).flat());
  await using runtime = await createRuntime({ ...options(model), store });
  const { waits } = runtime;
  const session = await runtime.session("s");
  const asked = async () => {
    const turn = session.turn("Pay.");
    for await (const event of turn) if (event.kind === "waiting") return { turn, id: event.wait };
    throw new Error("The turn asked nothing.");
  };
  const yes = { approved: true };
  const ways: readonly ((id: WaitId, open: SessionView["waits"][number], listed: AnyWait) => Promise<string>)[] = [
    (id) => waits.resolve(id, yes, { by: "ann" }),
    (_, open) => waits.resolve(open, yes),
    (_, __, listed) => waits.resolve(JSON.parse(JSON.stringify(listed)) as { id: string }, yes), // Without its key.
    (_, __, { key }) => waits.resolve(key, yes),
    (_, __, { key }) => waits.resolve({ key }, yes),
    (id) => waits.revoke(id, { by: "ann" }),
  ];
  for (const way of ways) {
    const { turn, id } = await asked();
    const [open] = (await session.read()).waits;
    const [listed] = await waits.list({ session: "s" });
    expect([open!.id, listed!.id, (await waits.get(open!))?.key]).toEqual([id, id, listed!.key]);
    for (const ref of [{ key: id }, { id: listed!.key }, "wai_0", "guess", {}, 7, undefined]) {
      expect(await codeOf(() => waits.resolve(ref as string, yes))).toBe("wait.unknown");
      expect(await codeOf(() => waits.revoke(ref as string))).toBe("wait.unknown");
      expect(await waits.get(ref as string)).toBeUndefined();
    }
    expect(await codeOf(() => waits.resolve(id, { value: 1 }))).toBe("wait.answer");
    expect(await way(id, open!, listed!)).toBe("accepted");
    expect((await within(turn.result())).outcome.kind).toBe("answered");
    expect(await codeOf(() => waits.resolve(id, yes))).toBe("wait.unknown");
  }
}

test.each([
  ["memory", memory],
  ["sqlite", () => sqlite(file(), { durability: "process" })],
] as const)("D4 T9 a wait is answered by its id, its object or its key, and `{ key }` takes no id, on %s", (_, store) =>
  namesWaits(store()),
);

describePostgres("waits on Postgres", () => {
  test("D4 T9 a wait is answered by its id, its object or its key, and `{ key }` takes no id", async () =>
    namesWaits(postgres(await freshDatabase())));
});

test("D4 the error for an event in place of a wait names `event.wait`", async () => {
  await using runtime = await createRuntime({ ...options(paying()), store: memory() });
  const turn = (await runtime.session("s")).turn("Go.");
  for await (const event of turn)
    if (event.kind === "waiting") {
      await expect(runtime.waits.resolve(event as never, { approved: true } as never)).rejects.toMatchObject({
        code: "wait.unknown",
        message: "This is an event of kind waiting, not a wait.",
        hint: "Pass the id of its wait, `event.wait`.",
      });
      await runtime.waits.resolve(event.wait, { approved: true });
    }
});

test("D4 T9 a reference with the id of one wait and the key of another is refused, and both stay open", async () => {
  await using runtime = await createRuntime({ ...options(paying()), store: memory() });
  const { waits } = runtime;
  const turns = [(await runtime.session("a")).turn("Pay."), (await runtime.session("b")).turn("Pay.")];
  for (const turn of turns) for await (const event of turn) if (event.kind === "waiting") break;
  const [first, second] = (await waits.list()) as [AnyWait, AnyWait];
  const mixed = { id: first.id, key: second.key };
  for (const use of [() => waits.resolve(mixed, { approved: true }), () => waits.revoke(mixed), () => waits.get(mixed)])
    await expect(use()).rejects.toMatchObject({
      code: "options.invalid",
      details: { option: "wait" },
      hint: expect.stringContaining("{ key }"),
    });
  expect(await waits.list()).toHaveLength(2);
  for (const { id, key } of [first, second])
    expect(await waits.resolve({ id, key }, { approved: true })).toBe("accepted");
  for (const turn of turns) expect((await within(turn.result())).outcome.kind).toBe("answered");
});

test("D4 the error for an id in `{ key }` names the call that takes ids", async () => {
  await using runtime = await createRuntime({ ...options(paying()), store: memory() });
  await expect(runtime.waits.resolve({ key: "wai_1" }, { approved: true })).rejects.toMatchObject({
    code: "wait.unknown",
    message: "wai_1 is the id of a wait, and `{ key }` takes its key.",
    hint: "Pass the id itself: runtime.waits.resolve(id, …). Your code must then check who answers.",
  });
});

test.each([
  ["a mistyped field", { approve: true }],
  ["no object", "yes"],
  ["nothing", undefined],
  ["a value", { value: 1 }],
  ["arguments of a denial", { approved: false, args: { eur: 1 } }],
  ["arguments that do not fit", { approved: true, args: { eur: "much" } }],
  [
    "a circle",
    (() => {
      const a: { [k: string]: unknown } = { approved: true };
      a.args = a;
      return a;
    })(),
  ],
  ["a remembering of the wrong kind", { approved: true, remember: -1 }],
])("D4 T9 an answer that is %s is refused, typed, and the wait still stands", async (_, answer) => {
  await using runtime = await on(file(), paying());
  const turn = (await runtime.session("s")).turn("Pay.");
  const result = turn.result();
  const [wait] = await eventually(async () =>
    (await runtime.waits.list()).length > 0 ? runtime.waits.list() : undefined,
  );
  expect(await codeOf(() => runtime.waits.resolve(wait!.key, answer as never))).toBe("wait.answer");
  await runtime.waits.resolve(wait!.key, { approved: true });
  expect((await within(result)).outcome).toMatchObject({ kind: "answered" });
});

test("D4 an answer after the deadline is refused, and the turn continues without it", async () => {
  const path = file();
  const soon = definePlugin({
    id: "bank/soon",
    setup: () => ({ beforeToolCall: ({ call }) => (call.name === "pay" ? ask("Quick.", { waitMs: 400 }) : undefined) }),
  });
  await using runtime = await createRuntime({
    store: sqlite(path),
    model: paying(),
    tools: [pay],
    plugins: [soon],
    limits: { parkAfterMs: 10 },
  });
  const session = await runtime.session("s");
  const turn = session.turn("Pay.");
  const result = turn.result();
  const [wait] = await eventually(async () =>
    (await runtime.waits.list()).length > 0 ? runtime.waits.list() : undefined,
  );
  expect((await within(result, 5_000)).outcome).toMatchObject({ kind: "answered" });
  expect(["wait.expired", "wait.unknown"]).toContain(
    await codeOf(() => runtime.waits.resolve(wait!.key, { approved: true })),
  );
  expect(outline((await session.read()).messages).join("\n")).toContain("nobody approved it in time");
});

test("D4 S2 a session whose turn is parked can be deleted and forked: waits are revoked, handles throw", async () => {
  const path = file();
  await using runtime = await on(path, paying());
  const store = sqlite(path, { durability: "process" });
  const session = await runtime.session("s");
  const turn = session.turn("Pay.");
  const ended = codeOf(() => turn.result());
  const wait = await parked(runtime, store, "s");
  const fork = await session.fork({ id: "f" });
  expect(await fork.read()).toMatchObject({ messages: [], inputs: [] });
  expect(await runtime.waits.list({ session: "f" })).toEqual([]);
  await runtime.sessions.delete("s");
  expect(await within(ended)).toBe("session.deleted");
  expect(await codeOf(() => runtime.waits.resolve(wait.key, { approved: true }))).toBe("wait.unknown");
  store.close();
});

test("D4 S11 a wait that was answered while no process had its turn is not shown as `waiting` after a restart", async () => {
  const path = file();
  const first = await on(path, paying());
  const turn = (await first.session("s")).turn("Pay.", { key: "k" });
  const left = codeOf(() => turn.result());
  const { id } = await eventually(async () => (await first.waits.list())[0]);
  await first.close();
  expect(await left).toBe("turn.left");
  const web = await on(path, paying(), { recover: "manual" });
  await web.waits.resolve(id, { approved: true }, { by: "ann" });
  await web.close();

  const joined = Promise.withResolvers<void>();
  const store = around(sqlite(path, { durability: "process" }), {
    renew: async (run) => {
      await joined.promise; // The turn is taken up, and goes on when the handle is there.
      return run();
    },
  });
  await using second = await createRuntime({ ...options(paying()), store, recover: "manual" });
  const session = await second.session("s");
  const again = session.turn("Pay.", { key: "k" });
  const seen = eventsOf(again);
  await again.id;
  joined.resolve();
  const kinds = (await within(seen)).map(({ kind }) => kind);
  expect(kinds.filter((kind) => /^(waiting|resolved|committed)$/.test(kind))).toEqual(["resolved", "committed"]);
  expect((await session.read()).waits).toEqual([]);
});
