// Calls of the client on a real server: what they send, what they reject with, and their types.
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { defineTool, type RuntimeFact, type SessionEvent } from "bowline";
import { ClientError, type ClientOptions, type ClientView, createClient, type PublicWait } from "bowline/client";
import { says, scripted } from "bowline/testing";
import { build } from "tsdown";
import { expect, expectTypeOf, test } from "vitest";
import { ROUTES as OURS } from "../../src/client/routes.ts";
import { ROUTES } from "../../src/server/routes.ts";
import { builtPackage } from "../kit/built.ts";
import { codeOf, eventually, within } from "../kit/reading.ts";
import { running } from "../kit/worlds.ts";
import { collected, hasRead, json, served, TOKEN } from "./serving.ts";
import { world } from "./world.ts";

test("E2 E5 the routes of the client are those of the server", () => {
  const theirs = Object.entries(ROUTES).map(([name, { method, path }]) => [name, `${method} ${path}`]);
  expect(OURS).toEqual(Object.fromEntries(theirs));
});

test("E2 E5 sessions: create, list, find, read, history, fork, tools, usage, cancel, delete", async () => {
  const ping = defineTool({ name: "ping", description: "Pings.", input: { type: "object" }, execute: () => "pong" });
  await using server = await served(await running({ model: scripted(says("Hi.")), tools: [ping] }));
  const { client, runtime } = server;
  const id = "ä/../日本 ?#%2F@";
  expect(await client.sessions.create({ id, tags: ["x"], config: { label: "Odd" } })).toMatchObject({
    id,
    kind: "fresh",
  });
  expect(await codeOf(client.sessions.create({ id }))).toBe("session.exists");
  const { turnId } = await client.send(id, "Hi", { metadata: { from: "test" } });
  await within(collected(client.follow(turnId)));
  expect(await client.sessions.list({ tag: "x", max: 5 })).toMatchObject([{ id, label: "Odd", turns: 1 }]);
  expect(await client.sessions.find(id)).toMatchObject({ id, state: "idle" });
  const read = json(await runtime.sessions.get(id));
  expect(await client.read(id)).toEqual(read);
  expect(await client.sessions.get(id)).toEqual(read);
  expect(await client.sessions.history(id, { max: 1 })).toMatchObject([{ id: read.head }]);
  const fork = await client.sessions.fork(id, { label: "Other" });
  expect(await client.sessions.list({ origin: id })).toMatchObject([{ id: fork.id, label: "Other" }]);
  expect((await client.sessions.tools(id)).map(({ name }) => name)).toEqual(["ping"]);
  expect(await client.sessions.usage(id)).toEqual(json(await runtime.sessions.usage(id)));
  expect(await client.sessions.cancel(id)).toEqual({ kind: "unknown" });
  expect(await client.turns.get(turnId)).toMatchObject({ metadata: { from: "test" }, state: "ended" });
  expect(await client.turns.list({ session: id })).toMatchObject([{ id: turnId, outcome: "answered" }]);
  expect(await client.turns.timeline(turnId)).toMatchObject({ turnId, isOpen: false });
  expect((await client.turns.journal(turnId))[0]).toMatchObject({ kind: "opened" });
  expect(await client.turns.cancel(turnId)).toMatchObject({ kind: "already-completed" });
  expect(await client.request("configureSession", { path: { id }, body: { label: "New" } })).toMatchObject({
    label: "New",
  });
  expect(await client.request("compareSessions", { path: { id, other: fork.id } })).toMatchObject({
    common: read.head,
  });
  expect(await client.sessions.delete(id)).toBeNull();
  expect(await codeOf(client.read(id))).toMatch(/^session\./);
});

test("E2 E5 waits: a supervisor approves what a turn waits for, once", async () => {
  await using server = await served(await running(world(async () => {})));
  const { client } = server;
  await client.sessions.create({ id: "s" });
  const views = collected(client.view("s"), hasRead(1));
  const { turnId } = await client.send("s", "Go");
  for (let nth = 0; nth < 2; nth++) {
    const [wait] = await eventually(async () => {
      const found = await client.waits.list({ tree: "s" });
      return found.length > 0 ? found : undefined;
    });
    expect(wait).not.toHaveProperty("key");
    expect(await client.waits.get(wait!.id)).toMatchObject({ id: wait!.id, kind: "approval" });
    expect(await codeOf(client.waits.answer(wait!.id, { value: "yes" }))).toBe("wait.answer");
    expect(await client.waits.answer(wait!.id, { approved: true })).toEqual({ kind: "accepted" });
    expect(await codeOf(async () => (await client.waits.revoke(wait!.id)).kind)).toMatch(/^wait\.|nothing/);
  }
  await within(collected(client.follow(turnId)));
  const shown = await within(views);
  expect(shown.some(({ turns }) => turns.some((turn) => turn.kind === "running" && turn.waits.length > 0))).toBe(true);
  expect(shown.at(-1)?.read?.messages.at(-1)?.parts).toEqual([{ kind: "text", text: "All done." }]);
});

test("E2 E5 attachments: bytes are stored, sent and read again", async () => {
  await using server = await served();
  const { client } = server;
  await client.sessions.create({ id: "s" });
  const data = Uint8Array.from({ length: 3_000 }, (_, nth) => nth % 256);
  const attachment = await client.blobs.put("s", data, { mediaType: "image/png", name: "é.png" });
  expect(attachment).toMatchObject({ kind: "attachment", mediaType: "image/png", name: "é.png", bytes: 3_000 });
  const { turnId } = await client.send("s", ["Look: ", attachment]);
  await within(collected(client.follow(turnId)));
  expect(await client.blobs.get("s", attachment.hash)).toEqual(data);
  const other = await client.blobs.put("s", new Blob(["hi"], { type: "text/plain" }));
  expect(other).toMatchObject({ mediaType: "text/plain", bytes: 2 });
});

test("E5 jobs and triggers: what waits for a time and what an event starts", async () => {
  await using server = await served();
  const { client, runtime } = server;
  const session = await runtime.session("s");
  const { jobId } = await session.sendAfter(3_600_000, "Later");
  expect(await client.jobs.list({ session: "s", isLive: true })).toMatchObject([{ id: jobId }]);
  expect(await client.jobs.get(jobId)).toMatchObject({ state: "running" });
  expect(await client.jobs.cancel(jobId, "No.")).toMatchObject({ id: jobId, state: "cancelled" });
  expect(await codeOf(client.jobs.signal(jobId, "x"))).toMatch(/^job\./);
  expect(await client.triggers.list({ session: "s" })).toEqual([]);
  expect(await client.triggers.occurrences()).toEqual([]);
  expect(await codeOf(client.triggers.emit("no/such"))).toBe("trigger.unknown");
});

// ── Errors ──────────────────────────────────────────────────────────────────────────────────────────────────────────

test("E2 E5 an error has the code, the hint and the retry of the server", async () => {
  await using server = await served();
  const error = await server.client.read("none").catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ClientError);
  expect(error).toMatchObject({ name: "ClientError", code: "session.unknown", status: 404, retry: "never" });
  expect(String(error)).toContain("none");
  expect((error as ClientError).hint).not.toBe("");
  expect(error).not.toHaveProperty("retryAfterMs");
});

test("E2 E5 a wrong token, a renewed one, and more headers", async () => {
  await using server = await served();
  expect(await codeOf(server.clientOf({ token: undefined }).sessions.list())).toBe("server.unauthorized");
  expect(await codeOf(server.clientOf({ token: "wrong" }).send("s", "Hi"))).toBe("server.unauthorized");
  let asked = 0;
  const renewing = server.clientOf({ token: async () => (asked++ === 0 ? "old" : TOKEN) });
  expect(await codeOf(renewing.sessions.list())).toBe("server.unauthorized");
  expect(await renewing.sessions.list()).toEqual([]);
  const headers = { authorization: `Bearer ${TOKEN}` };
  expect(await server.clientOf({ token: undefined, headers }).sessions.list()).toEqual([]);
});

test("E2 E5 a server that is not there, a server of another kind, and ids that no path can have", async () => {
  const other = createServer((request, response) => {
    response.statusCode = request.url?.includes("health") === true ? 502 : 404;
    response.end("<html>");
  });
  await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}/agent/`;
  const client = createClient({ url });
  await expect(client.read("s")).rejects.toMatchObject({ code: "client.answer", status: 404, retry: "never" });
  await expect(client.request("health", {})).rejects.toMatchObject({ status: 502, retry: "unchanged" });
  for (const id of ["", ".", "..", "\ud800"]) expect(await codeOf(client.read(id))).toBe("client.invalid");
  await new Promise((resolve) => other.close(resolve));
  await expect(client.read("s")).rejects.toMatchObject({ code: "client.unreachable", retry: "unchanged" });
  expect(await codeOf(within(client.send("s", "Hi"), 20_000))).toBe("client.unreachable");
});

test.each([
  [undefined, "url"],
  [null, "url"],
  [{}, "url"],
  [{ url: "" }, "url"],
  [{ url: "127.0.0.1:4100" }, "url"],
  [{ url: "localhost:4100" }, "url"],
  [{ url: "ws://localhost" }, "url"],
  [{ url: 4100 }, "url"],
  [{ url: "http://localhost", tokn: TOKEN }, "tokn"],
])("E5 createClient(%j) throws `client.invalid` with the name of the option", (options, name) => {
  let thrown: unknown;
  try {
    createClient(options as ClientOptions);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(ClientError);
  expect(thrown).toMatchObject({
    ...{ code: "client.invalid", message: `Invalid option \`${name}\`.` },
    hint: "The options are url, token, fetch, headers, silentMs. The URL begins with http:",
  });
});

test("E5 on a page the URL of the server can be a path", async () => {
  const asked: unknown[] = [];
  const fetch = async (url: unknown) => {
    asked.push(url);
    return Response.json([]);
  };
  await createClient({ url: "/agent/", fetch }).sessions.list();
  expect(asked).toEqual(["/agent/v1/sessions"]);
});

test("E2 E5 a busy server: an input is sent again, and a second one with the key of another is refused", async () => {
  await using server = await served(undefined, { limits: { writesPerMinute: 60 } });
  const { client } = server;
  await client.sessions.create({ id: "s" });
  const sent = Array.from({ length: 61 }, (_, nth) => client.send("s", `${nth}`, { key: `${nth}` }));
  expect(new Set((await within(Promise.all(sent), 25_000)).map(({ turnId }) => turnId)).size).toBeGreaterThan(0);
  await expect(client.send("s", "other", { key: "1" })).rejects.toMatchObject({
    code: "input.conflict",
    retry: "never",
  });
});

// ── Types and size ──────────────────────────────────────────────────────────────────────────────────────────────────

test("E2 E5 the types come from the table of routes", () => {
  const client = createClient({ url: "http://127.0.0.1:1" });
  expectTypeOf(client.follow).returns.toEqualTypeOf<AsyncGenerator<SessionEvent, void>>();
  expectTypeOf(client.events).returns.toEqualTypeOf<AsyncGenerator<RuntimeFact, void>>();
  expectTypeOf(client.view).returns.toEqualTypeOf<AsyncGenerator<ClientView, void>>();
  expectTypeOf(client.waits.list).returns.resolves.toEqualTypeOf<readonly PublicWait[]>();
  expectTypeOf(client.send).returns.resolves.toEqualTypeOf<{ readonly turnId: string }>();
  const wrong = () => {
    // @ts-expect-error A path has its parameters.
    void client.request("getSession", {});
    // @ts-expect-error A stream is no JSON.
    void client.request("turnEvents", { path: { id: "t" } });
    // @ts-expect-error No such parameter.
    void client.sessions.list({ sort: "id" });
    // @ts-expect-error An approval says whether.
    void client.waits.answer("w", {});
    void client.request("listSessions", {});
    void client.request("invokeOperation", { path: { id: "s", name: "p.o" }, body: { kind: "query" } });
  };
  expect(wrong).toBeTypeOf("function");
});

test("E2 E5 the client is one file without imports, at most 6 KB", async () => {
  const input = join(await builtPackage(), "dist/client/index.js");
  expect(readFileSync(input, "utf8")).not.toMatch(/^\s*import\b|\bimport\(|\brequire\(/m);
  const [bundle] = await build({
    ...{ config: false, entry: { client: input }, format: "esm", platform: "browser", target: false, minify: true },
    ...{ write: false, clean: false, dts: false, logLevel: "silent" },
  });
  const [chunk] = bundle!.chunks;
  expect(bundle!.chunks).toHaveLength(1);
  expect(gzipSync((chunk as { readonly code: string }).code, { level: 9 }).byteLength).toBeLessThanOrEqual(6 * 1_024);
}, 60_000);
