import { expect, test } from "vitest";
import { asSessionId, asTurnId } from "../model/ids.ts";
import type { StateCell } from "../model/tool.ts";
import { type Bound, type HookCallContext, HookRunner } from "./hook-runner.ts";
import { definePlugin, type Installed, installPlugins } from "./plugin.ts";

/** Whatever a handler may do with the event it is given, seen without types. */
type Event = Readonly<Record<string, never>> & {
  readonly signal: AbortSignal;
  read(point: unknown): unknown;
  once(name: string, run: unknown): unknown;
};

async function world(deadlineMs = 1_000, spec: object = {}) {
  const turn = new AbortController();
  const [plugin] = (await installPlugins(
    [definePlugin({ id: "a/looks", setup: () => ({}), ...spec })],
    turn.signal,
  )) as [Installed];
  const written: string[] = [];
  const put = async (name: string) => void written.push(`put ${name}`);
  const blobs = { names: () => ["old"], get: async () => undefined, put, remove: () => void written.push("remove") };
  const cell = { get: () => "kept", update: () => void written.push("update"), blobs };
  const here = {
    sessionId: asSessionId("s"),
    turnId: asTurnId("t"),
    signal: turn.signal,
    read: (point: unknown) => `read ${point}`,
    once: (id: string, name: string) => `${id} once ${name}`,
    service: (name: string, id: string) => ({ name, id }),
    states: { cell: () => cell },
  } as unknown as HookCallContext;
  const hooks = new HookRunner(new Map(), new Map(), undefined, () => {});
  const call = (run: (event: Event) => unknown): unknown =>
    hooks.call("beforeTurn", { plugin, deadlineMs, run: run as Bound["run"] }, { input: "Go." as never }, here);
  return { turn, call, written };
}

const FIELDS = [
  "extension",
  "input",
  "jobs",
  "membership",
  "once",
  "read",
  "session",
  "sessionId",
  "sessions",
  "signal",
  "trace",
  "triggers",
  "turnId",
];

test("K18 an event can be taken apart, spread, inherited from and wrapped, and nothing is lost", async () => {
  const { call } = await world();
  const ways: { readonly [way: string]: (event: Event) => Event } = {
    whole: (event) => event,
    spread: (event) => ({ ...event }),
    assigned: (event) => Object.assign({}, event),
    rest: ({ ...rest }) => rest as Event,
    inherited: (event) => Object.create(event),
    wrapped: (event) => new Proxy(event, {}),
  };
  for (const [way, take] of Object.entries(ways)) {
    call((event) => {
      const taken = take(event);
      for (const field of FIELDS) expect(field in taken, `${way}: ${field}`).toBe(true);
      if (way !== "inherited") expect(Object.keys(taken).sort(), way).toEqual(FIELDS);
      const { signal, read, once, trace, input } = taken;
      expect(signal, way).toBe(event.signal);
      expect([read("x"), once("y", undefined)], way).toEqual(["read x", "a/looks once y"]);
      expect([trace, input], way).toEqual([{ name: "trace", id: "a/looks" }, "Go."]);
    });
  }
});

test("K18 each call has a separate event: a handler's change to one event is not in the next", async () => {
  const { call } = await world();
  const events: Event[] = [];
  const spoils = (event: Event): void => {
    expect(Object.keys(event).sort()).toEqual(FIELDS);
    expect(event.trace).toEqual({ name: "trace", id: "a/looks" });
    events.push(event);
    Object.assign(event, { trace: "gone", extra: true });
    delete (event as { session?: unknown }).session;
  };
  call(spoils);
  call(spoils);
  expect(events[0]).not.toBe(events[1]);
});

test("K18 each call has a separate signal, which follows the turn and ends with the handler's time", async () => {
  const { call, turn } = await world(5);
  const events: Event[] = [];
  const late = call((event) => {
    events.push(event);
    return new Promise(() => {});
  });
  call((event) => void events.push(event));
  await expect(late).rejects.toMatchObject({ code: "hook.deadline" });
  expect(events.map(({ signal }) => signal.aborted)).toEqual([true, false]);
  expect(events[0]?.signal.reason).toMatchObject({ code: "hook.deadline" });
  turn.abort("stop");
  expect(events[1]?.signal).toMatchObject({ aborted: true, reason: "stop" });
});

test("K18 a handler that missed its deadline can still read its state and its blobs, and write neither", async () => {
  const { call, written } = await world(5, { state: { type: "object" } });
  let state!: StateCell<string>;
  const write = async (): Promise<void> => {
    state.update((now) => now);
    await state.blobs.put("new", new Uint8Array());
    state.blobs.remove("old");
  };
  const late = call((event) => {
    ({ state } = event as unknown as { state: StateCell<string> });
    return write().then(() => new Promise(() => {}));
  });
  await expect(late).rejects.toMatchObject({ code: "hook.deadline" });
  expect(written).toEqual(["update", "put new", "remove"]);
  const refused = { code: "state.parallel", details: { plugin: "a/looks", where: "beforeTurn, after it had ended" } };
  expect(() => state.update((now) => now)).toThrow(expect.objectContaining(refused));
  expect(() => state.blobs.remove("old")).toThrow(expect.objectContaining(refused));
  await expect(state.blobs.put("new", new Uint8Array())).rejects.toMatchObject(refused);
  expect([state.get(), state.blobs.names(), written.length]).toEqual(["kept", ["old"], 3]);
});
