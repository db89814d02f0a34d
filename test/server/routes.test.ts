import { expect, test } from "vitest";
import type { RouteName } from "../../src/server/api.ts";
import { BASE, paramsIn, ROUTES } from "../../src/server/routes.ts";
import { eventually } from "../kit/reading.ts";
import { opened, type World } from "./world.ts";

/** What Ann has. */
interface Things {
  readonly session: string;
  readonly turn: string;
  readonly wait: string;
  readonly job: string;
  readonly hash: string;
  readonly input: string;
}

interface Case {
  readonly path?: (things: Things) => { readonly [name: string]: string };
  readonly query?: (things: Things) => { readonly [name: string]: string };
  readonly body?: unknown;
  /** What Ann sees of it. */
  readonly shows?: (json: never, things: Things) => void;
  /** What somebody else gets. Default: the answer to an id that there is not. */
  readonly foreign?: "nothing" | "forbidden" | "allowed";
  /** Ann may not do it either: it concerns all owners. */
  readonly isForRoot?: true;
}

const session = { path: (of: Things) => ({ id: of.session }) };
const turn = { path: (of: Things) => ({ id: of.turn }) };
const wait = { path: (of: Things) => ({ id: of.wait }) };
const schedule = { path: (of: Things) => ({ id: of.session, trigger: "daily" }) };
const job = { path: (of: Things) => ({ id: of.job }) };

const CASES: { readonly [N in RouteName]: Case } = {
  health: { foreign: "allowed" },
  openapi: { foreign: "allowed" },
  listSessions: { foreign: "nothing", shows: (list: unknown[]) => expect(list).toHaveLength(3) },
  createSession: { body: { id: "new", tags: ["x"] }, foreign: "allowed" },
  getSession: { ...session, shows: (view: object) => expect(view).toHaveProperty("messages") },
  findSession: { ...session, shows: (found: { owner: string }) => expect(found.owner).toBe("ann") },
  configureSession: { ...session, body: { label: "Trip" } },
  deleteSession: { path: () => ({ id: "spare" }) },
  sessionHistory: { ...session, query: () => ({ max: "1" }), shows: (nodes: []) => expect(nodes).toHaveLength(1) },
  sessionStates: session,
  sessionTools: { ...session, shows: (tools: unknown) => expect(tools).toMatchObject([{ name: "pay" }]) },
  sessionUsage: session,
  sessionOperations: session,
  invokeOperation: {
    path: (of) => ({ id: of.session, name: "acme/all.look" }),
    body: { kind: "query" },
    shows: (receipt: unknown) => expect(receipt).toBeDefined(),
  },
  sessionPlugins: {
    ...session,
    shows: (plugins: unknown) =>
      expect(plugins).toMatchObject([
        { id: "acme/all", events: ["mail.received"], hasState: false },
        { id: "bowline/approvals", hooks: ["beforeToolCall", "afterToolCall"] },
        { id: "bowline/tool-calls" },
      ]),
  },
  compareSessions: { path: (of) => ({ id: of.session, other: "empty" }) },
  forkSession: { ...session, body: { id: "branch" } },
  compactSession: { path: () => ({ id: "empty" }), body: {} },
  cancelSession: { ...session, body: { reason: "Enough." } },
  sessionEvents: { ...session, query: () => ({ tree: "true" }) },
  sendInput: { ...session, body: { text: "Hi", key: "k" } },
  listInputs: { ...session, shows: (list: unknown[]) => expect(list).toHaveLength(1) },
  withdrawInput: { path: (of) => ({ id: of.session, input: of.input }) },
  putBlob: { ...session, query: () => ({ name: "a.txt" }), body: new Uint8Array([1, 2, 3]) },
  getBlob: { path: (of) => ({ id: of.session, hash: of.hash }) },
  listTurns: { foreign: "nothing", shows: (list: unknown[]) => expect(list.length).toBeGreaterThan(0) },
  getTurn: turn,
  turnTimeline: turn,
  turnJournal: turn,
  turnEvents: turn,
  cancelTurn: { ...turn, body: {} },
  listWaits: { foreign: "nothing", shows: (list: unknown[]) => expect(list).toHaveLength(1) },
  getWait: { ...wait, shows: (found: { tool: string }) => expect(found.tool).toBe("pay") },
  answerWait: {
    ...wait,
    body: { approved: true },
    shows: (said: unknown) => expect(said).toEqual({ kind: "accepted" }),
  },
  revokeWait: wait,
  listJobs: { foreign: "nothing", shows: (list: unknown[]) => expect(list).toHaveLength(1) },
  getJob: { ...job, shows: (found: { label: string }) => expect(found.label).toBe("Wait") },
  jobEvents: {
    ...job,
    shows: (events: unknown) => expect(events).toMatchObject([{ kind: "spawned" }, { kind: "started" }]),
  },
  cancelJob: { ...job, body: { reason: "Enough." } },
  signalJob: { path: (of) => ({ id: of.job, name: "go" }), body: { payload: { a: 1 } } },
  listTriggers: { foreign: "nothing", shows: (list: unknown[]) => expect(list).toHaveLength(2) },
  runTrigger: {
    ...schedule,
    body: { key: "click" },
    shows: (found: unknown) => expect(found).toMatchObject({ deliveries: [{ subscription: "daily" }] }),
  },
  setTrigger: {
    ...schedule,
    body: { isEnabled: false },
    shows: (found: unknown) => expect(found).toMatchObject({ id: "daily", isEnabled: false, revision: 2 }),
  },
  removeTrigger: schedule,
  listOccurrences: { isForRoot: true, foreign: "forbidden" },
  emitEvent: {
    path: () => ({ event: "mail.received" }),
    body: { payload: { from: "eve" }, key: "m1" },
    isForRoot: true,
    foreign: "forbidden",
  },
  usage: {
    foreign: "allowed",
    shows: ({ rows, sessions }: { rows: unknown; sessions: unknown }) => {
      expect(rows).toMatchObject([{ model: "speaker/test", turns: 1, failed: 0 }]);
      expect(sessions).toMatchObject([{ id: "trip", turns: 1 }]);
    },
  },
  status: {
    isForRoot: true,
    foreign: "forbidden",
    shows: (status: unknown) =>
      expect(status).toMatchObject({ store: "memory", turns: { queued: 1 }, waits: 1, jobs: 1 }),
  },
  check: {
    body: { deep: true },
    isForRoot: true,
    foreign: "forbidden",
    shows: (found: unknown) => expect(found).toMatchObject({ findings: [] }),
  },
  events: { foreign: "nothing" },
};

async function annHas({ runtime, ask, url }: World): Promise<Things> {
  for (const id of ["trip", "empty", "spare"]) await ask("ann", "POST", "/v1/sessions", { id });
  const put = await ask("ann", "POST", "/v1/sessions/trip/blobs", new TextEncoder().encode(`bytes ${url}`));
  const first = await ask("ann", "POST", "/v1/sessions/trip/inputs", { parts: ["See.", put.json], key: "a" });
  await runtime.sessions.follow(first.json.turnId).result();
  const sent = await ask("ann", "POST", "/v1/sessions/trip/inputs", { text: "pay", at: "next-turn" });
  const turnId = sent.json.turnId as string;
  const asked = await eventually(async () => (await runtime.waits.list({ session: "trip" }))[0]);
  await ask("ann", "POST", "/v1/sessions/trip/inputs", { text: "later", at: "next-turn" });
  const [input] = (await ask("ann", "GET", "/v1/sessions/trip/inputs")).json as { id: string }[];
  const jobs = runtime.jobs.of("empty");
  const spawned = await jobs.spawn({
    label: "Wait",
    operation: "acme/all.wait",
    input: {},
    signals: { go: { type: "object" } },
  } as never);
  await runtime.triggers.of("trip").subscribe({ id: "mails", on: { event: "mail.received" }, send: "Read it." });
  await runtime.triggers.of("trip").subscribe({ id: "daily", on: { cron: "0 0 1 1 *" }, send: "Look." });
  return {
    ...{ session: "trip", turn: turnId, job: spawned.id, hash: put.json.hash as string },
    ...{ wait: asked.id, input: input?.id ?? "" },
  };
}

const NOTHING: Things = { session: "no", turn: "no", wait: "no", job: "no", hash: "no", input: "no" };

function pathOf(name: RouteName, things: Things): string {
  const { path, query } = CASES[name];
  const given = path?.(things) ?? {};
  const filled = ROUTES[name].path.replace(/\{(\w+)\}/g, (_, each: string) => encodeURIComponent(given[each] ?? ""));
  const search = new URLSearchParams(query?.(things)).toString();
  return `${BASE}${filled}${search === "" ? "" : `?${search}`}`;
}

const NAMES = Object.keys(ROUTES) as RouteName[];

test("E2 E5 each route of the table has a case, and each case a route", () => {
  expect(Object.keys(CASES).sort()).toEqual([...NAMES].sort());
  for (const name of NAMES)
    expect(Object.keys(CASES[name].path?.(NOTHING) ?? {}).sort(), name).toEqual([...paramsIn(ROUTES[name])].sort());
});

test.each(NAMES)("E2 E5 %s answers its owner, and nothing to another owner or without a token", async (name) => {
  await using world = await opened();
  const things = await annHas(world);
  const { wait: id } = things;
  const key = (await world.runtime.waits.get({ id }))?.key ?? "";
  const route = ROUTES[name];
  const { body, foreign, isForRoot, shows } = CASES[name];
  const path = pathOf(name, things);
  const send = (user: string | undefined, to = path) => world.ask(user, route.method, to, body);

  if (route.action !== "public") {
    for (const user of [undefined, "eve", "annx"]) {
      const refused = await send(user);
      expect(refused.status).toBe(401);
      expect(refused.headers.get("www-authenticate")).toBe("Bearer");
      expect(refused.json).toMatchObject({ code: "server.unauthorized", retry: "never" });
    }
  }
  if (route.answers === "events") {
    await using own = await world.stream("ann", path);
    expect(own.status).toBe(200);
    if (name === "events") {
      await own.kind("waiting");
      await using theirs = await world.stream("bob", path);
      expect(theirs.status).toBe(200);
      await world.ask("bob", "POST", "/v1/sessions", { id: "bobs" });
      await world.ask("bob", "POST", "/v1/sessions/bobs/inputs", { text: "Hi" });
      await theirs.kind("committed");
      expect(theirs.facts.map(({ data }) => data.sessionId)).toEqual(theirs.facts.map(() => "bobs"));
      return;
    }
    await own.kind("waiting");
    const theirs = await world.ask("bob", "GET", path);
    expect(theirs.status).toBe(404);
  } else {
    const theirs = await send("bob");
    if (foreign === "allowed") expect(theirs.status).toBe(route.status ?? 200);
    else if (foreign === "nothing") expect(theirs.json).toEqual([]);
    else if (foreign === "forbidden") expect(theirs).toMatchObject({ status: 403, json: { code: "server.forbidden" } });
    else {
      // It looks exactly as if there were no such thing.
      const names = Object.keys(CASES[name].path?.(things) ?? {});
      const absent = await send("bob", path.replace(/\/(trip|empty|spare|trn_\w+|wai_\w+|job_\w+)/, "/no"));
      expect(names.length).toBeGreaterThan(0);
      expect([theirs.status, theirs.json.code]).toEqual([absent.status, absent.json.code]);
      expect(theirs.status).toBe(404);
      const holder = path.split("/")[3]?.split("?")[0] ?? "";
      expect(theirs.text.replaceAll(holder, "no")).toBe(absent.text);
    }
    const own = await (name === "createSession"
      ? world.ask("ann", "POST", path, { id: "own" })
      : send(isForRoot ? "root" : "ann"));
    expect(own.text === "" || own.status < 300 || own.text).toBe(true);
    expect(own.status).toBe(route.status ?? 200);
    shows?.(own.json as never, things);
  }
  expect(key).not.toBe("");
  expect(world.answers.filter((text) => text.includes(key))).toEqual([]);
  expect(world.errors).toEqual([]);
});
