// Streams of the client over real connections: deltas, proxies that cut, silence, aborts. They run side by side, because they
// wait for most of their time.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { SessionEvent } from "bowline";
import { ClientError, type ClientView, fold } from "bowline/client";
import { says, scripted } from "bowline/testing";
import { expect, test } from "vitest";
import { startProxy } from "../kit/proxy.ts";
import { codeOf, eventually, only, passed, shown, within } from "../kit/reading.ts";
import { running } from "../kit/worlds.ts";
import { collected, cursorsIn, hasRead, isEndOf, json, served, TOKEN } from "./serving.ts";
import { answer, approve, world } from "./world.ts";

const ODD = [
  "Grüße ",
  "👩🏽‍🚀",
  " \ud83d",
  "\ude80 ",
  "日本語\r\n",
  "\u2028",
  "\0",
  ' "n": [1, "x"] ',
  "data: 1\n\nid: 9@s\n\n",
  "е́",
];
const WORDS = Array.from({ length: 300 }, (_, nth) => `${nth} ${ODD[nth % ODD.length]}`);

/** Says a word at a time, so that a turn takes a while. */
const slowly = (words: readonly string[], ms = 2) => ({
  id: "slow",
  modelId: "test",
  async *stream() {
    for (const delta of words) {
      await passed(ms);
      yield { kind: "text", delta } as const;
    }
    yield* says().slice(-1);
  },
});

test.concurrent("E2 E5 send, follow and view give what the session has", async () => {
  await using server = await served(await running({ model: slowly(ODD, 30) }));
  const { client, runtime } = server;
  await client.sessions.create({ id: "s" });
  const views = collected(client.view("s"), hasRead(1));
  const { turnId } = await client.send("s", "Hi");
  const events = await within(collected(client.follow(turnId)));
  expect(shown(events)).toBe(ODD.join(""));
  expect(events.at(-1)).toMatchObject({ fact: true, kind: "committed", outcome: { text: ODD.join("") } });
  const view = (await within(views)).at(-1) as ClientView;
  const read = await (await runtime.session("s")).read();
  expect(view.read).toEqual(json(read));
  expect(await client.read("s")).toEqual(json(read));
  expect(view).toEqual(fold(undefined, json(read)));
});

test.concurrent("E2 E5 a turn that has ended is followed too: its end comes, and the stream ends", async () => {
  await using server = await served(await running({ model: scripted(says("Hi.")) }));
  await server.client.sessions.create({ id: "s" });
  const { turnId } = await server.client.send("s", "Hi");
  const first = await within(collected(server.client.follow(turnId)));
  const again = await within(collected(server.client.follow(turnId)));
  expect(again.at(-1)).toEqual(first.at(-1));
});

test.concurrent("E2 E5 the stream of a session has all that observe has, deltas joined", async () => {
  const moment = () => passed(3);
  await using server = await served(await running(world(moment)));
  const { client, runtime } = server;
  const session = await runtime.session("s");
  void approve(runtime, session.observe({ tree: true }));
  const here = collected(session.observe(), (event) => event.kind === "committed");
  const there = collected(client.observe("s"), (event) => event.kind === "committed");
  const tree = collected(
    client.observe("s", { tree: true }),
    (event) => event.kind === "committed" && event.sessionId === "s",
  );
  const view = collected(client.view("s"), hasRead(1));
  await client.send("s", "Go");
  const [ours, theirs] = [await within(here), await within(there)];
  expect(cursorsIn(theirs)).toEqual(cursorsIn(ours));
  expect(theirs.reduce<ClientView | undefined>(fold, undefined)).toEqual(
    json(ours).reduce<ClientView | undefined>(fold, undefined),
  );
  expect(new Set((await within(tree)).map(({ sessionId }) => sessionId))).toEqual(new Set(["s", "below"]));
  expect((await within(view)).at(-1)?.read).toEqual(json(await session.read()));
});

test.concurrent("E2 E5 the facts of all sessions come in one order, with the cursors to continue from", async () => {
  await using server = await served(await running({ model: scripted(says("A"), says("B"), says("C")) }));
  const { client } = server;
  for (const id of ["a", "b"]) await client.sessions.create({ id, tags: [id] });
  const all = collected(client.events(), ({ kind, sessionId }) => kind === "committed" && sessionId === "b");
  for (const id of ["a", "b"]) await within(collected(client.follow((await client.send(id, "Hi")).turnId)));
  const facts = await within(all);
  expect(facts.map(({ sessionId, kind }) => `${sessionId} ${kind}`)).toEqual(
    expect.arrayContaining(["a accepted", "a committed", "b accepted", "b committed"]),
  );
  const after = facts.find(({ sessionId, kind }) => sessionId === "a" && kind === "committed")?.cursor;
  const rest = collected(client.events({ after, tag: "b" }), ({ kind }) => kind === "committed");
  expect(await within(rest)).toEqual(facts.filter(({ sessionId }) => sessionId === "b"));
});

// ── Connections that break ──────────────────────────────────────────────────────────────────────────────────────────

test.concurrent.each([37, 701, 2_503, 9_001])(
  "E2 E5 cut every %d bytes: each fact and each delta comes once",
  async (bytes) => {
    await using server = await served(await running({ model: slowly(WORDS, 6) }));
    await using proxy = await startProxy(server.url);
    const client = server.clientOf({ url: proxy.url(server.url) });
    await client.sessions.create({ id: "ünï/日本?#" });
    const { turnId } = await client.send("ünï/日本?#", "Hi");
    let cuts = 0;
    const onConnection = (lost?: ClientError): void => {
      if (lost === undefined) return;
      expect(lost.code).toBe("client.unreachable");
      if (cuts++ < 3) void proxy.cutWhen({ bytes: bytes + 500 * cuts, from: "server" });
    };
    void proxy.cutWhen({ bytes: bytes + 600, from: "server" });
    const [turn, session, view] = await within(
      Promise.all([
        collected(client.follow(turnId, { onConnection })),
        collected(client.observe("ünï/日本?#", { onConnection }), isEndOf(turnId)),
        collected(client.view("ünï/日本?#", { onConnection }), hasRead(1)),
      ]),
      25_000,
    );
    expect(cuts).toBeGreaterThan(1);
    for (const events of [turn, session] as (readonly SessionEvent[])[]) {
      expect(
        only(events, "text")
          .map(({ delta }) => delta)
          .join(""),
      ).toBe(WORDS.join(""));
      expect(new Set(cursorsIn(events)).size).toBe(cursorsIn(events).length);
    }
    expect(cursorsIn(session).at(-1)).toBe(cursorsIn(turn).at(-1));
    expect(view.at(-1)?.read).toEqual(json(await server.client.read("ünï/日本?#")));
  },
);

test.concurrent("E2 E5 a turn that ends while the client is away after a wait is still told to its end", async () => {
  await using server = await served(await running(world(async () => {})));
  const { runtime } = server;
  await using proxy = await startProxy(server.url);
  const client = server.clientOf({ url: proxy.url(server.url) });
  const session = await runtime.session("s");
  const { turnId } = await client.send("s", "Go");
  const events: SessionEvent[] = [];
  const following = (async () => {
    for await (const event of client.follow(turnId)) events.push(event);
  })();
  await eventually(() => only(events, "waiting").length === 1);
  await proxy.refuse(true);
  proxy.cut();
  void approve(runtime, session.observe({ tree: true }));
  await answer(runtime, only(events, "waiting")[0]!.wait, { approved: true });
  await session.follow(turnId).result();
  await proxy.refuse(false);
  await within(following);
  expect(events.at(-1)).toMatchObject({ kind: "committed", turnId });
  expect(new Set(cursorsIn(events)).size).toBe(cursorsIn(events).length);
});

test.concurrent("E2 E5 a connection that has become silent is replaced", async () => {
  await using server = await served(await running({ model: slowly(["One ", "two ", "three ", "four."], 400) }));
  await using proxy = await startProxy(server.url);
  const client = server.clientOf({ url: proxy.url(server.url), silentMs: 500 });
  await client.sessions.create({ id: "s" });
  const { turnId } = await client.send("s", "Hi");
  const events = collected(client.follow(turnId));
  await passed(600);
  proxy.strand();
  expect(shown(await within(events))).toBe("One two three four.");
});

test.concurrent("E2 E5 a lost answer: the input is sent again with the same key, and accepted once", async () => {
  await using server = await served(await running());
  await using proxy = await startProxy(server.url);
  const client = server.clientOf({ url: proxy.url(server.url) });
  await client.sessions.create({ id: "s" });
  for (const when of ["before", "sent", "answered"] as const) {
    const cut = proxy.cutWhen({ client: "/inputs", when });
    const { turnId } = await within(client.send("s", when));
    await cut;
    await within(collected(client.follow(turnId)));
  }
  const { messages, turns } = await client.read("s");
  expect(turns).toBe(3);
  expect(messages.filter(({ role }) => role === "user")).toHaveLength(3);
});

test.concurrent("E2 E5 a server that closes ends its streams; the client continues with the server that takes its port", async () => {
  const runtime = await running({ model: slowly(WORDS, 10) });
  const first = await served(runtime);
  const { client } = first;
  await client.sessions.create({ id: "s" });
  const { turnId } = await client.send("s", "Hi");
  const lost: string[] = [];
  const events = collected(client.follow(turnId, { onConnection: (error) => lost.push(error?.code ?? "open") }));
  await passed(100);
  const closing = first.close();
  await using _second = await served(runtime, {}, Number(new URL(first.url).port));
  expect(shown(await within(events))).toBe(WORDS.join(""));
  expect(lost[0]).toBe("client.unreachable");
  expect(lost.at(-1)).toBe("open");
  await closing;
});

// ── Refusals ────────────────────────────────────────────────────────────────────────────────────────────────────────

test.concurrent("E2 E5 a stream that was never open ends with the error: a wrong URL, a wrong token, an unknown session or turn", async () => {
  await using server = await served();
  const ends = (options: Parameters<typeof server.clientOf>[0], count = 4) => {
    const client = server.clientOf(options);
    const streams = [client.view("s"), client.observe("s"), client.follow("t"), client.events()].slice(0, count);
    return Promise.all(streams.map((stream) => codeOf(() => stream.next())));
  };
  const nobody = await startProxy(server.url);
  await nobody.close();
  expect(await within(ends({ url: nobody.url(server.url) }))).toEqual(Array(4).fill("client.unreachable"));
  expect(await ends({ token: "wrong-wrong-wrong" })).toEqual(Array(4).fill("server.unauthorized"));
  expect(await within(ends({}, 3))).toEqual(["session.unknown", "session.unknown", "turn.unknown"]);
});

test.concurrent("E2 E5 a stream waits as long as a busy server asks", async () => {
  await using server = await served(undefined, { limits: { streams: 1 } });
  const { client } = server;
  await client.sessions.create({ id: "s" });
  const leaving = new AbortController();
  const holder = client.observe("s", { signal: leaving.signal });
  const held = holder.next();
  await passed(100);
  const lost: (ClientError | undefined)[] = [];
  const second = client.observe("s", { onConnection: (error) => lost.push(error) });
  const events = collected(second, (event) => event.kind === "committed");
  await eventually(() => lost.length > 0);
  expect(lost[0]).toMatchObject({ code: "server.busy", status: 429, retry: "unchanged", retryAfterMs: 1_000 });
  leaving.abort();
  expect((await held).done).toBe(true);
  await eventually(() => lost.at(-1) === undefined);
  await client.send("s", "Hi");
  expect((await within(events)).map(({ kind }) => kind)).toContain("accepted");
});

test.concurrent("E2 E5 a session that is deleted ends its streams with the reason", async () => {
  await using server = await served();
  const { client } = server;
  await client.sessions.create({ id: "s" });
  const streams = [client.view("s"), client.observe("s")] as const;
  const codes = streams.map((stream) => codeOf(() => collected<unknown>(stream)));
  await passed(100);
  await client.sessions.delete("s");
  expect(await within(Promise.all(codes))).toEqual(
    Array(2).fill(expect.stringMatching(/^session\.(deleted|unknown)$/)),
  );
});

test.concurrent("E2 E5 an abort ends every stream without an error and closes its connection", async () => {
  await using server = await served();
  await using proxy = await startProxy(server.url);
  const client = server.clientOf({ url: proxy.url(server.url) });
  await client.sessions.create({ id: "s" });
  const leaving = new AbortController();
  const { signal } = leaving;
  const streams = [client.view("s", { signal }), client.observe("s", { signal }), client.events({ signal })];
  const all = streams.map((stream) => collected<unknown>(stream));
  await passed(100);
  leaving.abort();
  await within(Promise.all(all));
  expect(await collected(client.view("s", { signal }))).toEqual([]);
  await eventually(() => proxy.connections <= 1); // At most one that is kept for the next request.
  const aborted = client.request("getSession", { path: { id: "s" }, signal });
  await expect(aborted).rejects.toMatchObject({ name: "AbortError" });
});

test.concurrent("E2 E5 leaving the loop closes the connection", async () => {
  await using server = await served(await running({ model: slowly(WORDS, 30) }), { limits: { streams: 1 } });
  const { client } = server;
  await client.sessions.create({ id: "s" });
  const { turnId } = await client.send("s", "Hi");
  for (let times = 0; times < 3; times++) for await (const _ of client.follow(turnId)) break;
  expect((await client.turns.get(turnId)).state).toBe("running");
  await client.turns.cancel(turnId);
});

// ── Odd servers ─────────────────────────────────────────────────────────────────────────────────────────────────────

/** Answers each request of an event stream with the next of these bodies, some bytes at a time. */
async function answering(bodies: readonly string[], step: number) {
  let nth = 0;
  const asked: string[] = [];
  const server = createServer(async (request, response) => {
    asked.push(`${request.url} ${request.headers["last-event-id"] ?? ""}`.trim());
    const body = bodies[nth++];
    if (body === undefined) return void response.writeHead(204).end();
    response.writeHead(200, { "content-type": "text/event-stream" });
    const bytes = Buffer.from(body);
    for (let at = 0; at < bytes.length; at += step) {
      response.write(bytes.subarray(at, at + step));
      await new Promise((resolve) => setImmediate(resolve));
    }
    response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url, asked, [Symbol.asyncDispose]: async () => void server.close() };
}

const preview = (delta: string, n: number) =>
  `data: ${JSON.stringify({ fact: false, sessionId: "s", turnId: "t", key: { effect: "r1.ask", generation: 1, attempt: 1 }, kind: "text", delta, n })}\n\n`;
const fact = (cursor: string) =>
  `id: ${cursor}\ndata: ${JSON.stringify({ fact: true, sessionId: "s", cursor, kind: "accepted", inputId: cursor })}\n\n`;

test.concurrent.each([1, 2, 3, 7, 1_000])(
  "E2 frames in pieces of %d bytes, with CRLF, comments and unknown fields",
  async (step) => {
    const odd = "👩🏽‍🚀\u2028日本";
    const body = `retry: 1000\n\n: hello\n\n${preview(odd, 1)}: \n\nfoo: bar\ndata:[1,"${odd}"]\n\n${fact("1@s")}data: [1,"lost`;
    const crlf = `event: problem\r\nid: 9@s\r\ndata: {"type":"x","title":"Over.","status":410,\r\ndata: "code":"x.over","hint":"","retry":"never"}\r\n\r\n`;
    await using server = await answering([body, `${preview(odd + odd, 4)}data: [4,"!"]\n\n${fact("2@s")}`, crlf], step);
    const client = (await import("bowline/client")).createClient({ url: `${server.url}/`, token: TOKEN });
    const events: SessionEvent[] = [];
    const error = await within(
      (async () => {
        for await (const event of client.observe("s")) events.push(event);
      })().catch((thrown: unknown) => thrown),
    );
    expect(error).toBeInstanceOf(ClientError);
    expect(error).toMatchObject({ code: "x.over", status: 410, message: "Over." });
    expect(shown(events)).toBe(`${odd}${odd}!`);
    expect(cursorsIn(events)).toEqual(["1@s", "2@s"]);
    expect(server.asked.map((url) => url.replace("/v1/sessions/s/events", ""))).toEqual([
      "",
      "?after=1%40s",
      "?after=2%40s",
    ]);
  },
);

test.concurrent("E2 E5 a gap: the view that the server leaves out is read, and the previews that follow count", async () => {
  await using server = await served(await running({ model: slowly(["x"]) }));
  const { client } = server;
  await client.sessions.create({ id: "s" });
  const gap = `id: 3@s\ndata: {"fact":true,"sessionId":"s","cursor":"3@s","kind":"gap"}\n\n`;
  await using odd = await answering([`${preview("Lost", 1)}${gap}${preview("Kept", 2)}`], 1_000);
  const fetch = (url: string | URL | Request, init?: RequestInit) =>
    globalThis.fetch(String(url).includes("/events") ? String(url).replace(server.url, odd.url) : url, init);
  const events = await within(collected(server.clientOf({ fetch: fetch as typeof globalThis.fetch }).observe("s")));
  expect(events.map(({ kind }) => kind)).toEqual(["text", "gap", "text"]);
  expect(only(events, "gap")[0]?.view).toMatchObject({ id: "s", messages: [] });
});
