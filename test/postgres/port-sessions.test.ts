import { afterAll, beforeAll, expect, test } from "vitest";
import { asEffectName, asTurnId, asWaitKey } from "../../src/model/ids.ts";
import { NO_USAGE } from "../../src/model/usage.ts";
import type { Pool } from "../../src/stores/postgres/database.ts";
import { postgres } from "../../src/stores/postgres.ts";
import type { Port } from "../../src/stores/rules/port.ts";
import type { Rule } from "../../src/stores/rules/rule.ts";
import {
  APPEND,
  ATTEMPT,
  GONE,
  JOB,
  JOURNAL,
  LEDGER,
  NOTE,
  OCCURRENCE,
  OPERATION_NOTE,
  PROFILE,
  SESSION,
  type SessionRow,
  STATE,
  TAKEN,
  TURN,
  WAIT,
  WAITING,
  WITHDRAWN,
} from "../../src/stores/tables.ts";
import { alice, begin, bob, NOW, newInput, newSession, newWait, send, slept, turn } from "../../src/testing/cast.ts";
import { describePostgres } from "../kit/shared-postgres.ts";
import {
  does,
  Engines,
  IDLE,
  inputLike,
  jobLike,
  newSessions,
  type Opened,
  PLUGIN,
  PROFILED,
  put,
  reads,
  waitLike,
  waits,
} from "./port-kit.ts";
import { ODD } from "./port-rows.ts";

const SPENT = { source: "turn", model: "m", calls: 1, usage: { ...NO_USAGE, input: 3 } };

describePostgres("sessions of rules on Postgres", () => {
  let engines: Engines;
  beforeAll(async () => {
    engines = await Engines.begin();
  });
  afterAll(() => engines.end());

  const EXTRAS = "SELECT waiting, has_more, is_cancelled, optioned, length, turn::int FROM @session WHERE id = 'alice'";
  /** Runs a rule on the session, and answers what its row says then. */
  async function book({ engine, rows }: Opened, rule: (db: Port, session: SessionRow) => Rule<void>) {
    await engine.write(function* (db): Rule<void> {
      yield* rule(db, (yield* db.session(alice))!);
    });
    const [row] = await rows(EXTRAS);
    const { waiting, has_more, is_cancelled } = row!;
    return [waiting, has_more, is_cancelled];
  }

  test("D5 the row of a session counts the waiting inputs, and has the state of its open turn", async () => {
    const opened = engines.open();
    const { engine, rows } = opened;
    const { n } = (await newSessions(engine, alice))[0]!;
    const row = (db: Port, id: string) => db.get(TURN, "id", asTurnId(id));
    await put(engine, PROFILE, [{ ...PROFILED, session: n }]);

    for (const name of ["a", "b", "c"])
      await book(opened, function* (db) {
        yield* db.add(TURN, inputLike(name, { session: n }));
      });
    const said = (count: number, ...rest: readonly boolean[]) => [count, ...rest];
    const withdrawn = book(opened, function* (db) {
      db.update(TURN, (yield* row(db, "c"))!, { state: WITHDRAWN, input: null });
      expect(yield* db.count(TURN, "waiting", n)).toBe(2);
    });
    expect(await withdrawn).toEqual(said(2, false, false));

    const taken = await book(opened, function* (db, session) {
      const turn = db.update(TURN, (yield* row(db, "a"))!, { state: TAKEN });
      db.update(SESSION, session, { turn: turn.n, generation: 1, written: 1, owner: "ann", process: "p", until: NOW });
    });
    expect(taken).toEqual(said(1, false, false));

    const more: readonly ((db: Port, session: SessionRow) => Rule<void>)[] = [
      (db, { turn }) => does(() => db.insert(NOTE, { turn: turn!, effect: asEffectName("e"), key: "k", value: 1 }))(db),
      (db, { turn }) => does(() => db.insert(ATTEMPT, { turn: turn!, effect: asEffectName("e") }))(db),
      function* (db, { turn }) {
        yield* db.add(WAIT, waitLike({ session: n, turn: turn! }));
      },
      function* (db) {
        yield* db.add(JOB, jobLike("child", { session: n, parent: "turn/a" }));
      },
      function* (db, { turn }) {
        db.update(TURN, (yield* row(db, "b"))!, { state: TAKEN, claim: turn!, boundary: asEffectName("b") });
      },
      function* (db) {
        yield* db.add(TURN, inputLike("append", { session: n, aside: APPEND, input: { operation: "op" } }));
      },
    ];
    const counts: unknown[] = [];
    for (const rule of more) {
      await rows("UPDATE @session SET has_more = false");
      counts.push(await book(opened, rule));
    }
    expect(counts).toEqual([1, 1, 1, 1, 0, 1].map((count) => said(count, true, false)));

    // What belongs to a job, or to another turn, is nothing that the open turn has to end.
    await rows("UPDATE @session SET has_more = false");
    const others = await book(opened, function* (db) {
      yield* db.add(WAIT, waitLike({ id: "wai_2", session: n, turn: 0, job: "j" }));
      yield* db.add(JOB, jobLike("other", { session: n, parent: "turn/b" }));
      db.insert(NOTE, { turn: 999, effect: asEffectName("e"), key: "k", value: 1 });
    });
    expect(others).toEqual(said(1, false, false));

    const cancelled = await book(opened, function* (db, { turn }) {
      db.update(TURN, (yield* db.get(TURN, "key", turn!))!, { cancel: { requestId: "c", at: NOW } as never });
    });
    expect(cancelled).toEqual(said(1, false, true));

    const resumed = await book(opened, function* (db, session) {
      db.insert(ATTEMPT, { turn: session.turn!, effect: asEffectName("again") });
      db.update(SESSION, session, { turn: session.turn, generation: 2 });
      expect((yield* db.session(alice))?.generation).toBe(2);
    });
    expect(resumed).toEqual(said(1, true, true));

    const ended = await book(opened, function* (db, session) {
      const claimed = (yield* db.scan(TURN, "claim", [session.turn!]))[0]!;
      db.update(TURN, claimed, { claim: null, boundary: null, state: WAITING });
      db.remove(TURN, (yield* db.scan(TURN, "append", [n]))[0]!);
      db.update(SESSION, session, { turn: null, owner: null, process: null, until: 0, written: 0 });
    });
    expect(ended).toEqual(said(1, false, false));

    const opensCancelled = await book(opened, function* (db, session) {
      const turn = db.update(TURN, (yield* row(db, "b"))!, {
        cancel: { requestId: "c", at: NOW } as never,
        state: TAKEN,
      });
      db.update(SESSION, session, { turn: turn.n });
    });
    expect(opensCancelled).toEqual(said(0, false, true));

    await book(opened, function* (db) {
      const profile = (yield* db.get(PROFILE, "key", n))!;
      db.update(PROFILE, db.update(PROFILE, profile, { options: { a: 1 } }), { config: {} });
    });
    expect((await rows(EXTRAS))[0]).toMatchObject({ optioned: 1, length: 0 });

    const removed = await book(opened, function* (db) {
      yield* db.add(TURN, inputLike("late", { session: n }));
      db.removeAll(TURN, "waiting", n);
      expect(yield* db.count(TURN, "waiting", n)).toBe(0);
    });
    expect(removed).toEqual(said(0, false, true));
  });

  test("D5 what a rule has changed of a session is read again by the same rule", async () => {
    const { engine } = engines.open();
    await newSessions(engine, alice);
    const read = await engine.write(function* (db) {
      const session = (yield* db.session(alice))!;
      const changed = db.update(SESSION, session, { wake: 5, turn: 9, parked: [] });
      const again = yield* db.sessionOf(session.n);
      return [changed, again, yield* db.get(SESSION, "id", alice), (yield* db.scan(SESSION, "wake", []))[0]];
    });
    for (const row of read) expect(row).toEqual({ ...IDLE, id: alice, n: read[0]!.n, wake: 5, turn: 9, parked: [] });
  });

  test("D5 with a session go its facts, its profile and what it has shown, and it is counted", async () => {
    const { engine, rows } = engines.open();
    const [own, other] = await newSessions(engine, alice, bob);
    const { n } = own!;
    await put(engine, PROFILE, [{ ...PROFILED, session: n }]);
    await rows(`INSERT INTO @preview VALUES (${n}, 1, 'x')`);
    const numbers = await engine.write(function* (db) {
      return [yield* db.fact(n, "accepted", 1), yield* db.fact(other!.n, "answered", 2), yield* db.fact(n, "asked", 3)];
    });
    expect(numbers).toEqual([1, 2, 3]);
    const facts = (sessions: readonly number[] | undefined, after = 0, max = Infinity) =>
      engine.read((db): Rule<readonly unknown[]> => reads(db.facts(after, sessions, max)));
    expect(await facts(undefined, 1)).toEqual([
      { n: 2, session: other!.n, kind: "answered", of: 2 },
      { n: 3, session: n, kind: "asked", of: 3 },
    ]);
    expect(await facts([n, other!.n], 0, 2)).toMatchObject([{ n: 1 }, { n: 2 }]);
    expect(await facts([n])).toMatchObject([{ n: 1 }, { n: 3 }]);
    await engine.write(function* (db): Rule<void> {
      db.insert(GONE, { id: alice });
      db.remove(SESSION, (yield* db.session(alice))!);
      expect(yield* db.session(alice)).toBe(undefined);
    });
    expect(await facts(undefined)).toMatchObject([{ n: 2 }]);
    expect(await rows("SELECT 1 FROM @preview UNION ALL SELECT 1 FROM @profile")).toEqual([]);
    const counters = engine.read(function* (db) {
      return [yield* db.gone(), yield* db.latestFact(), yield* db.sweeps!()];
    });
    expect(await counters).toEqual([1, 3, 0]);
  });

  test("D5 a session that is deleted while it is made is not made", async () => {
    const { engine } = engines.open();
    await newSessions(engine, alice);
    let runs = 0;
    const making = engine.write(function* (db) {
      runs += 1;
      if ((yield* db.get(GONE, "key", alice)) !== undefined) return "gone";
      if (runs === 1)
        yield* waits(
          engine.write(function* (other): Rule<void> {
            other.insert(GONE, { id: alice });
            other.remove(SESSION, (yield* other.session(alice))!);
          }),
        );
      yield* db.add(SESSION, { ...IDLE, id: alice } as never);
      return "made";
    });
    expect(await making).toBe("gone");
    expect(runs).toBe(2);
  });

  // ── What the store writes ───────────────────────────────────────────────────────────────────────────────────────────

  test("D5 the port reads what the store has written", async () => {
    const { engine, schema } = engines.open();
    const store = postgres(engines.pool as unknown as Pool, { schema, clock: "caller", listen: false });
    await store.create({ ...newSession(), options: { a: { b: 1 } }, plugins: { [ODD[0]!]: PLUGIN } });
    await turn(store, "first");
    const lease = await begin(store, "second", { key: ODD[0] });
    await store.append(lease, 1, [slept("a"), slept("b")], NOW, [newWait(asWaitKey(ODD[1]!))]);
    await send(store, "third", { place: "boundary" });
    await store.note(lease.turnId, asEffectName("e"), ODD[2]!, { said: 1 });
    const found = await engine.read(function* (db) {
      const session = (yield* db.session(alice))!;
      const turns = yield* db.scan(TURN, "session", [session.n], { isWhole: true });
      return {
        session,
        turns,
        states: yield* db.states!(session.n, session.revision),
        profile: yield* db.get(PROFILE, "key", session.n),
        path: yield* db.path!(session.head!, { max: Infinity, isWhole: true }),
        journal: yield* db.scan(JOURNAL, "session", [session.n], { above: 0 }),
        waits: yield* db.waits!({ session: alice, max: 5 }),
        note: yield* db.get(NOTE, "key", session.turn!, asEffectName("e"), ODD[2]!),
        ledger: yield* db.scan(LEDGER, "session", [session.n]),
        waiting: yield* db.count(TURN, "waiting", session.n),
        agenda: yield* db.agenda!(NOW, 5, []),
      };
    });
    const { session, turns, profile } = found;
    const stored = (await store.load(alice))!;
    expect(session).toMatchObject({ id: alice, revision: 1, turns: 1, usage: stored.usage, owner: "ann", written: 3 });
    expect(turns.map(({ id, state, key }) => [id, state, key])).toEqual([
      ["turn-first", TAKEN, null],
      ["turn-second", TAKEN, ODD[0]],
      ["turn-third", WAITING, null],
    ]);
    expect(turns[0]).toMatchObject({ input: null, ended: { size: expect.any(Number), revision: 1 } });
    expect(turns[2]!.input).toEqual({ message: newInput("third").message, at: NOW });
    expect(profile).toMatchObject({ config: { model: "house/model" }, options: { a: { b: 1 } }, createdAt: NOW });
    expect(found.states).toEqual(stored.plugins);
    expect(found.path.map(({ name, entries }) => ({ commit: name, entries }))).toEqual(await store.view(alice));
    expect(found.journal.flatMap(({ events }) => events)).toEqual((await store.journal(lease.turnId, 0)).slice(1));
    expect(found.waits).toMatchObject([{ key: ODD[1], session: session.n, turn: session.turn, job: null }]);
    expect(found.note).toEqual({ turn: session.turn, effect: "e", key: ODD[2], value: { said: 1 } });
    expect(found.waiting).toBe(1);
    expect(found.ledger).toHaveLength(stored.ledger.length);
    expect(found.agenda).toEqual(await store.agenda(NOW, 5, []));
    await store.close();
  });

  test("D5 the store reads what the port has written", async () => {
    const { engine, schema } = engines.open();
    const store = postgres(engines.pool as unknown as Pool, { schema, clock: "caller", listen: false });
    await store.create(newSession());
    await engine.write(function* (db): Rule<void> {
      const session = (yield* db.session(alice))!;
      db.insert(STATE, { session: session.n, plugin: ODD[1]!, since: 1, body: PLUGIN });
      db.insert(OPERATION_NOTE, { session: session.n, operation: ODD[0]!, key: "/k", value: null });
      db.book!(session.n, [SPENT, SPENT], 1);
      db.update(SESSION, session, { revision: 1, usage: { ...NO_USAGE, input: 3 } });
      yield* db.add(TURN, inputLike("given", { session: session.n, key: ODD[4] }));
      yield* db.add(OCCURRENCE, { id: ODD[0]!, source: ODD[1]!, at: NOW, deliveries: 0, payload: { payload: [1] } });
    });
    expect(await store.load(alice)).toMatchObject({
      revision: 1,
      plugins: { [ODD[1]!]: PLUGIN },
      usage: { input: 3 },
      ledger: [{ source: "turn", calls: 2, usage: { input: 6 } }],
    });
    expect(await store.operations.note(alice, ODD[0]!, "k")).toBe(null);
    expect(await store.inputs.list(alice)).toMatchObject([{ key: ODD[4], turnId: "given" }]);
    expect(await store.triggers.occurrences({ source: ODD[1]!, max: 1 })).toMatchObject([{ id: ODD[0], payload: [1] }]);
    await store.close();
  });
});
