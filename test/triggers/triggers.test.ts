import { definePlugin, defineTool, defineTrigger, type Session, type Store } from "bowline";
import type { Occurrence } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { calls, recited, says, simulatedWorld } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { listener } from "../kit/models.ts";
import { codeOf, eventually as comes, saidIn, signalOf } from "../kit/reading.ts";
import { file, STORES } from "../kit/stores.ts";
import { open, running, runningOn } from "../kit/worlds.ts";

const eventually: typeof comes = (look, ms = 8_000) => comes(look, ms);

const mail = defineTrigger({
  name: "mail.received",
  description: "A mail came.",
  payload: z.object({ from: z.string(), subject: z.string() }),
});
const LETTER = { from: "ada", subject: "Knots" };

/** Declares mail, and has a task that notes what it is given. */
const mailing = (read: unknown[] = []) =>
  definePlugin({
    id: "acme/mail",
    setup: ({ task }) => ({
      triggers: [mail, { name: "mail.lost" }],
      operations: {
        read: task({ input: z.any(), run: ({ input }) => void read.push(input) }),
        clean: task({ run: () => void read.push("cleaned") }),
        sort: task({ input: z.object({ from: z.string() }), run: () => {} }),
      },
    }),
  });

const opened = (session: Session): Promise<readonly string[]> =>
  eventually(async () => {
    const said = await saidIn(session);
    return said.length > 0 && (await session.inputs.list()).length === 0 ? said : undefined;
  });

describe.each(STORES)("on %s", (_, store) => {
  test("J7 an event starts a turn here and a job there, once for each key, and returns what it started", async () => {
    const read: unknown[] = [];
    await using world = await open(listener(), { store: store(), plugins: [mailing(read)] });
    const { runtime, session } = world;
    const other = await runtime.session("other");
    await session.triggers.subscribe({ id: "answer", on: { event: mail }, send: "Answer this mail." });
    await other.triggers.subscribe({ id: "file", on: { event: mail }, operation: "acme/mail.read" });
    const [first, second] = await Promise.all([
      runtime.triggers.emit(mail, LETTER, { key: "7" }),
      runtime.triggers.emit(mail, LETTER, { key: "7" }),
    ]);
    expect(second).toEqual(first);
    expect(first).toMatchObject({ source: "event:mail.received", payload: LETTER });
    expect(first.deliveries.map(({ sessionId, subscription }) => [sessionId, subscription]).sort()).toEqual(
      [
        [session.id, "answer"],
        ["other", "file"],
      ].sort(),
    );
    const [words] = await opened(session);
    expect(words).toMatch(/^Answer this mail\.\n\n\[Trigger\] "answer": mail\.received \{/);
    await eventually(() => (read.length === 1 ? true : undefined));
    expect(read).toEqual([LETTER]);
    const turn = first.deliveries.find(({ subscription }) => subscription === "answer")?.turnId;
    expect((await session.follow(turn ?? "").result()).outcome.kind).toBe("answered");
    expect(await codeOf(runtime.triggers.emit(mail, { ...LETTER, from: "bob" }, { key: "7" }))).toBe(
      "trigger.occurred",
    );
    expect(await runtime.triggers.occurrences({ event: "mail.received" })).toEqual([first]);
    expect(await saidIn(session)).toHaveLength(1);
  });

  test("J7 without a key every event is separate; with a source only subscriptions to this source, or to none, are started", async () => {
    const read: unknown[] = [];
    await using world = await open(listener(), { store: store(), plugins: [mailing(read)] });
    const { triggers } = world.session;
    const starts = { operation: "acme/mail.read" } as const;
    await triggers.subscribe({ id: "all", on: { event: mail }, ...starts });
    await triggers.subscribe({ id: "work", on: { event: mail, source: "work" }, ...starts, input: "work" });
    await triggers.subscribe({ id: "home", on: { event: "mail.received", source: "home" }, ...starts, input: "home" });
    const subscribers = async (source?: string) =>
      (await triggers.emit(mail, LETTER, { source })).deliveries.map(({ subscription }) => subscription).sort();
    expect(await subscribers("work")).toEqual(["all", "work"]);
    expect(await subscribers("home")).toEqual(["all", "home"]);
    expect(await subscribers()).toEqual(["all"]);
    await eventually(() => (read.length === 5 ? true : undefined));
    expect(read.filter((each) => each === "work")).toHaveLength(1);
    expect(await triggers.occurrences({ subscription: "work" })).toHaveLength(1);
    expect(await triggers.occurrences({ event: mail, max: 2 })).toHaveLength(2);
    const [newest] = await triggers.occurrences();
    expect(await triggers.occurrences({ before: newest?.id ?? "" })).toHaveLength(2);
  });

  test("J7 a subscription has revisions: it is changed, disabled and removed only as it was read", async () => {
    await using world = await open(listener(), { store: store(), plugins: [mailing()] });
    const { triggers } = world.session;
    const made = await triggers.subscribe({ id: "s", on: { event: mail }, send: "Answer." });
    expect(made).toMatchObject({ id: "s", revision: 1, isEnabled: true, label: "s" });
    expect(await triggers.subscribe({ id: "s", on: { event: mail }, send: "Answer." })).toEqual(made);
    const others: readonly (readonly [object, readonly string[]])[] = [
      [{ on: { event: mail }, send: "Ignore." }, ["send"]],
      [{ on: { event: mail, source: "work" }, send: "Answer.", label: "Mail" }, ["label", "on.source"]],
      [{ on: { everyMs: 5_000 }, operation: READ }, ["on", "send", "operation"]],
    ];
    for (const [other, fields] of others)
      await expect(triggers.subscribe({ id: "s", ...other } as never)).rejects.toMatchObject({
        code: "trigger.conflict",
        details: { fields },
      });
    const off = await triggers.update("s", { isEnabled: false }, { revision: 1 });
    expect(off).toMatchObject({ revision: 2, isEnabled: false, starts: { text: "Answer." } });
    expect(await triggers.update("s", { isEnabled: false, send: "Answer." })).toEqual(off); // Nothing has changed.
    expect(await codeOf(triggers.update("s", { label: "Mail" }, { revision: 1 }))).toBe("trigger.conflict");
    expect((await triggers.emit(mail, LETTER)).deliveries).toEqual([]);
    const on = await triggers.update("s", { isEnabled: true, label: "Mail", send: "Read." });
    expect(on).toMatchObject({ revision: 3, label: "Mail", starts: { kind: "turn", text: "Read." } });
    expect((await triggers.emit(mail, LETTER)).deliveries).toMatchObject([{ revision: 3 }]);
    expect(await codeOf(triggers.remove("s", { revision: 2 }))).toBe("trigger.conflict");
    expect(await triggers.remove("s", { revision: 3 })).toBe(true);
    expect(await triggers.remove("s")).toBe(false);
    expect(await codeOf(triggers.get("s"))).toBe("trigger.missing");
    expect(await triggers.list()).toEqual([]);
    await Promise.all(
      Array.from({ length: 10 }, (_, at) =>
        triggers.subscribe({ id: `p${at % 2}`, on: { event: mail }, send: "Once." }),
      ),
    );
    expect((await triggers.list()).map(({ id, revision }) => [id, revision])).toEqual([
      ["p0", 1],
      ["p1", 1],
    ]);
    await Promise.all(Array.from({ length: 5 }, (_, at) => triggers.update("p0", { label: `${at}` })));
    expect((await triggers.get("p0")).revision).toBe(6);
  });

  test("J7 each commit of the session is delivered once, except for commits of turns that the subscription started", async () => {
    const read: unknown[] = [];
    await using world = await open(listener(), { store: store(), plugins: [mailing(read)] });
    const { session } = world;
    await session.turn("Before.").result();
    await session.triggers.subscribe({ id: "turns", on: { commits: true }, send: "Review the turn." });
    await session.triggers.subscribe({ id: "index", on: { commits: true }, operation: "acme/mail.read" });
    const { turnId } = await session.turn("After.").result();
    await eventually(() => (read.length === 2 ? true : undefined));
    expect(read[0]).toMatchObject({ turnId, sessionId: session.id, outcome: { kind: "answered" } });
    const reviews = (await saidIn(session)).filter((words) => words.startsWith("Review"));
    expect(reviews).toHaveLength(1);
    expect(reviews[0]).toContain(turnId);
    expect(await session.triggers.occurrences({ subscription: "turns" })).toHaveLength(1);
    expect(await session.triggers.occurrences({ subscription: "index" })).toHaveLength(2);
  });

  test("J7 subscriptions to commits do not start each other: what opens turns is not told of what triggers opened", async () => {
    const read: unknown[] = [];
    await using world = await open(listener(), { store: store(), plugins: [mailing(read)] });
    const { session } = world;
    const on = { commits: true } as const;
    for (const id of ["one", "two"]) await session.triggers.subscribe({ id, on, send: `Review ${id}.` });
    await session.triggers.subscribe({ id: "wakes", on, operation: "acme/mail.read", wake: "wake" });
    await session.triggers.subscribe({ id: "index", on, operation: "acme/mail.read" });
    await session.turn("Hello.").result();
    // The turn itself, two reviews, and one that the end of the job opened: all of them are indexed.
    await eventually(async () =>
      (await session.triggers.occurrences({ subscription: "index" })).length === 4 ? 1 : undefined,
    );
    for (const id of ["one", "two", "wakes"])
      expect(await session.triggers.occurrences({ subscription: id })).toHaveLength(1);
    await eventually(() => (read.length === 5 ? true : undefined));
    expect((await session.read()).turns).toBe(4);
  });

  test("J7 a task that takes no input is started by events and schedules all the same", async () => {
    const read: unknown[] = [];
    const clock = simulatedWorld();
    await using world = await open(listener(), { store: store(), plugins: [mailing(read)], world: clock });
    const { triggers } = world.session;
    await triggers.subscribe({ id: "event", on: { event: mail }, operation: "acme/mail.clean" });
    await triggers.subscribe({ id: "time", on: { everyMs: 1_000 }, operation: "acme/mail.clean" });
    await triggers.emit(mail, LETTER);
    await clock.advance(1_000);
    await eventually(() => (read.length === 2 ? true : undefined));
    await triggers.remove("time");
  });

  test("J7 a key whose occurrence is no longer kept starts work again", async () => {
    await using world = await open(listener(), {
      store: store(),
      plugins: [mailing()],
      limits: { occurrencesMax: 1 },
    });
    const { session, runtime } = world;
    await session.triggers.subscribe({ id: "s", on: { event: mail }, send: "Answer." });
    for (const [at, key] of ["one", "two", "one"].entries()) {
      const { deliveries } = await runtime.triggers.emit(mail, { ...LETTER, subject: `${at}` }, { key });
      await session.jobs.await(deliveries.flatMap(({ jobId }) => jobId ?? []));
      const emittedAt = Date.now(); // A delivery is named by its key and millisecond.
      await eventually(() => Date.now() > emittedAt || undefined);
    }
    const third = async () => ((await saidIn(session)).length === 3 ? true : undefined);
    await eventually(third);
  });

  test("J7 deliveries fill half of what may wait in a session: the rest is for people", async () => {
    const free = signalOf();
    await using world = await open(
      listener(() => free.promise),
      { store: store(), plugins: [mailing()], limits: { pendingInputsMax: 6 } },
    );
    const { session, runtime } = world;
    await session.triggers.subscribe({ id: "s", on: { event: mail }, send: "Answer." });
    const turn = session.turn("Wait.");
    await turn.id;
    const lost: unknown[] = [];
    for (let at = 0; at < 8; at++) {
      const [delivery] = (await runtime.triggers.emit(mail, LETTER)).deliveries;
      lost.push(delivery?.lost);
      if (delivery?.jobId !== undefined) await session.jobs.await([delivery.jobId]);
    }
    expect(lost.filter((each) => each === "full").length).toBeGreaterThanOrEqual(4);
    await session.send("I am a person.");
    free.resolve();
    await turn.result();
  });

  test("J7 a payload of megabytes without a space is kept in no time, also after a blob was put", async () => {
    const put = defineTool({
      name: "put",
      description: "Puts.",
      input: z.object({}),
      execute: async (_, { blobs }) => blobs.put(new Uint8Array(10)),
    });
    const model = recited(calls("put", {}, "1"), says("Put."));
    await using world = await open(model, { store: store(), plugins: [mailing()], tools: [put] });
    await world.session.turn("Put.").result();
    const { payload } = await world.runtime.triggers.emit("mail.lost", "x".repeat(7_000_000));
    expect((payload as string).length).toBe(7_000_000);
  });

  test("J7 K18 in a turn an event and a subscription are named after the call: a rerun repeats neither", async () => {
    const tell = defineTool({
      name: "tell",
      description: "Tells.",
      input: z.object({}),
      execute: async (_, { triggers }) => {
        const { id } = await triggers.subscribe({ on: { event: mail }, send: "Answer." });
        const told = await triggers.emit(mail, LETTER);
        const again = await triggers.emit(mail, LETTER);
        return { id, isTold: told.id !== again.id, declared: triggers.declared().map(({ name }) => name) };
      },
    });
    const model = recited(calls("tell", {}, "1"), says("Told."), says("One."), says("Two."));
    await using world = await open(model, { store: store(), tools: [tell], plugins: [mailing()] });
    await world.session.turn("Tell.").result();
    expect(await world.session.triggers.list()).toHaveLength(1);
    expect(await world.session.triggers.occurrences()).toHaveLength(2);
    const results = (await world.session.read()).messages.find(({ role }) => role === "tool");
    expect(JSON.stringify(results)).toContain("mail.lost");
  });

  test("J7 a session reads its deliveries, and nothing of other sessions' deliveries", async () => {
    await using world = await open(listener(), { store: store(), plugins: [mailing()] });
    const { runtime, session } = world;
    const other = await runtime.session("other");
    await session.triggers.subscribe({ id: "mine", on: { event: mail, source: "mine" }, send: "Answer." });
    await other.triggers.subscribe({ id: "all", on: { event: mail }, send: "Answer." });
    await runtime.triggers.emit(mail, LETTER, { source: "mine" });
    await runtime.triggers.emit(mail, LETTER, { source: "theirs" });
    const own = await session.triggers.occurrences();
    expect(own.map(({ deliveries }) => deliveries.map(({ subscription }) => subscription))).toEqual([["mine"]]);
    expect(await other.triggers.occurrences()).toHaveLength(2);
    expect((await runtime.triggers.occurrences()).map(({ deliveries }) => deliveries.length)).toEqual([1, 2]);
  });

  test("J7 a session that is deleted takes its subscriptions along, and starts nothing", async () => {
    await using world = await open(listener(), { store: store(), plugins: [mailing()] });
    const { runtime } = world;
    const other = await runtime.session("other");
    await other.triggers.subscribe({ id: "s", on: { event: mail }, send: "Answer." });
    expect(await runtime.triggers.list()).toHaveLength(1);
    await other.close();
    await runtime.sessions.delete("other");
    expect(await runtime.triggers.list()).toEqual([]);
    expect((await runtime.triggers.emit(mail, LETTER)).deliveries).toEqual([]);
    expect(await codeOf(runtime.triggers.of("other").list())).toBe("session.unknown");
  });

  test("J7 the newest occurrences are kept, with the jobs that they started; a full session loses deliveries and reports it", async () => {
    const limits = { occurrencesMax: 3, jobsMax: 2 };
    await using world = await open(listener(), { store: store(), plugins: [mailing()], limits });
    const { session, runtime } = world;
    await session.triggers.subscribe({ id: "s", on: { event: mail }, operation: "acme/mail.read" });
    for (let at = 0; at < 5; at++) {
      const { deliveries } = await runtime.triggers.emit(mail, LETTER, { key: `${at}` });
      await session.jobs.await(deliveries.flatMap(({ jobId }) => jobId ?? []));
    }
    expect(await runtime.triggers.occurrences()).toHaveLength(3);
    expect(await session.jobs.list()).toHaveLength(3);
    for (const label of ["one", "two"]) await session.jobs.register({ label });
    expect((await runtime.triggers.emit(mail, LETTER)).deliveries).toMatchObject([{ subscription: "s", lost: "full" }]);
  });
});

// ── Schedules ───────────────────────────────────────────────────────────────────────────────────────────────────────

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const timesOf = (occurrences: readonly Occurrence[]): readonly string[] =>
  occurrences.map(({ at }) => new Date(at).toISOString()).toReversed();

/** A runtime whose time passes when the test says so. */
async function timed(store: Store, now: string, name = "") {
  const world = simulatedWorld({ now: Date.parse(now), name });
  const runtime = await running({ store, world, model: listener(), plugins: [mailing()] });
  const session = await runtime.session("s");
  return { world, runtime, session, [Symbol.asyncDispose]: () => runtime.close() };
}
const occurred = async (session: Session, id: string) =>
  timesOf(await session.triggers.occurrences({ subscription: id, max: 10_000 }));

describe.each([
  ["memory", () => memory()],
  ["sqlite", () => sqlite(file(), { durability: "process" })],
])("on %s", (_, store) => {
  test("J7 cron keeps to its time zone over both changes of daylight saving", async () => {
    await using it = await timed(store(), "2026-03-28T00:00:00Z");
    const { session, world } = it;
    await session.triggers.subscribe({
      id: "night",
      on: { cron: "30 2 * * *", timeZone: "Europe/Berlin" },
      send: "Report.",
    });
    await session.triggers.subscribe({
      id: "noon",
      on: { cron: "0 12 * * *", timeZone: "Europe/Berlin" },
      send: "Noon.",
    });
    for (let day = 0; day < 6; day++) await world.jump(DAY / 2);
    // On the 29th there is no half past two: it occurs when that hour is over.
    expect(await occurred(session, "night")).toEqual([
      "2026-03-28T01:30:00.000Z",
      "2026-03-29T01:00:00.000Z",
      "2026-03-30T00:30:00.000Z",
    ]);
    expect(await occurred(session, "noon")).toEqual([
      "2026-03-28T11:00:00.000Z",
      "2026-03-29T10:00:00.000Z",
      "2026-03-30T10:00:00.000Z",
    ]);
    await using autumn = await timed(memory(), "2026-10-24T12:00:00Z");
    await autumn.session.triggers.subscribe({
      id: "night",
      on: { cron: "30 2 * * *", timeZone: "Europe/Berlin" },
      send: "Report.",
    });
    for (let day = 0; day < 2; day++) await autumn.world.jump(DAY);
    // On the 25th there are two: it occurs once.
    expect(await occurred(autumn.session, "night")).toEqual(["2026-10-25T00:30:00.000Z", "2026-10-26T01:30:00.000Z"]);
  });

  test("J7 an interval occurs at its times, each starts one turn, and none comes while it is not enabled", async () => {
    await using it = await timed(store(), "2026-01-01T00:00:00Z");
    const { session, world } = it;
    const made = await session.triggers.subscribe({ id: "tick", on: { everyMs: 60_000 }, send: "Tick." });
    expect(made.next).toBe(Date.parse("2026-01-01T00:01:00Z"));
    await world.advance(3 * 60_000 + 100);
    expect(await occurred(session, "tick")).toHaveLength(3);
    expect((await session.triggers.update("tick", { isEnabled: false })).next).toBe(undefined);
    await world.jump(HOUR);
    await session.triggers.update("tick", { isEnabled: true });
    await world.advance(60_000);
    expect(await occurred(session, "tick")).toHaveLength(4);
    expect((await saidIn(session)).filter((words) => words.startsWith("Tick."))).toHaveLength(4);
  });
});

describe("times at which no process was there", () => {
  /** Nobody is there from midnight until `back`. */
  async function missed(policy: "skip" | "once" | "all", back: string): Promise<readonly string[]> {
    const path = file();
    const on = { cron: "0 * * * *", missed: policy };
    {
      await using before = await timed(sqlite(path, { durability: "process" }), "2026-01-01T00:00:00Z", "a");
      await before.session.triggers.subscribe({ id: "hourly", on, send: "Report." });
    }
    await using after = await timed(sqlite(path, { durability: "process" }), back, "b");
    await eventually(
      async () => ((await after.session.triggers.get("hourly")).next ?? 0) > Date.parse(back) || undefined,
    );
    await after.world.jump(Date.parse("2026-01-01T05:00:00Z") - Date.parse(back));
    return (await occurred(after.session, "hourly")).map((time) => time.slice(11, 16));
  }

  test.each([
    ["skip", "2026-01-01T04:30:00Z", ["05:00"]],
    ["skip", "2026-01-01T04:00:30Z", ["04:00", "05:00"]],
    ["once", "2026-01-01T04:30:00Z", ["04:00", "05:00"]],
    ["all", "2026-01-01T04:30:00Z", ["01:00", "02:00", "03:00", "04:00", "05:00"]],
  ] as const)("J7 with `%s` at %s", async (policy, back, times) => {
    expect(await missed(policy, back)).toEqual(times);
  });
});

test.each([
  ["an hour", HOUR, "*/10 * * * *", 10],
  ["a day", DAY, "10 */2 * * *", 120],
] as const)(
  "J7 a clock that jumps %s ahead and back: what occurred is not repeated, and what did not occurs at its time",
  async (_, jump, cron, every) => {
    const minutes = 60_000;
    await using it = await timed(sqlite(file(), { durability: "process" }), "2026-01-01T00:00:00Z");
    const { session, world } = it;
    await session.triggers.subscribe({ id: "tick", on: { cron }, send: "Tick." });
    await world.jump(11 * minutes);
    expect(await occurred(session, "tick")).toEqual(["2026-01-01T00:10:00.000Z"]);
    await world.jump(jump);
    const ahead = new Date(Date.parse("2026-01-01T00:10:00Z") + jump).toISOString();
    expect(await occurred(session, "tick")).toEqual(["2026-01-01T00:10:00.000Z", ahead]);
    await world.jump(-jump);
    await world.advance(1_000); // A process looks once a second.
    const expected = ["2026-01-01T00:10:00.000Z"];
    for (let passed = 0; passed < jump; passed += every * minutes) await world.jump(every * minutes);
    for (let at = (10 + every) * minutes; at <= 10 * minutes + jump; at += every * minutes)
      expected.push(new Date(Date.parse("2026-01-01T00:00:00Z") + at).toISOString());
    expect((await occurred(session, "tick")).toSorted()).toEqual(expected);
    expect((await saidIn(session)).filter((words) => words.includes(ahead))).toHaveLength(1);
  },
);

test("J7 a clock that goes back further than what is kept repeats nothing", async () => {
  const world = simulatedWorld();
  await using runtime = await running({
    store: memory(),
    world,
    model: listener(),
    plugins: [mailing()],
    limits: { occurrencesMax: 5 },
  });
  const session = await runtime.session("s");
  await session.triggers.subscribe({ id: "tick", on: { cron: "* * * * *" }, send: "Tick." });
  for (let minute = 0; minute < 20; minute++) await world.jump(60_000);
  await world.jump(-20 * 60_000);
  await world.advance(1_000);
  for (let minute = 0; minute < 22; minute++) await world.jump(60_000);
  const said = await saidIn(session);
  expect(said.length).toBeGreaterThanOrEqual(21);
  expect(new Set(said).size).toBe(said.length);
});

test("J7 a process that comes with a clock an hour behind is not silent until it has caught up", async () => {
  const path = file();
  {
    await using fast = await timed(sqlite(path, { durability: "process" }), "2026-01-01T01:00:00Z", "a");
    await fast.session.triggers.subscribe({ id: "tick", on: { cron: "* * * * *" }, send: "Tick." });
    await fast.world.advance(60_000);
    expect(await occurred(fast.session, "tick")).toEqual(["2026-01-01T01:01:00.000Z"]);
  }
  await using slow = await timed(sqlite(path, { durability: "process" }), "2026-01-01T00:00:00Z", "b");
  await slow.world.advance(120_000);
  const times = ["2026-01-01T00:01:00.000Z", "2026-01-01T00:02:00.000Z", "2026-01-01T01:01:00.000Z"];
  expect((await occurred(slow.session, "tick")).toSorted()).toEqual(times);
});

// ── What is wrong ───────────────────────────────────────────────────────────────────────────────────────────────────

const EVENT = { event: "mail.received" };
test.each([
  ["nothing to wait for", { send: "Hi." }, "trigger.invalid"],
  ["two things to wait for", { on: { ...EVENT, cron: "* * * * *" }, send: "Hi." }, "trigger.invalid"],
  ["nothing to start", { on: EVENT }, "trigger.invalid"],
  ["two things to start", { on: EVENT, send: "Hi.", operation: "acme/mail.read" }, "trigger.invalid"],
  ["an input for a turn", { on: EVENT, send: "Hi.", input: 1 }, "trigger.invalid"],
  ["nonsense for cron", { on: { cron: "soon" }, send: "Hi." }, "trigger.invalid"],
  ["minute 61", { on: { cron: "61 * * * *" }, send: "Hi." }, "trigger.invalid"],
  ["a time that never comes", { on: { cron: "0 0 30 2 *" }, send: "Hi." }, "trigger.invalid"],
  ["a date for cron", { on: { cron: "2027-01-01T00:00:00" }, send: "Hi." }, "trigger.invalid"],
  ["a zone on Mars", { on: { cron: "0 0 * * *", timeZone: "Mars/Olympus" }, send: "Hi." }, "trigger.invalid"],
  ["a zone for an interval", { on: { everyMs: 5_000, timeZone: "UTC" }, send: "Hi." }, "trigger.invalid"],
  ["an interval of nothing", { on: { everyMs: 0 }, send: "Hi." }, "trigger.invalid"],
  ["an interval of ages", { on: { everyMs: 9e15 }, send: "Hi." }, "trigger.invalid"],
  ["an interval without end", { on: { everyMs: Infinity }, send: "Hi." }, "trigger.invalid"],
  ["an unknown policy", { on: { everyMs: 5_000, missed: "some" }, send: "Hi." }, "trigger.invalid"],
  ["an unknown event", { on: { event: "mail.burnt" }, send: "Hi." }, "trigger.unknown"],
  ["an unknown task", { on: EVENT, operation: "acme/mail.burn" }, "operation.unknown"],
  ["a task whose plugin is not installed", { on: EVENT, operation: "acme/post.read" }, "operation.unknown"],
  ["a task that cannot use a time", { on: { everyMs: 5_000 }, operation: "acme/mail.sort" }, "operation.input"],
  ["work that no plugin has", { on: EVENT, operation: "bowline/monitors.watch" }, "operation.unknown"],
  ["a task without its plugin's name", { on: EVENT, operation: "read" }, "trigger.invalid"],
  ["an input that is not JSON", { on: EVENT, operation: "acme/mail.read", input: () => 1 }, "trigger.invalid"],
  ["an unknown option", { on: EVENT, send: "Hi.", when: 1 }, "options.unknown"],
  ["an unknown field of `on`", { on: { ...EVENT, from: 1 }, send: "Hi." }, "options.unknown"],
  ["an empty id", { id: "", on: EVENT, send: "Hi." }, "options.invalid"],
])("J7 a subscription with %s is refused, and nothing is kept", async (_, options, code) => {
  await using world = await open(listener(), { plugins: [mailing()] });
  expect(await codeOf(world.session.triggers.subscribe(options as never))).toBe(code);
  expect(await world.session.triggers.list()).toEqual([]);
});

const READ = "acme/mail.read";
const UNPRINTABLE = {
  toString() {
    throw new Error("This value has no text.");
  },
  toJSON: () => "unprintable",
};
test.each([
  ["on", { send: "Hi." }, "is missing", "`everyMs`"],
  ["on", { on: { ...EVENT, cron: "* * * * *" }, send: "Hi." }, "has event and cron", "exactly one"],
  ["on", { on: {}, send: "Hi." }, "has none of", "exactly one"],
  ["on.event", { on: { event: 7 }, send: "Hi." }, "not an event", "mail.received"],
  ["on.cron", { on: { cron: "30 25 * * *" }, send: "Hi." }, 'its hour cannot be "25"', "hour (0-23)"],
  ["on.cron", { on: { cron: "0 0 32 * *" }, send: "Hi." }, 'its day cannot be "32"', "day (1-31)"],
  ["on.cron", { on: { cron: "0 0 1 13 *" }, send: "Hi." }, 'its month cannot be "13"', "month (1-12)"],
  ["on.cron", { on: { cron: "70 0 0 1 1 *" }, send: "Hi." }, 'its second cannot be "70"', "second (0-59)"],
  ["on.cron", { on: { cron: "soon" }, send: "Hi." }, "5 or 6 fields", "30 2 * * *"],
  ["on.cron", { on: { cron: "0 0 30 2 *" }, send: "Hi." }, "never occurs", "30 2 * * *"],
  ["on.cron", { on: { cron: 5 }, send: "Hi." }, "not a text", "30 2 * * *"],
  ["on.timeZone", { on: { cron: "0 0 * * *", timeZone: "Mars/Olympus" }, send: "Hi." }, "Mars", "Europe/Berlin"],
  ["on.timeZone", { on: { everyMs: 5_000, timeZone: "UTC" }, send: "Hi." }, "`everyMs`", "together with `cron`"],
  ["on.everyMs", { on: { everyMs: 10 }, send: "Hi." }, "is 10,", "at least 1,000"],
  ["on.everyMs", { on: { everyMs: UNPRINTABLE }, send: "Hi." }, "is [object],", "at least 1,000"],
  ["on.missed", { on: { everyMs: 5_000, missed: "some" }, send: "Hi." }, "skip, once, all", '"skip"'],
  ["on.commits", { on: { commits: false }, send: "Hi." }, "is not true", "`commits: true`"],
  ["send", { on: EVENT }, "are both missing", "`operation`"],
  ["send", { on: EVENT, send: "Hi.", operation: READ }, "does not go with `operation`", "either"],
  ["send", { on: EVENT, send: " " }, "is empty or not a text", "opens a turn"],
  ["operation", { on: EVENT, operation: "read" }, "without the plugin", "acme/mail.file"],
  ["operation", { on: EVENT, operation: "" }, "the name of a task", "acme/mail.file"],
  ["operation", { on: EVENT, operation: "__proto__.x", isElsewhere: true }, "cannot be the name", "acme/mail.file"],
  ["operation", { on: EVENT, operation: "..", isElsewhere: true }, 'is ".."', "acme/mail.file"],
  ["input", { on: EVENT, send: "Hi.", input: 1 }, "does not go with `send`", "together with `operation`"],
  ["input", { on: EVENT, operation: READ, input: () => 1 }, "is not JSON", "a JSON value"],
  ["isElsewhere", { on: EVENT, send: "Hi.", isElsewhere: true }, "does not go with `send`", "with `operation`"],
  ["isElsewhere", { on: EVENT, operation: READ, isElsewhere: 1 }, "is not true or false", "true or false"],
  ["isElsewhere", { on: EVENT, operation: READ, isElsewhere: null }, "is not true or false", "true or false"],
  ["wake", { on: EVENT, operation: READ, wake: null }, "none, notify, wake", '"notify"'],
  ["wake", { on: EVENT, operation: READ, wake: "loud" }, "none, notify, wake", '"notify"'],
  ["isEnabled", { on: EVENT, send: "Hi.", isEnabled: "yes" }, "is not true or false", "true or false"],
])(
  "J7 a mistake in `%s` of a subscription names the field and what to write there: %j",
  async (field, options, problem, hint) => {
    await using world = await open(listener(), { plugins: [mailing()] });
    const error: unknown = await world.session.triggers.subscribe(options as never).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: "trigger.invalid",
      details: { field },
      message: expect.stringContaining(`\`${field}\``),
      hint: expect.stringContaining(hint),
    });
    expect(String(error)).toContain(problem);
  },
);

test("J7 events that nobody declares, and payloads that do not fit, are refused before anything is kept", async () => {
  await using world = await open(listener(), { plugins: [mailing()], limits: { subscriptionsMax: 1 } });
  const { triggers } = world.runtime;
  expect(await codeOf(triggers.emit("mail.burnt", {}))).toBe("trigger.unknown");
  expect(await codeOf(triggers.emit("mail.received", { from: 7 }))).toBe("trigger.payload");
  expect(await codeOf(triggers.emit("mail.lost", (() => 1) as never))).toBe("trigger.payload");
  expect(await codeOf(triggers.emit("mail.lost", null, { key: "" }))).toBe("options.invalid");
  expect(await triggers.occurrences()).toEqual([]);
  await world.session.triggers.subscribe({ on: { event: mail }, send: "One." });
  expect(await codeOf(world.session.triggers.subscribe({ on: { event: mail }, send: "Two." }))).toBe("trigger.full");
});

test("J7 a process without the plugin subscribes its task only with `isElsewhere`, and may change it afterwards", async () => {
  await using world = await open(listener(), { plugins: [mailing()] });
  const { triggers, jobs } = world.session;
  const post = { id: "post", on: { event: mail }, operation: "acme/post.read" };
  const refused = triggers.subscribe(post);
  await expect(refused).rejects.toMatchObject({ code: "operation.unknown", details: { nearest: READ } });
  const { starts } = await triggers.subscribe({ ...post, isElsewhere: true });
  expect(starts).toEqual({ kind: "job", operation: "acme/post.read", wake: "none" });
  expect(await triggers.update("post", { wake: "notify" })).toMatchObject({ starts: { wake: "notify" } });
  expect(await codeOf(triggers.update("post", { operation: "acme/post.file" }))).toBe("operation.unknown");
  await triggers.emit(mail, LETTER);
  expect(await jobs.list()).toMatchObject([{ operation: "acme/post.read", isElsewhere: true }]);
});

test("J7 a wrong field is refused in a change too, also where it is the only one", async () => {
  await using world = await open(listener(), { plugins: [mailing()] });
  const { triggers } = world.session;
  const made = await triggers.subscribe({
    id: "mail",
    on: { event: mail },
    operation: "acme/post.read",
    isElsewhere: true,
  });
  for (const [field, patch] of [
    ["isElsewhere", { isElsewhere: "yes" }],
    ["isElsewhere", { isElsewhere: null }],
    ["operation", { operation: null }],
    ["operation", { operation: "..", isElsewhere: true }],
    ["operation", { operation: `acme/${"x".repeat(1_000_000)}.read`, isElsewhere: true }],
    ["wake", { wake: null }],
    ["on.everyMs", { on: { everyMs: UNPRINTABLE } }],
  ] as const) {
    const error: unknown = await triggers.update("mail", patch as never).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "trigger.invalid", details: { field } });
    expect(String(error).length).toBeLessThan(1_000);
  }
  expect(await codeOf(triggers.update("mail", { isElsewhere: false }))).toBe("operation.unknown");
  expect(await codeOf(triggers.update(UNPRINTABLE as never, {}))).toBe("trigger.missing");
  expect(await triggers.update("mail", { isElsewhere: true })).toEqual(made);
});

test("J7 a job whose plugin is gone waits, and is done when a process comes that has it", async () => {
  const path = file();
  const read: unknown[] = [];
  {
    await using first = await runningOn(path, { plugins: [mailing()] });
    await (await first.session("s")).triggers.subscribe({
      id: "tick",
      on: { everyMs: 1_000, missed: "once" },
      operation: "acme/mail.read",
    });
  }
  {
    await using without = await runningOn(path, {});
    const session = await without.session("s");
    const job = await eventually(async () => (await session.jobs.list())[0]);
    expect(job).toMatchObject({ state: "running", starts: 0, about: { trigger: "tick" }, isElsewhere: true });
  }
  await using again = await runningOn(path, { plugins: [mailing(read)] });
  await eventually(() => (read.length > 0 ? true : undefined));
  expect(read[0]).toMatchObject({ at: expect.any(Number) });
  await again.triggers.of("s").remove("tick");
});
