import { defineTool, type Runtime, type Session, type Store } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, says } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import type { Appended, ChangeAnswer, EndedTurn, Lease, SessionChange } from "../../src/stores/store.ts";
import { follows } from "../kit/models.ts";
import { eventually, nodesOf, saidIn, waitingIn, within } from "../kit/reading.ts";
import { around, durable, lives } from "../kit/stores.ts";
import { held, ping, running, twoOn } from "../kit/worlds.ts";

/** A store that knows what waits for boundaries, and says so with every append and every mail. */
function knowing(inner: Store = durable(memory())) {
  const claimed = new Set<string>();
  const appends = new Map<string, number>();
  const asked: string[] = [];
  /** Answers to renewals wait for this. */
  let gate: PromiseWithResolvers<void> | undefined;
  let renewed = Promise.withResolvers<void>();
  const told = async (act: () => unknown, lease: unknown): Promise<Appended> => {
    const { sessionId, turnId } = lease as Lease;
    const answer = (await act()) as Appended;
    const inputs = (await inner.inputs.list(sessionId)).filter(({ place }) => place !== "turn");
    return { ...answer, pending: inputs.length > 0 || claimed.has(turnId) || (appends.get(sessionId) ?? 0) > 0 };
  };
  const store = around(inner, {
    append: told,
    renew: async (act, lease) => {
      const answer = await told(act, lease);
      renewed.resolve();
      await gate?.promise;
      return answer;
    },
    "inputs.claim": async (act, lease, boundary) => {
      asked.push(String(boundary));
      const found = (await act()) as readonly unknown[];
      if (found.length > 0) claimed.add((lease as Lease).turnId);
      return found;
    },
    apply: async (act, change) => {
      const { sessionId } = change as SessionChange;
      const answer = (await act()) as ChangeAnswer;
      if (answer.kind === "queued") appends.set(sessionId, (appends.get(sessionId) ?? 0) + 1);
      return answer;
    },
    commit: async (act, lease, ended) => {
      const answer = await act();
      appends.delete((lease as Lease).sessionId);
      claimed.delete((ended as EndedTurn).turnId);
      return answer;
    },
  });
  return {
    store,
    /** The boundaries at which the store was asked. */
    asked,
    /** Holds answers to renewals back, and settles when the store has made it. */
    async renewal(): Promise<() => void> {
      gate = Promise.withResolvers<void>();
      renewed = Promise.withResolvers<void>();
      await renewed.promise;
      const { resolve } = gate;
      return () => {
        gate = undefined;
        resolve();
      };
    },
  };
}

/** A turn that works, pings, and ends; the work is held. */
async function working(store: Store) {
  const work = held();
  const runtime = await running({ store, model: follows(SCRIPTS), tools: [work.tool, ping, note] });
  const session = await runtime.session("s");
  const turn = session.turn("#Go.");
  await within(work.began());
  return { runtime, session, turn, work, [Symbol.asyncDispose]: () => runtime.close() };
}

const SCRIPTS = {
  "#Go.": [calls("work"), calls("ping"), says("Done."), says("More.")],
  "#Work.": [calls("work"), says("Done."), says("More.")],
  "#Note.": [calls("note"), says("Noted.")],
};

/** Appends a node to the session `s`. */
const note = defineTool({
  name: "note",
  description: "Notes.",
  input: z.object({}),
  execute: async (_, { graph }) =>
    (await graph.append([{ kind: "plugin", type: "note", body: "Steer." }], { session: "s", operationId: "n" })).kind,
});

test("S4 a turn does not ask for inputs at its boundaries where the store has said that nothing waits", async () => {
  const { store, asked } = knowing();
  await using world = await working(store);
  world.work.release();
  expect((await world.turn.result()).outcome).toMatchObject({ text: "Done." });
  expect(asked).toEqual([]);
});

test("S4 it asks at each of them where the store does not say", async () => {
  const asked: unknown[] = [];
  const ask = (act: () => unknown, _: unknown, boundary: unknown): unknown => {
    asked.push(boundary);
    return act();
  };
  await using world = await working(around(durable(memory()), { "inputs.claim": ask }));
  world.work.release();
  await world.turn.result();
  expect(asked).toEqual(["r1.after-work", "r2.after-work", "r3.before-completion"]);
});

const WAYS: { readonly [way: string]: (runtime: Runtime, session: Session) => Promise<unknown> } = {
  sent: (_, session) => session.send("Steer."),
  injected: (runtime) => runtime.sessions.inject("s", "Steer."),
  "appended by a tool of another session": async (runtime) => (await runtime.session("other")).turn("#Note.").result(),
};

test.each(Object.entries(WAYS))("S4 what is %s here during a call is taken at the next boundary", async (_, come) => {
  const { store, asked } = knowing();
  await using world = await working(store);
  await come(world.runtime, world.session);
  world.work.release();
  await world.turn.result();
  expect(asked[0]).toBe("r1.after-work");
  const nodes = await nodesOf(store, world.session);
  const taken = nodes.findIndex((node) => node.includes("Steer."));
  expect(nodes.slice(0, taken).filter((node) => node.startsWith("tool"))).toHaveLength(1);
  expect((await world.session.read()).turns).toBe(1);
});

test("S4 an answer that the store gave before an input was accepted here counts for nothing, however late it comes", async () => {
  const { store, asked, renewal } = knowing();
  await using world = await working(store);
  const answer = await within(renewal());
  await world.session.send("Steer.");
  answer();
  world.work.release();
  await world.turn.result();
  expect(asked[0]).toBe("r1.after-work");
  expect(await saidIn(world.session)).toEqual(["#Go.", "Steer."]);
});

test("S4 an input that another process accepts is taken at a later boundary, or is the next turn", async () => {
  for (const words of ["#Go.", "#Work."]) {
    const { store } = knowing();
    const work = held();
    const options = { store, model: follows(SCRIPTS), tools: [work.tool, ping] };
    await using both = await twoOn(store, options);
    const [here, there] = [await both.one.session("s"), await both.two.session("s")];
    const turn = here.turn(words);
    await within(work.began());
    const { turnId } = await there.send("From afar.");
    work.release();
    await turn.result();
    expect((await within(there.follow(turnId).result(), 5_000)).outcome).toMatchObject({ kind: "answered" });
    expect(await waitingIn(here)).toEqual([]);
    expect(await saidIn(await both.one.session("s"))).toEqual([words, "From afar."]);
  }
});

test("D4 a turn that is resumed asks again, and is given what was claimed before", async () => {
  const { store, asked } = knowing();
  let dies: (() => void) | undefined = () => process.kill();
  const process = lives(
    around(store, {
      "inputs.claim": async (act) => {
        const found = await act();
        dies?.(); // What it was given is recorded by nobody.
        return found;
      },
    }),
  );
  const before = await working(process.next());
  await before.session.send("Steer.");
  before.turn.result().catch(() => {});
  before.work.release();
  await eventually(() => asked[0]);
  dies = undefined;

  const after = await running({ store: process.next(), model: follows(SCRIPTS), tools: [held().tool, ping] });
  const session = await after.session("s");
  await eventually(async () => ((await session.read()).turns === 1 ? true : undefined), 5_000);
  expect(asked.slice(0, 2)).toEqual(["r1.after-work", "r1.after-work"]);
  expect(await saidIn(session)).toEqual(["#Go.", "Steer."]);
});
