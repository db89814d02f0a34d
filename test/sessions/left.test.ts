import { createRuntime, definePlugin, defineTool, type Runtime } from "bowline";
import { approvals } from "bowline/plugins/approvals";
import type { Provider } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, recited, says, scripted } from "bowline/testing";
import { expect, test, vi } from "vitest";
import { listener } from "../kit/models.ts";
import { eventsOf, outline, signalOf } from "../kit/reading.ts";
import { file } from "../kit/stores.ts";
import { onEvent } from "../kit/telemetry.ts";
import { deployed, held, quickWorld } from "../kit/worlds.ts";

/** Begins a turn and lets it go in the middle of a call, as a process does that is ended. */
async function left(path: string, model: Provider, session: string, words: string): Promise<string> {
  const work = held();
  const { runtime } = await deployed(sqlite(path), quickWorld({ now: Date.now(), name: session }), {
    model,
    tools: [work.tool],
  });
  const { turnId } = await (await runtime.session(session)).send(words);
  await work.began();
  await runtime.close();
  return turnId;
}

const named = (model: Provider, modelId: string): Provider => ({ ...model, modelId });

test("D3 a resumed turn that takes long does not stop other work from being resumed", async () => {
  const path = file();
  await Promise.all([left(path, listener(), "a", "Work."), left(path, listener(), "b", "Work.")]);
  const [first, second] = [held(), held()];
  let asked = 0;
  const tool = defineTool({
    name: "work",
    description: "Works.",
    input: { type: "object" },
    execute: (input, context) => (++asked === 1 ? first : second).tool.run(input, context) as Promise<string>,
  });
  await using runtime = await createRuntime({ store: sqlite(path), model: listener(), tools: [tool] });
  await first.began();
  await second.began(); // Though the first has not ended, and never does by itself.
  first.release();
  second.release();
  expect(await runtime.recover()).toMatchObject({ sessions: expect.any(Number) });
  for (const id of ["a", "b"]) expect(await runtime.sessions.get(id)).toMatchObject({ turns: 1 });
});

test("D3 D8 recovery in a runtime without the model of a turn leaves the turn to a runtime that has it", async () => {
  const path = file();
  const turnId = await left(path, listener(), "a", "Work.");
  const other = await createRuntime({ store: sqlite(path), model: named(scripted(says("Never.")), "other") });
  await other.recover();
  expect((await other.sessions.list())[0]).toMatchObject({ id: "a", turns: 0, openTurn: turnId });
  await other.close();

  const work = held();
  work.release();
  await using right = await createRuntime({ store: sqlite(path), model: listener(), tools: [work.tool] });
  const { outcome } = await (await right.session("a")).follow(turnId).result();
  expect(outcome).toMatchObject({ kind: "answered" });
});

/** A runtime whose model is not the one of `left`. */
const without = (path: string, skipped: () => void): Promise<Runtime> =>
  createRuntime({
    store: sqlite(path),
    model: named(scripted(says("Another model."), says("Another model.")), "other"),
    telemetry: onEvent(({ name }) => (name === "turn.elsewhere" ? skipped() : undefined)),
  });

test("D3 D8 opening a session without the model of its open turn leaves the turn open, and callers get `turn.model`", async () => {
  const path = file();
  const turnId = await left(path, listener(), "a", "Work.");
  const skipped = Promise.withResolvers<void>();
  const other = await without(path, skipped.resolve);
  const session = await other.session("a");
  const refused = { code: "turn.model", details: { turnId, model: "listener/test" } };
  await expect(session.follow(turnId).result()).rejects.toMatchObject(refused);
  const queued = session.turn("And then?", { key: "then" });
  const queuedId = await queued.id;
  await expect(queued.result()).rejects.toMatchObject(refused);
  await expect(session.configure({ model: "scripted/other" })).rejects.toMatchObject(refused);
  expect((await session.read()).openTurn).toMatchObject({ id: turnId, calls: [{ call: { name: "work" } }] });
  await skipped.promise;
  const { turns, openTurn, inputs } = await other.sessions.get("a");
  expect({ turns, openTurn }).toMatchObject({ turns: 0, openTurn: { id: turnId } });
  expect(outline(openTurn!.messages)).toEqual(["user: Work.", "calls work"]);
  expect(openTurn!.calls).toMatchObject([{ effect: "r1.call.0", call: { name: "work" }, state: "running" }]);
  expect(inputs.map((input) => [input.turnId, input.state])).toEqual([
    [turnId, "running"],
    [queuedId, "waiting"],
  ]);
  await other.close();

  const work = held();
  work.release();
  await using right = await createRuntime({ store: sqlite(path), model: listener(), tools: [work.tool] });
  const again = await right.session("a");
  for (const id of [turnId, queuedId])
    expect((await again.follow(id).result()).outcome).toMatchObject({ kind: "answered" });
  expect(work.calls).toBe(1);
});

test("S3 D8 a runtime without the model of an open turn cancels it, and the session continues with the model of the runtime", async () => {
  const path = file();
  const turnId = await left(path, listener(), "a", "Work.");
  const skipped = Promise.withResolvers<void>();
  await using other = await without(path, skipped.resolve);
  const session = await other.session("a");
  await skipped.promise;
  expect(await session.cancel(turnId, { reason: "Not wanted." })).toMatchObject({ kind: "requested" });
  const { outcome } = await session.follow(turnId).result();
  expect(outcome).toMatchObject({ kind: "stopped", by: "cancel", code: "turn.cancelled" });
  expect((await session.turn("Hello?").result()).outcome).toMatchObject({ kind: "answered", text: "Another model." });
});

/** Parks a turn that asks before it pays; `start` is another process on the same store. */
async function parkedPayment() {
  const path = file();
  const paid: string[] = [];
  const model = () => recited(calls("pay"), says("Done."));
  const [began, go] = [signalOf(), signalOf()];
  const desk = definePlugin({
    id: "acme/desk",
    setup: ({ command }) => ({
      operations: {
        hold: command({
          run: async () => {
            began.resolve();
            await go.promise;
          },
        }),
      },
    }),
  });
  const start = (of: Provider = model()) => {
    const pay = defineTool({
      name: "pay",
      description: "Pays.",
      input: { type: "object" },
      execute: () => {
        paid.push(of.modelId);
        return "Paid.";
      },
    });
    const policy = approvals({ rules: [{ tool: "pay", verdict: "ask", reason: "It moves money." }] });
    const plugins = [policy, desk];
    return createRuntime({ store: sqlite(path), model: of, tools: [pay], plugins, recover: "manual" });
  };
  const first = await start();
  const { turnId } = await (await first.session("a")).send("Pay.");
  await first.recover();
  await first.close();
  return { start, turnId, paid, desk, began, go };
}

test("D4 D8 an operation in an answered turn whose model is missing runs no tool, and the turn stays open", async () => {
  const { start, turnId, paid } = await parkedPayment();
  const other = await start(named(scripted(), "other"));
  const [wait] = await other.waits.list();
  expect(await other.waits.resolve(wait!, { approved: true })).toBe("accepted");
  const session = await other.session("a");
  expect((await session.configure({ instructions: "Be brief." })).instructions).toBe("Be brief.");
  expect((await session.configure({ instructions: "Be kind." })).instructions).toBe("Be kind.");
  expect(await session.read()).toMatchObject({ turns: 0, openTurn: { id: turnId } });
  await other.close();
  expect(paid).toEqual([]);

  await using right = await start();
  const again = await right.session("a");
  expect((await again.follow(turnId).result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
  expect(paid).toEqual(["test"]);
  expect((await again.read()).config.instructions).toBe("Be kind.");
});

test("D4 D8 a cancel that comes during an operation in a turn whose model is missing ends the turn", async () => {
  const { start, turnId, paid, desk, began, go } = await parkedPayment();
  await using other = await start(named(scripted(), "other"));
  const session = await other.session("a");
  const followed = session.follow(turnId).result();
  const command = session.command(desk, "hold");
  await began.promise;
  expect(await session.cancel(turnId, { reason: "Not wanted." })).toMatchObject({ kind: "requested" });
  go.resolve();
  await command;
  expect((await followed).outcome).toMatchObject({ kind: "stopped", code: "turn.cancelled" });
  expect(paid).toEqual([]);
});

test("D4 D8 operations run in a parked turn whose model is missing, and the turn stays parked", async () => {
  const { start, turnId } = await parkedPayment();
  const other = await start(named(scripted(), "other"));
  const session = await other.session("a");
  expect((await session.configure({ instructions: "Be brief." })).instructions).toBe("Be brief.");
  const [wait] = (await session.read()).waits;
  const followed = session.follow(turnId).result();
  expect(await other.waits.resolve(wait!, { approved: true })).toBe("accepted");
  await expect(followed).rejects.toMatchObject({ code: "turn.model" });
  await other.close();

  await using right = await start();
  const { outcome } = await (await right.session("a")).follow(turnId).result();
  expect(outcome).toMatchObject({ kind: "answered", text: "Done." });
});

test('S3 with `recover: "manual"` a follower of a turn does not resume it', async () => {
  const path = file();
  const watcher = await createRuntime({ store: sqlite(path), model: listener(), recover: "manual" });
  const session = await watcher.session("a");
  const turnId = await left(path, listener(), "a", "Work.");
  const followed = session.follow(turnId);
  const result = followed.result().catch((error: unknown) => error);
  expect((await watcher.sessions.list())[0]).toMatchObject({ turns: 0, openTurn: turnId });
  expect(await watcher.sessions.cancel("a", turnId, "Not wanted.")).toMatchObject({ kind: "requested" });
  await watcher.recover(); // Now it does.
  expect(await result).toMatchObject({ outcome: { kind: "stopped", code: "turn.cancelled" } });
  await watcher.close();
});

test("S11 a follower sees an orphaned turn from its beginning in the process that resumes it", async () => {
  const path = file();
  const [once, again] = [held(), held()];
  const ping = defineTool({ name: "ping", description: "Pings.", input: { type: "object" }, execute: () => "Pong." });
  const start = async (model: Provider, work: ReturnType<typeof held>): Promise<Runtime> =>
    (await deployed(sqlite(path), quickWorld({ now: Date.now() }), { model, tools: [ping, work.tool] })).runtime;
  const first = await start(scripted(both(says("Let me see. "), calls("ping")), calls("work")), once);
  const { turnId } = await (await first.session("a")).send("Go.");
  await once.began();
  await first.close();
  again.release();
  await using second = await start(scripted(says("Done.")), again);
  const session = await second.session("a");
  const seen = await eventsOf(session.follow(turnId));
  const told = seen.map((event) =>
    event.kind === "text" ? event.delta : event.kind === "toolEnded" ? `${event.name} ${event.status}` : event.kind,
  );
  expect(told).toEqual([
    "Let me see. ",
    "toolStarted",
    "ping ok",
    "toolStarted",
    "toolReturned",
    "work ok",
    "Done.",
    "committed",
  ]);
});

test("T9 a call that heeds its signal when its turn is cancelled is cancelled, not failed", async () => {
  const began = Promise.withResolvers<void>();
  const wait = defineTool({
    name: "wait",
    description: "Waits.",
    input: { type: "object" },
    execute: (_, { signal }) =>
      new Promise<string>((_resolve, reject) => {
        began.resolve();
        signal.addEventListener("abort", () => reject(new DOMException("Aborted.", "AbortError")));
      }),
  });
  await using runtime = await createRuntime({
    store: sqlite(":memory:"),
    model: scripted(calls("wait")),
    tools: [wait],
  });
  const turn = (await runtime.session()).turn("Go.");
  const events = eventsOf(turn);
  await began.promise;
  await turn.cancel();
  expect((await events).find(({ kind }) => kind === "toolEnded")).toMatchObject({ status: "cancelled" });
});

test("S7 S8 fork and history before a node: the first has nothing before it", async () => {
  await using runtime = await createRuntime({ store: sqlite(":memory:"), model: listener() });
  const session = await runtime.session("a");
  await session.turn("One.").result();
  await session.turn("Two.").result();
  const { messages } = await session.read();
  const [first, , third] = messages.map(({ id }) => id);
  const second = await session.fork({ before: third as string, label: "b" });
  expect((await second.read()).messages).toEqual(messages.slice(0, 2));
  const empty = await session.fork({ before: first as string });
  expect(await empty.read()).toMatchObject({ messages: [], turns: 0 });
  const ids: string[] = [];
  for (let page = await session.history({ max: 3 }); page.length > 0; ) {
    ids.push(...page.map(({ id }) => id));
    page = await session.history({ before: page.at(-1)?.id as string, max: 3 });
  }
  expect(ids).toEqual(messages.map(({ id }) => id).reverse());
  await expect(session.fork({ before: "nowhere.0" })).rejects.toMatchObject({ code: "fork.unknown" });
});

test("S15 S4 what was said and is not answered yet is in the view: taken, then waiting", async () => {
  const work = held();
  await using runtime = await createRuntime({ store: sqlite(":memory:"), model: listener(), tools: [work.tool] });
  const session = await runtime.session();
  const turn = session.turn("Work.");
  await work.began();
  await session.send("Later.", { at: "next-turn" });
  const { inputs, messages } = await session.read();
  expect(messages).toEqual([]);
  expect(inputs).toMatchObject([
    { state: "running", turnId: await turn.id, message: { parts: [{ text: "Work." }] } },
    { state: "waiting", message: { parts: [{ text: "Later." }] } },
  ]);
  work.release();
  await turn.result();
  await vi.waitFor(async () => expect((await session.read()).inputs).toEqual([]));
});

test("S2 a session whose deletion fails in the store is as it was", async () => {
  const store = sqlite(":memory:");
  await using runtime = await createRuntime({ store, model: listener() });
  const session = await runtime.session("a");
  await session.turn("One.").result();
  const failing = vi.spyOn(store, "delete").mockImplementationOnce(() => {
    throw new Error("Not now.");
  });
  await expect(runtime.sessions.delete("a")).rejects.toThrow("Not now.");
  failing.mockRestore();
  const work = session.turn("Two.");
  await work.id;
  expect((await (await runtime.session("a")).follow(await work.id).result()).outcome).toMatchObject({
    kind: "answered",
  });
});

test("D2 closing the runtime begins nothing again, also when an operation waits behind a long turn", async () => {
  const path = file();
  const work = held();
  const { runtime } = await deployed(sqlite(path), quickWorld({ now: Date.now() }), {
    model: listener(),
    tools: [work.tool],
  });
  const session = await runtime.session("a");
  const { turnId } = await session.send("Work.");
  await work.began();
  const configured = session.configure({ instructions: "Later." });
  configured.catch(() => {});
  await runtime.close(); // The grace is over at once here.
  await expect(configured).rejects.toMatchObject({ code: "runtime.closed" });
  expect(work.calls).toBe(1);
  const after = sqlite(path);
  expect(await after.find(turnId as never)).toMatchObject({ state: "open" });
  await after.close();
});

test("S3 a handle that is closed while its input comes in leaves no turn behind that nobody sees", async () => {
  const work = held();
  await using runtime = await createRuntime({ store: sqlite(":memory:"), model: listener(), tools: [work.tool] });
  const session = await runtime.session("a");
  const turn = session.turn(["Work."]); // Parts are read before it is accepted.
  await session.close();
  await work.began();
  const again = await runtime.session("a");
  expect(await again.current()?.id).toBe(await turn.id);
  await expect(runtime.sessions.delete("a")).rejects.toMatchObject({ code: "session.busy" });
  work.release();
  expect((await turn.result()).outcome).toMatchObject({ kind: "answered" });
});
