// What the studio asks of a server besides what every client does: search, schedules, usage, status.
import { describe, expect, test } from "vitest";
import { file } from "../kit/stores.ts";
import { opened, type World } from "./world.ts";

const STORES = [
  ["memory", () => undefined],
  ["SQLite", () => file()],
] as const;

/** Sessions of two owners: a tree, labels, tags and words. */
async function populated({ runtime }: World): Promise<void> {
  const make = (id: string, owner: string, more: object = {}) => runtime.sessions.create({ id, owner, ...more });
  await make("trip", "ann", { config: { label: "Journey to Rome" }, tags: ["travel"] });
  await make("hotel", "ann", { kind: "child", from: "trip", config: { label: "Rooms" } });
  await make("Ledger", "ann", { tags: ["100%", "a_b"] });
  await make("other", "bob", { config: { label: "Journey to Oslo" }, tags: ["travel"] });
  for (const [id, words] of [
    ["trip", "Buy TICKETS"],
    ["Ledger", "Sum it up"],
  ] as const) {
    const { turnId } = await runtime.sessions.send(id, words);
    await runtime.sessions.follow(turnId).result();
  }
}

describe.each(STORES)("on %s", (_, path) => {
  test("E5 E6 sessions are found by words in their id, label, owner, tags and last words, in any case", async () => {
    await using world = await opened({}, path());
    await populated(world);
    const found = async (user: string, query: object) => {
      const search = new URLSearchParams(query as Record<string, string>);
      const { status, json } = await world.ask(user, "GET", `/v1/sessions?${search}`);
      expect(status).toBe(200);
      return (json as { id: string }[]).map(({ id }) => id);
    };
    expect(await found("root", { search: "journey" })).toEqual(["other", "trip"]);
    expect(await found("root", { search: " ROME  journey " })).toEqual(["trip"]);
    expect(await found("root", { search: "hot" })).toEqual(["hotel"]);
    expect(await found("root", { search: "bob" })).toEqual(["other"]);
    expect(await found("root", { search: "travel" })).toEqual(["hotel", "other", "trip"]); // A child has its parent's tags.
    expect(await found("root", { search: "tickets" })).toEqual(["trip"]);
    expect(await found("root", { search: "ledger" })).toEqual(["Ledger"]);
    for (const word of ["%", "_", "100% a_b"]) expect(await found("root", { search: word })).toEqual(["Ledger"]);
    expect(await found("root", { search: "rome oslo" })).toEqual([]);
    expect(await found("root", { search: "  " })).toEqual(["Ledger", "hotel", "other", "trip"]);
    expect(await found("root", { isRoot: "true" })).toEqual(["Ledger", "other", "trip"]);
    expect(await found("root", { isRoot: "false" })).toEqual(["Ledger", "hotel", "other", "trip"]);
    expect(await found("root", { isRoot: "true", search: "o", tag: "travel" })).toEqual(["other", "trip"]);
    expect(await found("root", { order: "created", search: "journey" })).toEqual(["other", "trip"]);
    expect(await found("ann", { search: "journey" })).toEqual(["trip"]);
    expect(await found("ann", { search: "oslo" })).toEqual([]);
    expect((await world.ask("ann", "GET", "/v1/sessions?search=x&owner=bob")).status).toBe(403);
    expect((await world.ask("ann", "GET", "/v1/sessions?search=x&order=activity&before=no")).status).toBe(400);
  });

  test("E5 E6 a search has pages in every order, and reads past the sessions that do not match", async () => {
    await using world = await opened({}, path());
    const ids = Array.from({ length: 450 }, (_, nth) => `s${String(nth).padStart(3, "0")}`);
    for (const [nth, id] of ids.entries())
      await world.runtime.sessions.create({ id, owner: "ann", config: { label: nth % 50 === 7 ? "Wanted" : "Noise" } });
    const wanted = ids.filter((_, nth) => nth % 50 === 7);
    for (const order of ["id", "created", "activity"]) {
      const read: string[] = [];
      for (let place = ""; ; ) {
        const { json } = await world.ask("ann", "GET", `/v1/sessions?search=wanted&order=${order}&max=4${place}`);
        const page = json as { id: string; cursor: string }[];
        expect(page.length).toBeLessThanOrEqual(4);
        read.push(...page.map(({ id }) => id));
        const last = page.at(-1);
        if (last === undefined) break;
        place = order === "id" ? `&after=${last.id}` : `&before=${last.cursor}`;
      }
      expect(read, order).toEqual(order === "id" ? wanted : wanted.toReversed());
    }
  });

  test("E5 E6 a schedule is run once for a key, disabled, and removed; the work of an event is started by its event", async () => {
    await using world = await opened({}, path());
    await populated(world);
    const { triggers, jobs } = world.runtime;
    const on = { cron: "0 0 1 1 *" };
    await triggers.of("trip").subscribe({ id: "new/year", on, send: "Happy new year." });
    await triggers.of("trip").subscribe({ id: "mails", on: { event: "mail.received" }, send: "Read." });
    const at = (id: string, rest = "") => `/v1/sessions/trip/triggers/${encodeURIComponent(id)}${rest}`;
    const run = (id: string, body?: object) => world.ask("ann", "POST", at(id, "/run"), body);

    const clicks = await Promise.all([run("new/year", { key: "click" }), run("new/year", { key: "click" })]);
    expect(clicks.map(({ status }) => status)).toEqual([200, 200]);
    expect(clicks[0]?.json).toEqual(clicks[1]?.json);
    const more = await run("new/year");
    expect(more.json.id).not.toBe(clicks[0]?.json.id);
    const turns = [clicks[0], more].map((each) => each?.json.deliveries[0].turnId as string);
    for (const turn of turns)
      expect((await world.runtime.sessions.follow(turn).result()).outcome.kind).toBe("answered");
    expect(await jobs.list({ session: "trip" })).toHaveLength(2);

    expect(await run("mails")).toMatchObject({ status: 400, json: { code: "trigger.no-schedule" } });
    expect((await run("mails")).json.hint).toContain("triggers.emit");
    expect(await run("none")).toMatchObject({ status: 404, json: { code: "trigger.missing" } });
    expect(await run("new/year", { at: 1 })).toMatchObject({ status: 400, json: { code: "server.invalid" } });

    const set = (isEnabled: unknown) => world.ask("ann", "PATCH", at("new/year"), { isEnabled });
    expect((await set(false)).json).toMatchObject({ isEnabled: false, revision: 2 });
    expect((await set(false)).json).toMatchObject({ isEnabled: false, revision: 2 }); // Pressed twice.
    expect(await run("new/year")).toMatchObject({ status: 409, json: { code: "trigger.disabled" } });
    expect((await set(true)).json).toMatchObject({ isEnabled: true, next: expect.any(Number) });
    expect((await set("yes")).status).toBe(400);
    expect((await world.ask("ann", "DELETE", at("new/year"))).status).toBe(204);
    for (const gone of [await world.ask("ann", "DELETE", at("new/year")), await set(true), await run("new/year")])
      expect(gone).toMatchObject({ status: 404, json: { code: "trigger.missing" } });
    expect((await world.ask("ann", "GET", "/v1/triggers")).json).toMatchObject([{ id: "mails" }]);
  });

  test("E5 E6 a report of usage has the caller's own turns only", async () => {
    await using world = await opened({}, path());
    await populated(world);
    const report = async (user: string, query = "") => (await world.ask(user, "GET", `/v1/usage${query}`)).json;
    const ann = await report("ann");
    expect(ann.rows).toMatchObject([{ model: "speaker/test", turns: 2 }]);
    expect(ann.sessions.map(({ id }: { id: string }) => id).sort()).toEqual(["Ledger", "trip"]);
    expect(await report("bob")).toMatchObject({ rows: [], sessions: [], tools: [], toolTurns: 0 });
    expect((await report("root", "?owner=ann")).rows).toEqual(ann.rows);
    expect((await report("root", "?until=1000")).rows).toEqual([]);
    expect((await world.ask("bob", "GET", "/v1/usage?owner=ann")).status).toBe(403);
    expect((await world.ask("ann", "GET", "/v1/usage?since=soon")).status).toBe(400);
  });
});

test("E5 E6 a search whose caller has left reads no further", async () => {
  await using world = await opened();
  const { runtime, server } = world;
  for (let nth = 0; nth < 450; nth++) await runtime.sessions.create({ owner: "ann" });
  const leaving = new AbortController();
  let pages = 0;
  const { list } = runtime.sessions;
  Object.assign(runtime.sessions, {
    list: (page: object) => {
      pages += 1;
      leaving.abort();
      return list(page);
    },
  });
  const headers = { authorization: "Bearer ann", host: "localhost" };
  const request = new Request("http://localhost/v1/sessions?search=none", { headers, signal: leaving.signal });
  expect((await server.fetch(request)).status).toBe(200);
  expect(pages).toBe(1);
});

test("E5 E6 the status and the check are for callers without an owner, and show the server's version and start", async () => {
  await using world = await opened({}, file());
  const { json } = await world.ask("root", "GET", "/v1/status");
  expect(json).toMatchObject({ version: expect.any(String), store: "sqlite", workers: [] });
  expect(json.since).toBeLessThanOrEqual(json.now);
  const checked = await world.ask("root", "POST", "/v1/check");
  expect(checked.json).toEqual({ findings: [], ms: expect.any(Number) });
  expect((await world.ask("root", "POST", "/v1/check", { deep: "yes" })).status).toBe(400);
});

test("E5 E6 a request for a session that does not exist is refused, and creates none", async () => {
  await using world = await opened();
  const reads = ["", "/summary", "/history", "/states", "/tools", "/usage", "/operations", "/plugins", "/inputs"];
  const asked = [
    ...reads.map((rest) => ["GET", rest] as const),
    ["PATCH", "", { label: "No" }],
    ["POST", "/operations/acme%2Fall.look", { kind: "query" }],
    ["POST", "/compact", {}],
    ["POST", "/cancel", {}],
    ["POST", "/inputs", { text: "No" }],
    ["DELETE", "/inputs/none"],
  ] as const;
  for (const [method, rest, body] of asked)
    expect(await world.ask("root", method, `/v1/sessions/typo${rest}`, body), `${method} ${rest}`).toMatchObject({
      ...{ status: 404, json: { code: "session.unknown" } },
    });
  expect(await world.runtime.sessions.list()).toEqual([]);
});

test("E6 the address of the studio without its last slash leads to the studio", async () => {
  await using world = await opened({ studio: true });
  for (const path of ["/studio", "/"]) {
    const { status, headers } = await world.ask(undefined, "GET", path);
    expect([path, status, headers.get("location")]).toEqual([path, 302, "/studio/"]);
  }
});
