import { attach, definePlugin, type EffectHost, type PromptPart, RuntimeError, type Session } from "bowline";
import { inline } from "bowline/hosts/inline";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { says, scripted, simulatedWorld } from "bowline/testing";
import { describe, expect, test } from "vitest";
import { echo, listener } from "../kit/models.ts";
import { codeOf, signalOf, waitingIn, within } from "../kit/reading.ts";
import { around, file } from "../kit/stores.ts";
import { onEvent } from "../kit/telemetry.ts";
import { deployed, named, open, running, Stop } from "../kit/worlds.ts";
import { busy } from "../sessions/busy.ts";

/** How long a runtime that closes waits for its turns, and how often a session looks for what others do. */
const GRACE_MS = 5_000;
const LOOK_MS = 250;

/** The store of one process on a file that others share. */
const on = (path: string) => sqlite(path, { durability: "process" });
/** Bytes of an input are stored when they are let go. */
const keepingBytesAt = (stop: () => Stop | undefined) =>
  around(memory(), {
    "blobs.put": async (put) => {
      await stop()?.here();
      return put();
    },
  });
const picture = attach(new Uint8Array([1]), { mediaType: "image/png" });

// ── The runtime closes ──────────────────────────────────────────────────────────────────────────────────────────────

test("D2 a runtime that closes opens no session for a tool that still runs: its turns are left to the next process", async () => {
  const path = file();
  const world = simulatedWorld();

  const thinking = new Stop();
  const first = await deployed(on(path), world, { model: listener(() => thinking.here()) });
  const left = (await first.runtime.session("other")).turn("Left.");
  const gone = codeOf(left.result());
  await thinking.reached;
  const firstCloses = first.runtime.close();
  await world.advance(GRACE_MS);
  await firstCloses;
  expect(await gone).toBe("runtime.closed");

  const sending = new Stop();
  const send = named("work", async (_, { sessions }) => {
    await sending.here();
    return (await sessions.send("other", "Hello.")).turnId;
  });
  const model = listener();
  const second = await deployed(on(path), world, { model, tools: [send] });
  void codeOf((await second.runtime.session("main")).turn("Work.").result());
  await sending.reached;
  const secondCloses = second.runtime.close();
  sending.go();
  await world.advance(GRACE_MS);
  await secondCloses;
  expect(model.told).toEqual([["Work."]]);

  const third = await deployed(on(path), world, { model: listener() });
  const other = await third.runtime.session("other");
  expect(await other.current()?.id).toBe(await left.id); // Nobody holds it: it is taken up at once.
  expect((await within(other.follow(await left.id).result())).outcome).toMatchObject({ text: "re: Left." });
  expect(await waitingIn(other)).toEqual([]);
  await third.runtime.close();
});

test.each([
  ["its session", (session: Session) => session.fork()],
  ["the runtime", (session: Session, { sessions }: Awaited<ReturnType<typeof running>>) => sessions.fork(session.id)],
])("S7 a fork that is made by %s while the runtime closes is not opened", async (_, fork) => {
  const forking = new Stop();
  const store = around(memory(), {
    fork: async (make) => {
      await forking.here();
      return make();
    },
  });
  await using here = await busy(store);
  const code = codeOf(fork(here.session, here.runtime));
  await forking.reached;
  const closed = here.runtime.close();
  forking.go();
  expect(await code).toBe("runtime.closed");
  here.work.release();
  await closed;
});

// ── What was given may change in place ──────────────────────────────────────────────────────────────────────────────

describe("K9 a prompt part that is changed in place is said as it is now", () => {
  const prompting = (part: () => PromptPart) => definePlugin({ id: "a/prompts", setup: () => ({ prompt: part }) });
  const adding = (part: () => PromptPart) =>
    definePlugin({
      id: "a/adds",
      setup: () => ({ context: ({ context }) => ({ ...context, prompt: [part()] }) }),
    });

  test.each([
    ["prompt", prompting],
    ["context", adding],
  ])("by a plugin, in its `%s` hook", async (_, plugin) => {
    const part = { slot: "guidance", text: "" } satisfies PromptPart;
    let turns = 0;
    const counting = () => {
      part.text = `Turn ${++turns}.`;
      return part;
    };
    const model = scripted(says("x"), says("x"));
    await using world = await open(model, { plugins: [plugin(counting)] });
    await world.session.turn("a").result();
    await world.session.turn("b").result();
    expect(model.requests.map(({ system }) => system)).toEqual(["Turn 1.", "Turn 2."]);
  });

  test("between two sessions whose config it is in", async () => {
    const model = scripted(says("x"), says("x"));
    await using runtime = await running({ model });
    const part = { slot: "guidance", text: "one" } satisfies PromptPart;
    await (await runtime.session("a", { config: { prompt: [part] } })).turn("Go.").result();
    part.text = "two";
    await (await runtime.session("b", { config: { prompt: [part] } })).turn("Go.").result();
    expect(model.requests.map(({ system }) => system)).toEqual(["one", "two"]);
  });
});

test("D5 a host may wrap another: what it is given can be spread, and taken apart", async () => {
  const inner = inline();
  const told: string[] = [];
  const spreading: EffectHost = {
    ...inner,
    open: (turn, perform, context) => inner.open(turn, perform, { ...context }),
  };
  const takingApart: EffectHost = {
    ...inner,
    open: (turn, perform, { store, world, waiting, spawned, pending, followed, trace }) => {
      trace("host.opened", {});
      return inner.open(turn, perform, { store, world, waiting, spawned, pending, followed, trace });
    },
  };
  for (const host of [spreading, takingApart]) {
    await using world = await open(echo(), { host, telemetry: onEvent(({ name }) => void told.push(name)) });
    expect((await world.session.turn("Go.").result()).outcome).toMatchObject({ kind: "answered", text: "re: Go." });
  }
  expect(told.filter((name) => name === "host.opened")).toHaveLength(1);
});

// ── Inputs that take a while to come in ─────────────────────────────────────────────────────────────────────────────

test("S15 a session is configured while the bytes of an input come in", async () => {
  const bytes = new Stop();
  await using world = await open(echo(), { store: keepingBytesAt(() => bytes) });
  const turn = world.session.turn(["Look.", picture]);
  await bytes.reached;
  const configured = within(world.session.configure({ label: "Mine" })).finally(() => bytes.go());
  expect(await configured).toMatchObject({ label: "Mine" });
  expect((await turn.result()).outcome.kind).toBe("answered");
});

test("S3 a signal that aborts while the bytes of an input come in stops the turn before a model is asked", async () => {
  let bytes: Stop | undefined;
  const model = listener();
  await using world = await open(model, { store: keepingBytesAt(() => bytes) });
  await world.session.turn("One.").result();
  await world.session.turn("Two.").result(); // Prepared like the first: from now on a turn begins at once.

  bytes = new Stop();
  const caller = new AbortController();
  const turn = world.session.turn(["Look.", picture], { signal: caller.signal });
  await bytes.reached;
  caller.abort();
  bytes.go();
  expect((await turn.result()).outcome).toMatchObject({ kind: "stopped", by: "cancel" });
  expect(model.told).toEqual([["One."], ["Two."]]);
});

describe.each([
  ["no words", "", /: The caller's signal aborted\.$/],
  ["5,000 characters", "a".repeat(5_000), /: a{4096}$/],
])("S3 a signal that aborts with %s for a reason stops its turn, and the next one runs", (_, words, reason) => {
  const stopped = { kind: "stopped", by: "cancel", reason: expect.stringMatching(reason) };

  test.each([
    ["an error", new Error(words)],
    ["a string", words],
  ])("before the turn begins, in %s", async (_, given) => {
    await using world = await open(echo());
    const turn = world.session.turn("Never.", { signal: AbortSignal.abort(given) });
    expect((await within(turn.result())).outcome).toMatchObject(stopped);
    expect((await within(world.session.turn("Next.").result())).outcome).toMatchObject({ text: "re: Next." });
  });

  test("while the turn waits behind another", async () => {
    await using here = await busy(memory());
    const turn = here.session.turn("Never.", { signal: AbortSignal.abort(new Error(words)) });
    await turn.id;
    here.work.release();
    expect((await within(here.turn.result())).outcome.kind).toBe("answered");
    expect((await within(turn.result())).outcome).toMatchObject(stopped);
    expect((await within(here.session.turn("Next.").result())).outcome.kind).toBe("answered");
  });

  test("while the turn runs", async () => {
    const thinking = new Stop();
    const caller = new AbortController();
    await using world = await open(listener(() => thinking.here()));
    const turn = world.session.turn("Never.", { signal: caller.signal });
    await thinking.reached;
    caller.abort(new Error(words));
    const result = within(turn.result()).finally(() => thinking.go());
    expect((await result).outcome).toMatchObject(stopped);
    expect((await within(world.session.turn("Next.").result())).outcome.kind).toBe("answered");
  });
});

// ── Turns, and those who wait for them ──────────────────────────────────────────────────────────────────────────────

test("D2 K3 a turn that an operation finishes is the current one, and its end is reported after its observers", async () => {
  const path = file();
  const world = simulatedWorld();
  const told: string[] = [];
  const observing = new Stop();
  const observer = definePlugin({
    id: "a/observes",
    setup: () => ({
      lifecycle: async ({ event }) => {
        if (event.kind !== "turnPersisted") return;
        await observing.here();
        told.push("its observer");
        throw new Error("No.");
      },
    }),
  });
  const [theirs, ours] = [new Stop(), new Stop()];
  const one = await deployed(on(path), world, { model: listener(() => theirs.here()) });
  const two = await deployed(on(path), world, { model: listener(() => ours.here()), plugins: [observer] });
  const session = await two.runtime.session("s");

  const left = (await one.runtime.session("s")).turn("Left.");
  void codeOf(left.result());
  await theirs.reached;
  const appended = session.append([{ kind: "message", role: "user", text: "Also." }]); // It finds their turn open.
  const closing = one.runtime.close();
  await world.advance(GRACE_MS);
  await closing;
  await world.advance(LOOK_MS); // Nobody is at it any more: it is finished here, by the operation.
  await ours.reached;
  expect(await session.current()?.id).toBe(await left.id);

  ours.go();
  await observing.reached;
  const result = session.follow(await left.id).result();
  void result.then(() => told.push("its caller"));
  await world.advance(LOOK_MS);
  observing.go();
  expect((await within(result)).issues).toMatchObject([{ plugin: "a/observes" }]);
  expect(told).toEqual(["its observer", "its caller"]);
  expect(await within(appended)).toMatchObject({ kind: "appended" });
  await two.runtime.close();
});

test("S3 a follower that learns late of a turn that has ended meanwhile leaves the session free for the next turn", async () => {
  const world = simulatedWorld();
  let late: Stop | undefined;
  const store = around(memory(), {
    find: async (find) => {
      const found = find(); // As it is now.
      const stop = late;
      late = undefined;
      await stop?.here();
      return found;
    },
  });
  const thinking = new Stop();
  const { runtime } = await deployed(store, world, { recover: "manual", model: listener(() => thinking.here()) });
  const session = await runtime.session();
  const first = session.turn("One.");
  await thinking.reached;
  const { turnId } = await session.send("Two.", { at: "next-turn" });
  const finding = new Stop();
  late = finding;
  const second = session.follow(turnId);
  await finding.reached; // The answer, that it waits, is on its way.

  thinking.go();
  expect((await within(first.result())).outcome).toMatchObject({ text: "re: One." });
  expect((await within(second.result())).outcome).toMatchObject({ text: "re: Two." });
  await world.advance(0); // The session has come to rest.
  finding.go();
  await world.advance(0);
  expect((await within(session.turn("Three.").result())).outcome).toMatchObject({ text: "re: Three." });
  await runtime.close();
});

test("D3 a turn that fails before its host is open gives its lease back, so that it and the next one can run", async () => {
  const inner = inline();
  let isBroken = true;
  const host: EffectHost = {
    ...inner,
    open: (...given) => {
      if (isBroken) throw new Error("The host is not there.");
      return inner.open(...given);
    },
  };
  const model = listener();
  await using world = await open(model, { host });
  await expect(world.session.turn("One.").result()).rejects.toThrow("The host is not there.");
  isBroken = false;
  expect((await within(world.session.turn("Two.").result())).outcome).toMatchObject({ kind: "answered" });
  expect(model.told).toEqual([["One."], ["Two."]]);
});

test("S6 what a turn left running appends like anybody while the store recovers", async () => {
  const world = simulatedWorld();
  const failing = signalOf();
  let isDown = true;
  const store = around(memory(), {
    commit: (commit) => {
      if (isDown) throw new RuntimeError("store.failed", { path: "the store", problem: "it is down" });
      return commit();
    },
  });
  let late: Promise<unknown> | undefined;
  const leaving = definePlugin({
    id: "a/leaves",
    setup: () => ({
      afterTurn: () => {
        late ??= failing.promise.then(() => session.append([{ kind: "message", role: "user", text: "Late." }]));
      },
    }),
  });
  const { runtime } = await deployed(store, world, {
    model: echo(),
    plugins: [leaving],
    telemetry: onEvent(({ name }) => void (name === "session.store" && failing.resolve())),
  });
  const session = await runtime.session();
  const turn = session.turn("Go.");
  await failing.promise;
  isDown = false;
  await world.advance(LOOK_MS);
  expect((await within(turn.result())).outcome.kind).toBe("answered");
  expect(await within(late as Promise<unknown>)).toMatchObject({ kind: "appended" });
  await runtime.close();
});

// ── Plugins and what they are given ─────────────────────────────────────────────────────────────────────────────────

test("S10 the fork of a subagent's session is booked as the subagent's", async () => {
  const permissions = { subagent: { capability: "explorer", depth: 1, depthMax: 1 } };
  let parentId: string | undefined;
  const parent = definePlugin({
    id: "a/parent",
    setup: () => ({
      beforeTurn: async ({ session, sessions }) => {
        if (session.read().id === parentId) await sessions.create({ id: "child", kind: "child", permissions });
      },
    }),
  });
  await using world = await open(echo(), { plugins: [parent] });
  parentId = world.session.id;
  await world.session.turn("Make it.").result();
  const child = await world.runtime.session("child");
  await child.turn("Explore.").result();
  const fork = await child.fork();
  await fork.turn("Explore on.").result();
  const sources = async (session: Session) => (await session.read()).ledger.map(({ source }) => source);
  expect(await sources(child)).toEqual(["subagent/explorer"]);
  expect(await sources(fork)).toEqual(["subagent/explorer"]);
});

test("K18 services that a hook keeps trace and read in its own turn, whatever turn runs by then", async () => {
  const traced: (string | undefined)[] = [];
  const read: number[] = [];
  let kept: (() => void) | undefined;
  const keeping = definePlugin({
    id: "a/keeps",
    setup: () => ({
      beforeTurn: ({ trace, session }) => {
        kept?.();
        kept = () => {
          trace.emit("late");
          read.push(session.read().messages.length);
        };
      },
    }),
  });
  await using world = await open(echo(), {
    plugins: [keeping],
    telemetry: onEvent(({ name, turnId }) => void (name === "a/keeps.late" && traced.push(turnId))),
  });
  const { turnId } = await world.session.turn("One.").result();
  await world.session.turn("Two.").result();
  expect(traced).toEqual([turnId]);
  expect(read).toEqual([2]); // What was said and answered in the first, and not what the second was told.
});

test("K18 services that a hook keeps append nothing, also when its turn has ended", async () => {
  let append: (() => Promise<unknown>) | undefined;
  const keeping = definePlugin({
    id: "a/keeps",
    setup: () => ({
      context: ({ graph }) => {
        append = () => graph.append([{ kind: "message", role: "user", text: "Late." }]);
        return undefined;
      },
    }),
  });
  await using world = await open(echo(), { plugins: [keeping] });
  await world.session.turn("Go.").result();
  expect(await codeOf(() => append?.())).toBe("state.parallel");
});

test("K18 a plugin that assigns to a service that all share fails by name, and no other is touched", async () => {
  const read: number[] = [];
  let isAssigning = true;
  const assigning = definePlugin({
    id: "a/assigns",
    setup: () => ({
      beforeTurn: ({ session }) => {
        const poisoned = {
          read: () => {
            throw new Error("Poisoned.");
          },
        };
        if (isAssigning) Object.assign(session, poisoned);
      },
    }),
  });
  const other = definePlugin({
    id: "b/reads",
    setup: () => ({
      beforeTurn: ({ session }) => void read.push(session.read().turns),
      lifecycle: ({ event, session }) => void (event.kind === "turnFinalized" && read.push(session.read().turns)),
    }),
  });
  await using world = await open(echo(), { plugins: [assigning, other] });
  const { outcome, issues } = await world.session.turn("One.").result();
  expect(outcome).toMatchObject({ kind: "failed", by: "plugin", reason: expect.stringContaining("a/assigns") });
  expect(issues).toEqual([]);
  isAssigning = false;
  expect((await world.session.turn("Two.").result()).outcome.kind).toBe("answered");
  expect(read).toEqual([0, 1, 1]);
});

test("S9 a `lifecycle` hook may wait for a completion when a turn that nobody follows is kept", async () => {
  const completed = signalOf();
  const completing = definePlugin({
    id: "a/completes",
    setup: () => ({
      lifecycle: async ({ event, complete }) => {
        if (event.kind !== "turnPersisted") return;
        await complete.text("Sum it up.", { label: "summary" });
        completed.resolve();
      },
    }),
  });
  const { runtime } = await deployed(memory(), simulatedWorld(), { model: echo(), plugins: [completing] });
  const session = await runtime.session();
  const { turnId } = await session.send("One.");
  await within(completed.promise);
  const { outcome, issues } = await within(session.follow(turnId).result());
  expect(outcome).toMatchObject({ kind: "answered", text: "re: One." });
  expect(issues).toEqual([]);
  expect((await within(session.turn("Two.").result())).outcome).toMatchObject({ text: "re: Two." });
  await session.configure({ label: "After both." }); // In order behind what is still to be booked.
  const { ledger } = await session.read();
  expect(ledger.map(({ source, calls }) => `${calls} ${source}`).sort()).toEqual(["2 summary", "2 turn"]);
  await runtime.close();
});

test("S14 a tree's budget is looked at while a turn of the tree is being opened", async () => {
  const opening = new Stop();
  const inner = inline();
  const host: EffectHost = {
    ...inner,
    open: async (...given) => {
      await opening.here();
      return inner.open(...given);
    },
  };
  await using world = await open(echo(), { host, budget: { tree: { tokens: 100_000 } } });
  const turn = world.session.turn("Go.");
  await opening.reached;
  const beside = world.session.complete.text("Beside it.").finally(() => opening.go());
  expect(await beside).toBe("re: Beside it.");
  expect((await turn.result()).outcome).toMatchObject({ kind: "answered", text: "re: Go." });
});

// ── A turn goes on in another process ───────────────────────────────────────────────────────────────────────────────

test("S5 a call that resumes after a restart is shown when it begins, not when it ends", async () => {
  const path = file();
  const world = simulatedWorld();
  const model = () => listener();

  const working = new Stop();
  const slow = named("work", async () => {
    await working.here();
    return "never";
  });
  const first = await deployed(on(path), world, { model: model(), tools: [slow] });
  const left = (await first.runtime.session("s")).turn("Work.");
  const gone = codeOf(left.result());
  await working.reached;
  const closes = first.runtime.close();
  await world.advance(GRACE_MS);
  await closes;
  expect(await gone).toBe("runtime.closed");

  const again = new Stop();
  const quick = named("work", async () => {
    await again.here();
    return "done";
  });
  const second = await deployed(on(path), world, { model: model(), tools: [quick] });
  const turn = (await second.runtime.session("s")).follow(await left.id);
  const kinds: string[] = [];
  for await (const event of turn) {
    kinds.push(event.kind);
    if (event.kind !== "toolStarted") continue;
    await again.reached;
    again.go();
  }
  expect(kinds).toEqual(["toolStarted", "toolReturned", "toolEnded", "text", "committed"]);
  await second.runtime.close();
});
