import { getEventListeners } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import {
  createRuntime,
  definePlugin,
  defineTool,
  hasCode,
  type Session,
  type SessionEvent,
  type TelemetryEvent,
} from "bowline";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { aborted, call, echo, end, plays, text } from "../kit/models.ts";
import { eventsOf, only, outline, seen, shown, ticks, wordsOf } from "../kit/reading.ts";
import { sample } from "../kit/size.ts";
import { onEvent } from "../kit/telemetry.ts";
import { open } from "../kit/worlds.ts";

const search = defineTool({
  name: "search",
  description: "Searches.",
  input: { type: "object" },
  execute: () => "Found.",
});

/** A model that says this much and then waits for its abort. */
const talksOn = (...deltas: readonly string[]) =>
  async function* (_: unknown, signal: AbortSignal) {
    for (const delta of deltas) yield text(delta);
    await aborted(signal);
  };
const answers = (words: string) =>
  async function* () {
    yield* says(words);
  };

// ── Start, stream, await, ignore ────────────────────────────────────────────────────────────────────────────────────

test("S3 a turn streams its previews and ends with the one fact that it is committed", async () => {
  await using world = await open(scripted(both(says("Let me see."), calls("search")), says("Ni", "ne.")), {
    tools: [search],
  });
  const turn = world.session.turn("Go.");
  const events = await eventsOf(turn);
  expect(events.map(({ kind }) => kind)).toEqual(["text", "toolStarted", "toolEnded", "text", "text", "committed"]);
  expect(events.map(({ fact }) => fact)).toEqual([false, false, false, false, false, true]);
  const turnId = await turn.id;
  expect(events.every((event) => event.turnId === turnId && event.sessionId === world.session.id)).toBe(true);

  const { outcome, usage, issues } = await turn.result();
  expect(only(events, "committed")[0]).toMatchObject({ by: "turn", outcome, usage });
  expect(only(events, "committed")[0]?.nodes).toEqual((await world.session.read()).messages.map(({ id }) => id));
  expect(usage).toEqual({ input: 20, cacheRead: 0, cacheWrite: 0, output: 10, reasoning: 0, unknownCalls: 0 });
  expect((await world.session.read()).usage).toEqual(usage);
  expect(issues).toEqual([]);
});

test("S3 a turn can be awaited without reading its events", async () => {
  await using world = await open(echo());
  expect((await world.session.turn("Hello.").result()).outcome).toMatchObject({ kind: "answered", text: "re: Hello." });
});

test("S3 a turn that nobody watches runs all the same", async () => {
  await using world = await open(echo());
  world.session.turn("One.");
  await world.session.turn("Two.").result();
  expect(outline((await world.session.read()).messages)).toEqual([
    "user: One.",
    "assistant: re: One.",
    "user: Two.",
    "assistant: re: Two.",
  ]);
});

test("S3 leaving the iteration does not cancel", async () => {
  const model = plays(async function* () {
    yield text("One ");
    yield text("two ");
    yield text("three.");
    yield end;
  });
  await using world = await open(model);
  const turn = world.session.turn("Count.");
  for await (const event of turn) if (event.kind === "text") break;
  expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "One two three." });
});

test("S3 an iterator that comes after the end is given everything, and a second one only the end", async () => {
  await using world = await open(echo());
  const turn = world.session.turn("Hello.");
  await turn.result();
  const events = await eventsOf(turn);
  expect(events.map(({ kind }) => kind)).toEqual(["text", "committed"]);
  expect(shown(events)).toBe("re: Hello.");
  expect((await eventsOf(turn)).map(({ kind }) => kind)).toEqual(["committed"]);
});

test("S3 two iterators each hear everything from where they began", async () => {
  const half = Promise.withResolvers<void>();
  const model = plays(async function* () {
    yield text("first ");
    await half.promise;
    yield text("second");
    yield end;
  });
  await using world = await open(model);
  const turn = world.session.turn("Go.");
  const early = eventsOf(turn);
  await turn.id;
  const other = turn[Symbol.asyncIterator]();
  await world.session.read();
  half.resolve();
  const late: SessionEvent[] = [];
  for (let next = await other.next(); !next.done; next = await other.next()) late.push(next.value);
  expect(shown(await early)).toBe("first second");
  expect(shown(late)).toMatch(/second$/);
  expect(late.at(-1)?.kind).toBe("committed");
});

test("S3 a reader that never catches up is given longer deltas and no wrong text", async () => {
  const words = Array.from({ length: 500 }, (_, index) => `${index} `);
  await using world = await open(scripted(says(...words)), { limits: { unreadEventsMax: 10 } });
  const turn = world.session.turn("Count.");
  await turn.result();
  const events = await eventsOf(turn);
  expect(events.length).toBeLessThanOrEqual(11);
  expect(shown(events)).toBe(words.join(""));
  expect(events.at(-1)?.kind).toBe("committed");
});

test("S3 turns of one session run one after the other, in the order in which they were started", async () => {
  let running = 0;
  const model = plays(
    ...Array.from(
      { length: 6 },
      (_, index) =>
        async function* () {
          expect(++running).toBe(1);
          yield text(`${index}`);
          await ticks(5);
          running--;
          yield end;
        },
    ),
  );
  await using world = await open(model);
  const turns = Array.from({ length: 6 }, (_, index) => world.session.turn(`Input ${index}.`));
  const results = await Promise.all(turns.map((turn) => turn.result()));
  expect(results.map(({ outcome }) => outcome.kind === "answered" && outcome.text)).toEqual([
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
  ]);
  expect(results.every(({ branch }) => branch === undefined)).toBe(true);
  const said = (await world.session.read()).messages.filter(({ role }) => role === "user").map(wordsOf);
  expect(said).toEqual(turns.map((_, index) => `Input ${index}.`));
});

test("S3 a turn started at any instant of another one follows it, and neither is lost nor kept as a branch", async () => {
  await using world = await open(echo());
  for (let instant = 0; instant < 80; instant++) {
    await using session = await world.runtime.session();
    const first = session.turn("One.");
    await ticks(instant);
    const second = session.turn("Two.");
    const results = [await first.result(), await second.result()];
    expect(
      results.map(({ branch }) => branch),
      `after ${instant} ticks`,
    ).toEqual([undefined, undefined]);
    const { messages, turns } = await session.read();
    expect(messages.map(wordsOf), `after ${instant} ticks`).toEqual(["One.", "re: One.", "Two.", "re: Two."]);
    expect(turns).toBe(2);
  }
});

test("S3 two sessions run beside each other", async () => {
  const met = Promise.withResolvers<void>();
  let here = 0;
  const model = plays(
    ...[1, 2].map(
      () =>
        async function* () {
          if (++here === 2) met.resolve();
          await met.promise;
          yield* says("Met.");
        },
    ),
  );
  await using world = await open(model);
  const other = await world.runtime.session();
  const results = await Promise.all([world.session.turn("Go.").result(), other.turn("Go.").result()]);
  expect(results.map(({ outcome }) => outcome.kind)).toEqual(["answered", "answered"]);
});

// ── Inputs that are not accepted ────────────────────────────────────────────────────────────────────────────────────

test("S3 an input that is not accepted rejects, whatever is asked of the turn", async () => {
  await using world = await open(echo(), { limits: { inputBytesMax: 10 } });
  const turn = world.session.turn("This is too long.");
  await expect(turn.result()).rejects.toMatchObject({ code: "limit.bytes" });
  await expect(turn.id).rejects.toMatchObject({ code: "limit.bytes" });
  await expect(turn.cancel()).rejects.toMatchObject({ code: "limit.bytes" });
  await expect(eventsOf(turn)).rejects.toMatchObject({ code: "limit.bytes" });
  await expect(world.session.turn([]).result()).rejects.toMatchObject({ code: "input.invalid" });
  await expect(world.session.turn(42 as never).result()).rejects.toMatchObject({ code: "input.invalid" });
  await expect(world.session.turn("Hi.", { key: "" }).result()).rejects.toMatchObject({ code: "input.invalid" });
  expect((await world.session.read()).turns).toBe(0);
  expect((await world.session.turn("Short.").result()).outcome.kind).toBe("answered");
});

test("S3 inputs queue up to a limit", async () => {
  const model = plays(talksOn("Hm."), answers("Two."));
  await using world = await open(model, { limits: { pendingInputsMax: 1 } });
  const first = world.session.turn("One.");
  await seen(first, "text");
  const second = world.session.turn("Two.");
  await expect(world.session.turn("Three.").result()).rejects.toMatchObject({ code: "input.full", retry: "unchanged" });
  await first.cancel();
  expect((await second.result()).outcome).toMatchObject({ kind: "answered", text: "Two." });
});

test("S3 a closed handle and a closed runtime refuse, and say so", async () => {
  const { runtime, session } = await open(echo());
  const other = await runtime.session(session.id);
  await other.close();
  await expect(other.turn("Hi.").result()).rejects.toMatchObject({ code: "session.closed" });
  expect((await session.turn("Hi.").result()).outcome.kind).toBe("answered");
  await runtime.close();
  await expect(runtime.session()).rejects.toMatchObject({ code: "runtime.closed" });
  await expect(session.turn("Hi.").result()).rejects.toMatchObject({ code: "runtime.closed" });
});

test("S3 a runtime that is closing lets the running turn end and accepts nothing more", async () => {
  const told = Promise.withResolvers<void>();
  const model = plays(async function* () {
    yield text("Almost ");
    await told.promise;
    yield text("done.");
    yield end;
  }, answers("Never."));
  const { runtime, session } = await open(model);
  const turn = session.turn("Go.");
  await seen(turn, "text");
  const closed = runtime.close();
  const refused = session
    .turn("More.")
    .result()
    .then(
      () => "accepted",
      (error: unknown) => hasCode(error, "runtime.closed") && "refused",
    );
  told.resolve();
  await closed;
  expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "Almost done." });
  expect(await refused).toBe("refused");
});

test("S3 close cancels a turn that is still running after `graceMs`; an invalid grace is a typed error", async () => {
  const { runtime, session } = await open(plays(talksOn("So ")));
  const turn = session.turn("Go.");
  await turn.id;
  for (const graceMs of [-1, Number.NaN, "soon" as never])
    await expect(runtime.close({ graceMs })).rejects.toMatchObject({ code: "options.invalid" });
  await expect(runtime.close({ grace: 1 } as never)).rejects.toMatchObject({ code: "options.unknown" });
  await runtime.close({ graceMs: 0 });
  expect((await turn.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
});

// ── Cancel ──────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Cancelling {
  readonly session: Session;
  readonly other: Session;
  readonly turnId: string;
  readonly controller: AbortController;
  readonly cancel: (reason: string) => Promise<unknown>;
}

const WAYS: { readonly [way: string]: (from: Cancelling) => unknown } = {
  "its handle": ({ cancel }) => cancel("Stop it."),
  "its session": ({ session, turnId }) => session.cancel(turnId, { reason: "Stop it." }),
  "another handle of the session": ({ other, turnId }) => other.cancel(turnId, { reason: "Stop it." }),
  "the caller's signal": ({ controller }) => controller.abort(),
};

for (const [way, cancel] of Object.entries(WAYS)) {
  test(`S3 a turn is cancelled by ${way} while the model speaks`, async () => {
    const model = plays(talksOn("So "), answers("Next."));
    await using world = await open(model);
    const other = await world.runtime.session(world.session.id);
    const controller = new AbortController();
    const turn = world.session.turn("Go.", { signal: controller.signal });
    await seen(turn, "text");
    const { session } = world;
    await cancel({ session, other, controller, turnId: await turn.id, cancel: (reason) => turn.cancel(reason) });
    expect((await turn.result()).outcome).toMatchObject({
      kind: "stopped",
      by: "cancel",
      code: "turn.cancelled",
      text: "So ",
    });
    expect(getEventListeners(controller.signal, "abort")).toEqual([]);
    expect((await session.turn("More.").result()).outcome).toMatchObject({ kind: "answered", text: "Next." });
  });
}

test("S3 a cancel answers with evidence: requested, already requested, already completed, unknown", async () => {
  await using world = await open(plays(talksOn("So ")));
  const { session } = world;
  const turn = session.turn("Go.");
  await seen(turn, "text");
  const turnId = await turn.id;
  const first = await session.cancel(turnId, { reason: "First.", requestId: "req-1" });
  expect(first).toMatchObject({ kind: "requested", request: { requestId: "req-1", reason: "First." } });
  expect(await turn.cancel("Second.")).toMatchObject({
    kind: "already-requested",
    request: { requestId: "req-1", reason: "First." },
  });
  const { outcome } = await turn.result();
  expect(outcome.kind === "stopped" && outcome.reason).toContain("First.");
  expect(await turn.cancel("Third.")).toEqual({ kind: "already-completed", outcome });
  expect(await session.cancel("trn_never")).toEqual({ kind: "unknown" });
});

test("S3 a cancel after the answer changes nothing", async () => {
  await using world = await open(echo());
  const turn = world.session.turn("Hi.");
  const { outcome } = await turn.result();
  expect(await turn.cancel()).toEqual({ kind: "already-completed", outcome });
  expect(outcome.kind).toBe("answered");
});

test("S3 a cancel at any instant either stops the turn or comes too late, and never both", async () => {
  const kinds = new Set<string>();
  for (let instant = 0; instant < 90; instant++) {
    await using world = await open(scripted(both(says("A"), calls("search")), says("B")), { tools: [search] });
    const turn = world.session.turn("Go.");
    await ticks(instant);
    const answer = await turn.cancel();
    const { outcome } = await turn.result();
    kinds.add(`${answer.kind}, ${outcome.kind}`);
    if (answer.kind === "already-completed") expect(answer.outcome).toEqual(outcome);
    const { messages, turns } = await world.session.read();
    expect(turns).toBe(1);
    const lines = outline(messages);
    expect(lines.filter((line) => line.startsWith("search ")).length, `after ${instant} ticks`).toBe(
      lines.filter((line) => line === "calls search").length,
    );
  }
  expect([...kinds].sort()).toEqual(["already-completed, answered", "requested, stopped"]);
});

test("S3 a turn whose signal has already aborted is cancelled", async () => {
  const model = scripted(says("Too much."), says("Next."));
  await using world = await open(model);
  const { outcome } = await world.session.turn("Go.", { signal: AbortSignal.abort() }).result();
  await world.session.turn("Again.", { signal: AbortSignal.abort(new Error("Enough.")) }).result();
  expect(outcome).toMatchObject({ kind: "stopped", by: "cancel" });
  expect((await world.session.read()).turns).toBe(2);
  expect(model.requests).toEqual([]);
});

test("S3 a queued turn that is cancelled ends in its place without a model call", async () => {
  const told = Promise.withResolvers<void>();
  const model = plays(async function* () {
    yield text("One.");
    await told.promise;
    yield end;
  }, answers("Three."));
  await using world = await open(model);
  const [one, two, three] = ["One.", "Two.", "Three."].map((input) => world.session.turn(input));
  expect(await two?.cancel("Not needed.")).toMatchObject({ kind: "requested" });
  told.resolve();
  expect((await one?.result())?.outcome).toMatchObject({ kind: "answered", text: "One." });
  expect((await two?.result())?.outcome).toMatchObject({ kind: "stopped", by: "cancel", text: "" });
  expect((await three?.result())?.outcome).toMatchObject({ kind: "answered", text: "Three." });
  expect(model.requests).toHaveLength(2);
  expect(model.requests[1]?.messages.map(wordsOf)).toEqual(["One.", "One.", "Two.", "Three."]);
});

test("S3 calls are settled when a turn is cancelled: kept, unknown after the grace, or never begun", async () => {
  const began = Promise.withResolvers<void>();
  const tool = (name: string, execute: (signal: AbortSignal) => Promise<string>) =>
    defineTool({ name, description: name, input: { type: "object" }, execute: (_, { signal }) => execute(signal) });
  const polite = tool("polite", async (signal) => {
    await aborted(signal);
    return "Half of it.";
  });
  const rude = tool("rude", () => {
    began.resolve();
    return new Promise(() => {});
  });
  const angry = tool("angry", async (signal) => {
    await aborted(signal);
    throw signal.reason;
  });
  let later = 0;
  const patient = tool("patient", async () => `${++later}`);
  const model = scripted(
    both(says("All."), calls("polite"), calls("angry"), calls("rude"), calls("patient")),
    says("Next."),
  );
  await using world = await open(model, {
    tools: [polite, rude, angry, patient],
    limits: { cancelGraceMs: 30, parallelCallsMax: 3 },
  });
  const turn = world.session.turn("Go.");
  const watched = eventsOf(turn);
  await began.promise;
  await turn.cancel();
  const { outcome } = await turn.result();
  expect(outcome).toMatchObject({ kind: "stopped", by: "cancel", text: "All." });
  expect(outline((await world.session.read()).messages).slice(-4)).toEqual([
    "polite ok: Half of it.",
    expect.stringMatching(/^angry cancelled: /),
    expect.stringMatching(/^rude unknown: /),
    expect.stringMatching(/^patient cancelled: /),
  ]);
  expect(later).toBe(0);
  const events = await watched;
  const started = only(events, "toolStarted").map(({ call }) => call.id);
  const ended = only(events, "toolEnded").map(({ callId }) => callId);
  expect(ended).toEqual(started);
  expect(ended).toHaveLength(4);
  expect((await world.session.turn("More.").result()).outcome).toMatchObject({ kind: "answered", text: "Next." });
});

test("S3 what a tool returns after the grace is dropped and traced", async () => {
  const [began, told] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
  const traces: TelemetryEvent[] = [];
  const late = Promise.withResolvers<void>();
  const rude = defineTool({
    name: "rude",
    description: "Does not listen.",
    input: { type: "object" },
    execute: () => {
      began.resolve();
      return told.promise;
    },
  });
  const trace = (record: TelemetryEvent) => {
    traces.push(record);
    if (record.name === "host.late") late.resolve();
  };
  await using world = await open(scripted(calls("rude"), says("Next.")), {
    tools: [rude],
    telemetry: onEvent(trace),
    limits: { cancelGraceMs: 10 },
  });
  const turn = world.session.turn("Go.");
  await began.promise;
  await turn.cancel();
  await turn.result();
  told.resolve("Too late.");
  await late.promise;
  expect(outline((await world.session.read()).messages).at(-1)).toMatch(/^rude unknown: /);
  expect((await world.session.turn("More.").result()).outcome).toMatchObject({ kind: "answered", text: "Next." });
});

test("S3 a cancel ends the wait between two attempts at a model call", async () => {
  const model = plays(async function* () {
    yield text("Half");
  });
  await using world = await open(model);
  const turn = world.session.turn("Go.");
  await seen(turn, "retracted");
  await turn.cancel();
  expect((await turn.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel", text: "" });
  expect(model.requests).toHaveLength(1);
});

test("S3 a cancel ends the wait between two attempts at a call", async () => {
  const failed = Promise.withResolvers<void>();
  const flaky = defineTool({
    name: "flaky",
    description: "Fails.",
    input: { type: "object" },
    retry: { policy: "idempotent", baseMs: 60_000, maxMs: 60_000 },
    execute: () => {
      failed.resolve();
      throw new Error("Not now.");
    },
  });
  await using world = await open(scripted(calls("flaky")), { tools: [flaky] });
  const turn = world.session.turn("Go.");
  await failed.promise;
  await turn.cancel();
  expect((await turn.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
  expect(outline((await world.session.read()).messages).at(-1)).toMatch(/^flaky /);
});

const HOOKS = [
  "context",
  "beforeTurn",
  "prompt",
  "request",
  "stream",
  "response",
  "beforeToolCall",
  "afterToolCall",
  "checkpoint",
  "afterTurn",
] as const;

test.each(HOOKS)("S3 a cancel reaches a handler of %s that waits for its signal", async (hook) => {
  const began = Promise.withResolvers<void>();
  const told = Promise.withResolvers<number>();
  let isFirst = true;
  const run = async ({ signal }: { readonly signal: AbortSignal }) => {
    if (!isFirst) return;
    isFirst = false;
    began.resolve();
    await aborted(signal);
    told.resolve(performance.now());
  };
  const plugin = definePlugin({ id: "a/waits", setup: () => ({ [hook]: { deadlineMs: 500, run } }) as object });
  const replies = [both(says("Hm."), calls("search")), ...Array.from({ length: 4 }, () => says("Done."))];
  await using world = await open(scripted(...replies), { plugins: [plugin], tools: [search] });
  const turn = world.session.turn("Go.");
  await began.promise;
  const cancelledAt = performance.now();
  await turn.cancel();
  expect((await told.promise) - cancelledAt, "not only when its time was over").toBeLessThan(250);
  expect((await turn.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
  expect((await world.session.turn("More.").result()).outcome.kind).toBe("answered");
});

test("S3 a session that is closed while its turn runs is let go when the turn ends", async () => {
  const told = Promise.withResolvers<void>();
  const persisted = Promise.withResolvers<void>();
  const opened: boolean[] = [];
  const plugin = definePlugin({
    id: "a/observer",
    setup: () => ({
      lifecycle: ({ event }) => {
        if (event.kind === "sessionRestored") opened.push(event.isNew);
        if (event.kind === "turnPersisted") persisted.resolve();
      },
    }),
  });
  const model = plays(async function* () {
    await told.promise;
    yield* says("Done.");
  });
  await using world = await open(model, { plugins: [plugin] });
  const turn = world.session.turn("Go.");
  await turn.id;
  await world.session.close();
  told.resolve();
  expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "Done." });
  await persisted.promise;
  await new Promise((resolve) => setImmediate(resolve));
  const again = await world.runtime.session(world.session.id);
  expect((await again.read()).messages.map(wordsOf)).toEqual(["Go.", "Done."]);
  expect(opened).toEqual([true, false]);
});

test("S3 a turn is cancelled by another runtime on the same store", async () => {
  const store = memory();
  await using here = await createRuntime({ store, model: plays(talksOn("So ")) });
  const elsewhere = await createRuntime({ store, model: plays(), plugins: [] });
  const session = await here.session("shared");
  const turn = session.turn("Go.");
  await seen(turn, "text");
  const answer = await (await elsewhere.session("shared")).cancel(await turn.id, { reason: "From afar." });
  expect(answer.kind).toBe("requested");
  const { outcome } = await turn.result();
  expect(outcome).toMatchObject({ kind: "stopped", by: "cancel", text: "So " });
});

// ── Two runtimes on one store ───────────────────────────────────────────────────────────────────────────────────────

test("S3 a session that another runtime has continued is continued from its current state, not from an old one", async () => {
  const store = memory();
  await using here = await createRuntime({ store, model: echo() });
  const elsewhere = await createRuntime({ store, model: echo() });
  const [ours, theirs] = [await here.session("shared"), await elsewhere.session("shared")];
  await ours.turn("One.").result();
  const second = await theirs.turn("Two.").result();
  const third = await ours.turn("Three.").result();
  expect([second.branch, third.branch]).toEqual([undefined, undefined]);
  const said = ["One.", "re: One.", "Two.", "re: Two.", "Three.", "re: Three."];
  expect((await ours.read()).messages.map(wordsOf)).toEqual(said);
  expect(await ours.read()).toMatchObject({ turns: 3, usage: { output: 15 } });
});

test("S3 a turn that is queued behind another runtime's follows it", async () => {
  const store = memory();
  const told = Promise.withResolvers<void>();
  const slow = plays(async function* () {
    yield text("First.");
    await told.promise;
    yield end;
  });
  await using here = await createRuntime({ store, model: slow, models: () => slow });
  const elsewhere = await createRuntime({ store, model: echo(), models: () => echo() });
  const first = (await here.session("shared")).turn("One.");
  await seen(first, "text");
  const theirs = await elsewhere.session("shared");
  const second = theirs.turn("Two.");
  await second.id;
  told.resolve();
  await first.result();
  expect(await second.result()).toMatchObject({ outcome: { kind: "answered", text: "re: Two." } });
  expect((await second.result()).branch).toBeUndefined();
  expect((await theirs.read()).messages.map(wordsOf)).toEqual(["One.", "First.", "Two.", "re: Two."]);
});

// ── Keys ────────────────────────────────────────────────────────────────────────────────────────────────────────────

test("S5 the same key with the same input joins the turn, while it runs and after", async () => {
  const told = Promise.withResolvers<void>();
  const model = plays(async function* () {
    yield text("First ");
    await told.promise;
    yield text("and last.");
    yield end;
  });
  await using world = await open(model);
  const { session } = world;
  const first = session.turn("Go.", { key: "req-1" });
  const same = session.turn("Go.", { key: "req-1" });
  await seen(first, "text");
  const late = (await world.runtime.session(session.id)).turn("Go.", { key: "req-1" });
  expect([await same.id, await late.id]).toEqual([await first.id, await first.id]);
  told.resolve();
  const results = await Promise.all([first, same, late].map((turn) => turn.result()));
  expect(results[1]).toEqual(results[0]);
  expect(results[2]).toEqual(results[0]);
  const after = session.turn("Go.", { key: "req-1" });
  expect(await after.result()).toEqual(results[0]);
  expect(model.requests).toHaveLength(1);
  expect((await session.read()).turns).toBe(1);
});

test("S5 the same key with another input is a conflict, and the turn it belongs to continues", async () => {
  await using world = await open(echo());
  const first = world.session.turn("Go.", { key: "req-1" });
  const other = world.session.turn("Stop.", { key: "req-1" });
  await expect(other.result()).rejects.toMatchObject({ code: "input.conflict", details: { key: "req-1" } });
  expect((await first.result()).outcome).toMatchObject({ kind: "answered", text: "re: Go." });
  await expect(world.session.turn("Stop.", { key: "req-1" }).result()).rejects.toMatchObject({
    code: "input.conflict",
  });
  expect((await world.session.turn("Stop.", { key: "req-2" }).result()).outcome).toMatchObject({ text: "re: Stop." });
  const elsewhere = await world.runtime.session();
  expect((await elsewhere.turn("Stop.", { key: "req-1" }).result()).outcome).toMatchObject({ text: "re: Stop." });
});

test("S5 a key of something sent is a key too", async () => {
  await using world = await open(echo());
  await world.session.send("Go.", { key: "req-1" });
  await expect(world.session.send("Stop.", { key: "req-1" })).rejects.toMatchObject({ code: "input.conflict" });
});

test("S5 a key is of the session, whichever way the input came", async () => {
  await using world = await open(echo());
  const sent = await world.session.send("Go.", { key: "req-1" });
  const turn = world.session.turn("Go.", { key: "req-1" });
  expect(await turn.id).toBe(sent.turnId);
  expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "re: Go." });
  expect(await world.session.send("Go.", { key: "req-1" })).toEqual(sent);
  expect((await world.session.read()).turns).toBe(1);
});

// ── Input while a turn runs ─────────────────────────────────────────────────────────────────────────────────────────

test("S4 what is sent while a tool runs reaches the next round of the same turn", async () => {
  const [began, told] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const dig = defineTool({
    name: "dig",
    description: "Digs.",
    input: { type: "object" },
    execute: async () => {
      began.resolve();
      await told.promise;
      return "Dug.";
    },
  });
  const model = scripted(calls("dig"), says("Deeper it is."), says("Next."));
  await using world = await open(model, { tools: [dig] });
  const turn = world.session.turn("Dig.");
  await began.promise;
  await world.session.send("Deeper!");
  await world.session.send([{ kind: "text", text: "And wider." }]);
  told.resolve();
  expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "Deeper it is." });
  expect(outline(model.requests[1]?.messages ?? [])).toEqual([
    "user: Dig.",
    "calls dig",
    "dig ok: Dug.",
    "user: Deeper!",
    "user: And wider.",
  ]);
  const { messages, turns } = await world.session.read();
  expect(turns).toBe(1);
  expect(messages[3]).toMatchObject({ origin: { kind: "input" } });
});

test("S4 what is sent while the model gives its answer is answered too, in the same turn", async () => {
  const told = Promise.withResolvers<void>();
  const model = plays(async function* () {
    yield text("The first answer.");
    await told.promise;
    yield end;
  }, answers("The second answer."));
  await using world = await open(model);
  const turn = world.session.turn("First?");
  await seen(turn, "text");
  await world.session.send("Second?");
  told.resolve();
  expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "The second answer." });
  expect((await world.session.read()).messages.map(wordsOf)).toEqual([
    "First?",
    "The first answer.",
    "Second?",
    "The second answer.",
  ]);
});

/** Resolves when the session has this many turns behind it. */
async function turnsOf(session: Session, count: number): Promise<void> {
  for (let tries = 0; (await session.read()).turns < count; tries++) {
    if (tries > 200) throw new Error(`${(await session.read()).turns} of ${count} turns came.`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("S4 what is sent to an idle session is a turn", async () => {
  await using world = await open(echo());
  const { turnId } = await world.session.send("Hello.");
  await turnsOf(world.session, 1);
  expect((await world.session.read()).messages.map(wordsOf)).toEqual(["Hello.", "re: Hello."]);
  expect(await world.session.cancel(turnId)).toMatchObject({ kind: "already-completed" });
});

test("S4 what is sent for the next turn waits for it, and is not seen by the running one", async () => {
  const told = Promise.withResolvers<void>();
  const model = plays(async function* () {
    yield text("One.");
    await told.promise;
    yield end;
  }, answers("Two."));
  await using world = await open(model);
  const turn = world.session.turn("First.");
  await seen(turn, "text");
  await world.session.send("Later.", { at: "next-turn" });
  told.resolve();
  expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "One." });
  await turnsOf(world.session, 2);
  expect((await world.session.read()).messages.map(wordsOf)).toEqual(["First.", "One.", "Later.", "Two."]);
});

test("S4 what was sent too late for a cancelled turn is the next turn", async () => {
  const model = plays(talksOn("So "), answers("Two."));
  await using world = await open(model);
  const turn = world.session.turn("First.");
  await seen(turn, "text");
  await world.session.send("Second.");
  await turn.cancel();
  expect((await turn.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
  await turnsOf(world.session, 2);
  expect((await world.session.read()).messages.map(wordsOf)).toEqual(["First.", "So ", "Second.", "Two."]);
});

test("S4 whenever inputs are sent, each is in the conversation once, in the order of its kind, and none is left", async () => {
  const plan = fc.array(fc.tuple(fc.nat(60), fc.boolean()), { minLength: 1, maxLength: 5 });
  const kept = fc.asyncProperty(plan, async (sends) => {
    await using world = await open(echo());
    const turn = world.session.turn("0");
    for (const [index, [wait, isNext]] of sends.entries()) {
      await ticks(wait);
      await world.session.send(`${index + 1}`, { at: isNext ? "next-turn" : "boundary" });
    }
    await turn.result();
    const last = await world.session.turn("last").result();
    expect(last.branch).toBeUndefined();
    const said = (await world.session.read()).messages.filter(({ role }) => role === "user").map(wordsOf);
    expect(said).toHaveLength(sends.length + 2);
    expect([...said].sort()).toEqual([...["0", ...sends.map((_, index) => `${index + 1}`), "last"]].sort());
    expect(said.at(-1)).toBe("last");
    for (const kind of [true, false]) {
      const sent = sends.flatMap(([, isNext], index) => (isNext === kind ? [`${index + 1}`] : []));
      expect(said.filter((words) => sent.includes(words))).toEqual(sent);
    }
  });
  await fc.assert(kept, { numRuns: sample(20, 120) });
});

// ── Long lives ──────────────────────────────────────────────────────────────────────────────────────────────────────

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
const heap = (): number => {
  collect();
  return process.memoryUsage().heapUsed;
};

test("S3 a thousand turns leave no listener behind and little memory", async () => {
  const signals = new Set<AbortSignal>();
  const look = defineTool({
    name: "look",
    description: "Looks.",
    input: { type: "object" },
    execute: async (_, { signal }) => {
      if (signals.size < 2_000) signals.add(signal);
      return "Nothing.";
    },
  });
  let round = 0;
  const model = {
    id: "busy",
    modelId: "test",
    async *stream(_: unknown, { signal }: { readonly signal: AbortSignal }) {
      if (signals.size < 2_000) signals.add(signal);
      yield round++ % 2 === 0 ? call("look") : text("Done.");
      yield end;
    },
  };
  const controller = new AbortController();
  await using world = await open(model, { tools: [look] });
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn++) {
      const session = await world.runtime.session();
      await session.turn("Go.", { signal: controller.signal }).result();
      await session.close();
    }
  };
  await turns(200);
  signals.clear();
  const before = heap();
  await turns(1_000);
  for (const signal of signals) expect(getEventListeners(signal, "abort")).toEqual([]);
  expect(signals.size).toBe(2_000);
  signals.clear();
  expect(getEventListeners(controller.signal, "abort")).toEqual([]);
  expect((heap() - before) / 1_000, "bytes per turn, with its history and its kept journal").toBeLessThan(7_500);
});
