import { createHmac } from "node:crypto";
import { once } from "node:events";
import { serve } from "bowline/server";
import { expect, test } from "vitest";
import { codeOf, within } from "../kit/reading.ts";
import { running } from "../kit/worlds.ts";
import { authorize, opened, raw, SECRET, TOKEN, type World } from "./world.ts";

const POLICY = /^default-src 'none'; script-src 'self';.*frame-ancestors 'none'$/;

const codeAnd = async (answer: Promise<{ status: number; json: { code?: string } }>) => {
  const { status, json } = await answer;
  return [status, json.code];
};

/** Sends bytes on a socket, and returns what comes back until the server closes it. */
const sent = async ({ listening }: World, lines: readonly string[], body = ""): Promise<string> =>
  within((await raw(listening.port, `${lines.join("\r\n")}\r\n\r\n${body}`)).answer());

const head = (line: string, ...more: readonly string[]) => [
  line,
  "Host: 127.0.0.1",
  "Authorization: Bearer ann",
  "Connection: close",
  ...more,
];

test.each([
  ["Host: evil.example", 421, "server.host"],
  ["Host: 127.0.0.1.evil.example", 421, "server.host"],
  ["Host: localhost.", 421, "server.host"],
  ["Host: 127.0.0.1\r\nOrigin: https://evil.example", 403, "server.origin"],
  ["Host: 127.0.0.1\r\nOrigin: null", 403, "server.origin"],
  ["Host: 127.0.0.1:80\r\nOrigin: http://127.0.0.1:9999", 403, "server.origin"],
  ["Host: 127.0.0.1\r\nSec-Fetch-Site: cross-site", 403, "server.origin"],
  ["Host: 127.0.0.1\r\nSec-Fetch-Site: same-site", 403, "server.origin"],
  ["Host: bad host", 400, "server.invalid"],
  ["Host: 127.0.0.1\r\nSec-Fetch-Site: same-origin", 200, undefined],
  ["Host: localhost:1\r\nOrigin: http://localhost:1", 200, undefined],
])("E2 a request with %j gets %i", async (lines, status, code) => {
  await using world = await opened();
  for (const method of ["GET /v1/health", "GET /v1/sessions"]) {
    const answer = await sent(world, [`${method} HTTP/1.1`, lines, "Authorization: Bearer ann", "Connection: close"]);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toMatch(/content-security-policy: default-src 'none'/i);
    if (code !== undefined) expect(answer).toContain(`"code":"${code}"`);
  }
});

test("E2 E5 names of hosts and origins that the app allows are accepted, and only these", async () => {
  await using world = await opened({ hosts: ["agents.example.com"], origins: ["https://app.example.com"] });
  const ask = (host: string, ...more: string[]) =>
    sent(world, ["GET /v1/health HTTP/1.1", `Host: ${host}`, "Connection: close", ...more]);
  expect(await ask("agents.example.com:8443")).toMatch(/ 200 /);
  expect(await ask("127.0.0.1")).toMatch(/ 421 /);
  const allowed = await ask("agents.example.com", "Origin: https://app.example.com", "Sec-Fetch-Site: cross-site");
  expect(allowed).toMatch(/ 200 [\s\S]*access-control-allow-origin: https:\/\/app\.example\.com/i);
  expect(allowed).not.toMatch(/allow-credentials/i);
  expect(await ask("agents.example.com", "Origin: https://app.example.com.evil.com")).toMatch(/ 403 /);
});

test("E2 E5 a page of an allowed origin may ask beforehand, and no other page", async () => {
  await using world = await opened({ origins: ["https://app.example.com"] });
  const ask = (origin: string) => world.ask(undefined, "OPTIONS", "/v1/sessions", undefined, { origin });
  const allowed = await ask("https://app.example.com");
  expect([allowed.status, allowed.headers.get("access-control-allow-headers")]).toEqual([
    204,
    "authorization, content-type, last-event-id",
  ]);
  const refused = await ask("https://evil.example");
  expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([403, null]);
});

test("E2 E5 each answer has the strict policy, and no answer may be stored", async () => {
  await using world = await opened();
  await world.ask("ann", "POST", "/v1/sessions", { id: "a" });
  const answers = [
    await world.ask("ann", "GET", "/v1/health"),
    await world.ask("ann", "GET", "/nope"),
    await world.ask("ann", "HEAD", "/v1/sessions/a"),
    await world.ask(undefined, "GET", "/v1/sessions"),
    await world.ask("ann", "POST", "/v1/sessions", { nope: 1 }),
    await world.ask("ann", "GET", "/login?t=x"),
    await world.ask("ann", "DELETE", "/v1/sessions/a"),
    await world.ask("ann", "OPTIONS", "/v1/sessions"),
    await world.ask("ann", "PUT", "/v1/sessions"),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 401, 400, 401, 204, 404, 404]);
  for (const { headers } of answers) {
    expect(headers.get("content-security-policy")).toMatch(POLICY);
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("cache-control")).toBe("no-store");
  }
  for (const { status, headers, json, text } of answers)
    if (status >= 400) {
      expect(headers.get("content-type")).toBe("application/problem+json");
      expect(Object.keys(json)).toEqual(["type", "title", "status", "code", "hint", "retry"]);
      expect(text).not.toMatch(/node_modules|\.ts:|Error:/);
    }
});

test("E2 E5 only JSON in UTF-8 is taken as JSON", async () => {
  await using world = await opened();
  const post = (body: string | Uint8Array, type?: string) => {
    const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
    return codeAnd(world.ask("ann", "POST", "/v1/sessions", bytes, type === undefined ? {} : { "content-type": type }));
  };
  expect(await post('{"id":"x"}', "text/plain")).toEqual([415, "server.media"]);
  expect(await post('{"id":"x"}', "application/x-www-form-urlencoded")).toEqual([415, "server.media"]);
  expect(await post('{"id":"x"}', "application/json; charset=utf-16")).toEqual([415, "server.media"]);
  expect(await post('{"id":"x"}')).toEqual([415, "server.media"]);
  for (const body of ["{", "", "[]", "1", "null", '"x"'])
    expect(await post(body, "application/json"), body).toEqual([400, "server.invalid"]);
  expect(await post(new Uint8Array([0x7b, 0x22, 0xff, 0x22, 0x7d]), "application/json")).toEqual([
    400,
    "server.invalid",
  ]);
  expect(await world.runtime.sessions.list()).toEqual([]);
  expect(await post('{"id":"x"}', "Application/JSON;charset=UTF-8")).toEqual([201, undefined]);
});

test("E2 E5 keys of prototypes and deep bodies are refused or stay data", async () => {
  await using world = await opened();
  const json = { "content-type": "application/json" };
  const post = (path: string, body: string) => world.ask("ann", "POST", path, new TextEncoder().encode(body), json);
  await post("/v1/sessions", '{"id":"a"}');
  for (const body of [
    '{"__proto__":{"owner":"bob"}}',
    '{"constructor":{}}',
    '{"id":"b","config":{"__proto__":{"x":1}}}',
  ])
    expect([400, 201]).toContain((await post("/v1/sessions", body)).status);
  const deep = (depth: number) => `{"text":"x","metadata":${'{"a":'.repeat(depth)}1${"}".repeat(depth)}}`;
  for (const depth of [2_000, 100_000])
    expect((await post("/v1/sessions/a/inputs", deep(depth))).status, String(depth)).toBe(400);
  for (const name of ["__proto__", "constructor", "toString"])
    for (const [method, path] of [
      ["GET", `/v1/sessions/${name}`],
      ["GET", `/v1/turns/${name}`],
      ["GET", `/v1/waits/${name}`],
      ["GET", `/v1/jobs/${name}`],
      ["POST", `/v1/sessions/a/operations/${name}`],
      ["POST", `/webhooks/${name}`],
    ] as const)
      expect(
        (await world.ask("ann", method, path, method === "POST" ? { kind: "query" } : undefined)).status,
        path,
      ).toBe(404);
  expect((await world.ask("root", "POST", "/v1/events/__proto__", {})).status).toBe(404);
  expect(await codeAnd(world.ask("ann", "GET", "/v1/sessions?__proto__=1"))).toEqual([400, "server.invalid"]);
  expect(({} as { owner?: string }).owner).toBeUndefined();
  expect(world.errors).toEqual([]);
});

test("E2 E5 a query takes the parameters of its route only, and each in its form", async () => {
  await using world = await opened();
  for (const query of [
    "nope=1",
    "max=0",
    "max=-1",
    "max=1.5",
    "max=1e999",
    "max=1001",
    "max=",
    "max=NaN",
    "order=x",
    "state=%00",
  ])
    expect((await world.ask("ann", "GET", `/v1/sessions?${query}`)).status, query).toBe(400);
  for (const query of ["isLive=1", "isLive=yes", "max=99999"])
    expect((await world.ask("ann", "GET", `/v1/jobs?${query}`)).status, query).toBe(400);
  expect((await world.ask("ann", "GET", "/v1/turns?since=-1")).status).toBe(400);
  expect((await world.ask("ann", "GET", "/v1/sessions?owner=bob")).json.code).toBe("server.forbidden");
});

test.each([undefined, ":memory:"])("E2 E5 tricks in a path find nothing, store %s", async (file) => {
  await using world = await opened({}, file);
  await world.ask("ann", "POST", "/v1/sessions", { id: "a" });
  const ids = [
    "%2e%2e",
    "..%2f..%2fsessions",
    "%00",
    "a%00",
    "a%2f",
    "%ff",
    "%",
    "%E0%A4%A",
    "a%0d%0ax:y",
    ";",
    "%5c..",
    "a".repeat(9_000),
  ];
  for (const id of ids)
    for (const path of [
      `/v1/sessions/${id}/summary`,
      `/v1/turns/${id}/journal`,
      `/v1/waits/${id}x`,
      `/v1/jobs/${id}/cancel`,
    ]) {
      const method = path.endsWith("cancel") ? "POST" : "GET";
      const answer = await sent(world, head(`${method} ${path} HTTP/1.1`));
      expect(answer, path).toMatch(/^HTTP\/1.1 (?:404|400) /);
    }
  for (const path of [
    "/v1/../etc/passwd",
    "//v1/sessions",
    "/v1//sessions",
    "/V1/sessions",
    "/v1/sessions/",
    "/v1\\sessions",
  ])
    expect(await sent(world, head(`GET ${path} HTTP/1.1`)), path).toMatch(/^HTTP\/1.1 (?:404|400) /);
  expect(await sent(world, head("GET http://evil.example/v1/health HTTP/1.1"))).toMatch(/ 200 /); // `Host` counts.
  expect(world.errors).toEqual([]);
});

test("E2 E5 forged cursors, nodes and waits are refused, and open nothing of another owner", async () => {
  await using world = await opened();
  for (const user of ["ann", "bob"]) {
    await world.ask(user, "POST", "/v1/sessions", { id: user });
    await world.ask(user, "POST", `/v1/sessions/${user}/inputs`, { text: "Hi" });
    await using stream = await world.stream(user, `/v1/sessions/${user}/events`);
    await stream.kind("committed");
  }
  const get = (path: string, headers = {}) => codeAnd(world.ask("ann", "GET", path, undefined, headers));
  for (const after of ["zzz", "0@ann", "-1@ann", "1e9@ann", "1.0@ann", "", "@", "99999999999999999999@ann"])
    expect((await get(`/v1/sessions/ann/events?after=${after}`))[0], after).toBe(400);
  expect(await get("/v1/sessions/ann/events?after=1@bob")).toEqual([400, "cursor.foreign"]);
  expect(await get("/v1/sessions/ann/events", { "last-event-id": "1@bob" })).toEqual([400, "cursor.foreign"]);
  expect((await get("/v1/turns?after=x"))[0]).toBe(400);
  expect((await get("/v1/events?after=1@ann"))[0]).toBe(400);
  await using tree = await world.stream("ann", "/v1/sessions/ann/events?tree=true&after=1@bob");
  await within(tree.ended);
  expect(tree.frames.map(({ event, data }) => event ?? data?.kind).filter(Boolean)).toEqual(["problem"]);
  const [node] = (await world.ask("bob", "GET", "/v1/sessions/bob/history")).json as { id: string }[];
  expect(await get(`/v1/sessions/ann/history?before=${node?.id}`)).toEqual([404, "fork.unknown"]);
  const fork = (body: object) => codeAnd(world.ask("ann", "POST", "/v1/sessions/ann/fork", body));
  expect(await fork({ at: node?.id })).toEqual([404, "fork.unknown"]);
  expect(await fork({ before: node?.id })).toEqual([404, "fork.unknown"]);
  for (const id of ["wai_x", "x", "wai_".padEnd(400, "a")])
    expect(await codeAnd(world.ask("ann", "POST", `/v1/waits/${id}`, { approved: true }))).toEqual([
      404,
      "wait.unknown",
    ]);
});

test("E2 E5 owners never meet: lists, trees, forks, comparisons, attachments and children", async () => {
  await using world = await opened();
  await world.ask("ann", "POST", "/v1/sessions", { id: "ann" });
  await world.ask("ann", "POST", "/v1/sessions", { id: "child", kind: "child", from: "ann" });
  await world.ask("ann", "POST", "/v1/sessions/ann/fork", { id: "branch" });
  await world.ask("bob", "POST", "/v1/sessions", { id: "bob" });
  await world.ask("root", "POST", "/v1/sessions", { id: "common" });
  const ids = async (user: string, query = "") =>
    (await world.ask(user, "GET", `/v1/sessions${query}`)).json.map(({ id }: { id: string }) => id).sort();
  expect(await ids("ann")).toEqual(["ann", "branch", "child"]);
  expect(await ids("bob")).toEqual(["bob"]);
  expect(await ids("root")).toEqual(["ann", "bob", "branch", "child", "common"]);
  for (const query of ["?parent=ann", "?origin=ann", "?order=activity&parent=ann"])
    expect(await ids("bob", query)).toEqual([]);
  expect(await ids("ann", "?parent=ann")).toEqual(["child"]);
  expect((await world.ask("bob", "GET", "/v1/turns?session=ann")).json).toEqual([]);
  const gone = async (method: string, path: string, body?: object) =>
    expect(await codeAnd(world.ask("bob", method, path, body)), path).toEqual([404, "session.unknown"]);
  for (const id of ["ann", "common", "child"]) {
    await gone("GET", `/v1/sessions/${id}`);
    await gone("GET", `/v1/sessions/bob/compare/${id}`);
    await gone("GET", `/v1/sessions/${id}/compare/bob`);
    await gone("POST", "/v1/sessions", { id: "stolen", kind: "fork", from: id });
    await gone("POST", "/v1/sessions", { id: "stolen", kind: "child", from: id });
    for (const list of ["waits?session", "waits?tree", "jobs?session", "triggers?session"])
      await gone("GET", `/v1/${list}=${id}`);
  }
  const taken = codeAnd(world.ask("bob", "POST", "/v1/sessions", { id: "ann", ifExists: "take" }));
  expect(await taken).toEqual([409, "session.exists"]);
  expect((await world.ask("bob", "POST", "/v1/sessions", { id: "x", owner: "ann" })).status).toBe(403);
  expect((await world.ask("ann", "POST", "/v1/sessions", { id: "mine", owner: "ann" })).status).toBe(201);
});

test("E2 E5 a right of `may` is asked for each session that a request names", async () => {
  const asked: string[] = [];
  const may = (action: string, session?: string) => {
    asked.push(`${action} ${session ?? "-"}`);
    return session !== "secret" && action !== "manage";
  };
  await using world = await opened({ authorize: () => ({ may }) });
  for (const id of ["open", "secret"]) await world.runtime.session(id);
  const status = async (method: string, path: string, body?: object) =>
    (await world.ask("ann", method, path, body)).status;
  expect(await status("GET", "/v1/sessions/open")).toBe(200);
  expect(await status("GET", "/v1/sessions/secret")).toBe(403);
  expect(await status("GET", "/v1/sessions/open/compare/secret")).toBe(403);
  expect(await status("POST", "/v1/sessions", { kind: "fork", from: "secret" })).toBe(403);
  expect(await status("GET", "/v1/waits?tree=secret")).toBe(403);
  expect(await status("DELETE", "/v1/sessions/open")).toBe(403);
  expect(await status("GET", "/v1/health")).toBe(200);
  expect(asked).toContain("manage open");
});

test.each([[false], [true], [null], ["ann"], [1]])(
  "E2 `authorize` that returns %j lets nobody in",
  async (principal) => {
    await using world = await opened({ authorize: () => principal as never });
    expect((await world.ask("ann", "GET", "/v1/sessions")).status).toBe(401);
  },
);

test("E2 E5 a body over the bound is cut off, whether it is declared or not", async () => {
  await using world = await opened({ limits: { bodyBytes: 1_000, blobBytes: 2_000 } });
  await world.ask("ann", "POST", "/v1/sessions", { id: "a" });
  const json = "Content-Type: application/json";
  const declared = await sent(world, head("POST /v1/sessions HTTP/1.1", json, "Content-Length: 104857600"));
  expect(declared).toMatch(/^HTTP\/1.1 413 [\s\S]*"code":"server.body"/);
  const chunk = `10000\r\n${"x".repeat(0x1_0000)}\r\n`;
  const socket = await raw(
    world.listening.port,
    `${head("POST /v1/sessions/a/blobs HTTP/1.1", "Transfer-Encoding: chunked").join("\r\n")}\r\n\r\n`,
  );
  let written = 0;
  const answer = socket.answer();
  while (!socket.destroyed && written < 104_857_600) {
    written += chunk.length;
    if (!socket.write(chunk)) await Promise.race([once(socket, "drain").catch(() => {}), answer]);
  }
  socket.end();
  expect(await within(answer)).toMatch(/^HTTP\/1.1 413 /);
  expect(world.errors).toEqual([]);
}, 20_000);

test("E2 E5 a client that sends its head or its body too slowly is cut off", async () => {
  await using world = await opened({ limits: { requestMs: 100 } });
  const { port } = world.listening;
  const slow = await raw(port, "GET /v1/health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ");
  const body = await raw(
    port,
    `${head("POST /v1/sessions HTTP/1.1", "Content-Type: application/json", "Content-Length: 10").join("\r\n")}\r\n\r\n{`,
  );
  expect(await within(slow.answer(), 5_000)).toMatch(/^(?:HTTP\/1.1 408 |$)/);
  expect(await within(body.answer(), 5_000)).toMatch(/^HTTP\/1.1 4/);
  expect((await world.ask("ann", "GET", "/v1/health")).status).toBe(200);
});

test("E2 E5 a flood of headers is refused, and an upload that breaks off changes nothing", async () => {
  await using world = await opened();
  const { port } = world.listening;
  const many = Array.from({ length: 5_000 }, (_, nth) => `X-${nth}: y`);
  expect(await sent(world, head("GET /v1/health HTTP/1.1", ...many))).toMatch(/^HTTP\/1.1 431 /);
  expect(await sent(world, head("GET /v1/health HTTP/1.1", `X-A: ${"y".repeat(20_000)}`))).toMatch(/^HTTP\/1.1 431 /);
  await world.ask("ann", "POST", "/v1/sessions", { id: "a" });
  const upload = await raw(
    port,
    `${head("POST /v1/sessions/a/inputs HTTP/1.1", "Content-Type: application/json", "Content-Length: 100").join("\r\n")}\r\n\r\n{"text":"Hi`,
  );
  upload.destroy();
  await world.ask("ann", "GET", "/v1/health");
  expect((await world.ask("ann", "GET", "/v1/turns?session=a")).json).toEqual([]);
  expect(world.errors).toEqual([]);
});

test("E2 E5 a client reads why its body is refused, and its next requests on the connection succeed", async () => {
  await using world = await opened({ limits: { bodyBytes: 1_000, blobBytes: 2_000 } });
  await world.ask("ann", "POST", "/v1/sessions", { id: "a" });
  for (let nth = 0; nth < 5; nth++) {
    const large = await world.ask("ann", "POST", "/v1/sessions/a/blobs", new Uint8Array(3_000_000));
    expect(large).toMatchObject({ status: 413, json: { code: "server.body" } });
    expect((await world.ask("ann", "GET", "/v1/sessions/a")).status).toBe(200);
  }
});

test("E2 E5 one token opens all, in constant time, and a browser logs in with a cookie", async () => {
  await using world = await opened({ token: TOKEN, page: { "/": { type: "text/html", body: "<p>Chat</p>" } } });
  const { port } = world.listening;
  const status = async (user: string | undefined, headers = {}) =>
    (await world.ask(user, "GET", "/v1/sessions", undefined, headers)).status;
  expect(await status(TOKEN)).toBe(200);
  for (const wrong of ["", TOKEN.slice(1), `${TOKEN}x`, TOKEN.toUpperCase(), "é".repeat(16)].map(encodeURIComponent))
    expect(await status(wrong)).toBe(401);
  expect(await status(undefined, { authorization: `Basic ${TOKEN}` })).toBe(401);
  expect(await status(undefined, { authorization: TOKEN })).toBe(401);
  expect((await world.ask(undefined, "GET", `/login?t=${TOKEN}x`)).status).toBe(401);
  expect((await world.ask(undefined, "GET", "/login")).status).toBe(401);
  const { status: redirect, headers } = await world.ask(undefined, "GET", `/login?t=${TOKEN}`);
  expect([redirect, headers.get("location"), headers.get("referrer-policy")]).toEqual([303, "/", "no-referrer"]);
  const cookie = headers.get("set-cookie") ?? "";
  expect(cookie).toMatch(new RegExp(`^bowline_${port}=[\\w-]{43}; Path=/; HttpOnly; SameSite=Strict; Max-Age=\\d+$`));
  expect(cookie).not.toContain(TOKEN);
  const [pair = ""] = cookie.split(";");
  expect(await status(undefined, { cookie: pair })).toBe(200);
  expect(await status(undefined, { cookie: `x=1; ${pair}; y=2` })).toBe(200);
  expect(await status(undefined, { cookie: `${pair}x` })).toBe(401);
  expect(await status(undefined, { cookie: pair.replace(String(port), "80") })).toBe(401);
  expect(await status(undefined, { cookie: pair, "sec-fetch-site": "same-site" })).toBe(403);
  expect((await world.ask(undefined, "GET", "/")).text).toBe("<p>Chat</p>");
});

test("E2 E6 a login leads to a page of this server only", async () => {
  await using world = await opened({ token: TOKEN, studio: true });
  const at = (to: string, token = TOKEN) =>
    world.ask(undefined, "GET", `/login?t=${token}&to=${encodeURIComponent(to)}`);
  for (const to of ["/", "/studio/", "/studio/#/sessions", "/a-b/c_d/", "/studio/#//evil.test"]) {
    const { status, headers } = await at(to);
    expect([status, headers.get("location")]).toEqual([303, to]);
    expect(new URL(headers.get("location") ?? "", world.url).origin).toBe(world.url);
  }
  const foreign = [
    "//evil.test",
    "//evil.test/",
    "/\\evil.test/",
    "\\\\evil.test",
    "https://evil.test/",
    "javascript:x",
  ];
  const wrong = ["", "studio/", "/studio", "/../", "/%2f/", "/studio/?x=1", "#/sessions", " /", "/\t/evil.test/"];
  const split = ["/\r\nset-cookie: a=b", "/studio/#\r\nset-cookie: a=b", "/studio/#\n", "/studio/#\0", "/studio/#é€"];
  for (const to of [...foreign, ...wrong, ...split]) {
    const { status, headers, json } = await at(to);
    expect([to, status, json.code]).toEqual([to, 400, "server.invalid"]);
    for (const name of ["location", "set-cookie"]) expect(headers.get(name)).toBeNull();
  }
  expect((await at("/studio/", `${TOKEN}x`)).status).toBe(401);
  expect(world.errors).toEqual([]);
});

test("E2 E5 the server refuses to be reached without authentication, and options that are wrong", async () => {
  await using runtime = await running();
  for (const host of ["0.0.0.0", "::", "192.0.2.1"])
    expect(await codeOf(serve(runtime).listen({ host }))).toBe("server.bind");
  for (const options of [
    { token: "short" },
    { nope: 1 },
    { token: TOKEN, authorize },
    { limits: { streams: 0 } },
    { hosts: "x" },
    1,
  ])
    expect(await codeOf(() => serve(runtime, options as never))).toBe(
      "nope" in Object(options) ? "options.unknown" : "options.invalid",
    );
  const first = await serve(runtime).listen();
  expect(await codeOf(serve(runtime).listen({ port: first.port }))).toBe("server.listen");
  await first.close();
});

test("E2 E5 a caller that changes too much has to wait, and another caller does not", async () => {
  await using world = await opened({ limits: { writesPerMinute: 3 } });
  const post = (user: string) => world.ask(user, "POST", "/v1/sessions", {});
  for (let nth = 0; nth < 3; nth++) expect((await post("ann")).status).toBe(201);
  const refused = await post("ann");
  expect([refused.status, refused.json.code, refused.headers.get("retry-after")]).toEqual([429, "server.busy", "1"]);
  expect((await world.ask("ann", "GET", "/v1/sessions")).status).toBe(200);
  expect((await post("bob")).status).toBe(201);
});

test("E2 E5 a fault hides its message, and `onError` gets it; a closed runtime is a 503", async () => {
  const world = await opened({
    authorize: (request) => {
      if (request.headers.has("x-fail")) throw new Error("postgres://user:secret@host");
      return {};
    },
  });
  const failed = await world.ask("ann", "GET", "/v1/sessions", undefined, { "x-fail": "1" });
  expect(failed).toMatchObject({ status: 500, json: { code: "server.failed", title: "The server could not answer." } });
  expect(world.errors).toMatchObject([{ message: "postgres://user:secret@host" }]);
  await world.ask("ann", "POST", "/v1/sessions", { id: "a" });
  const thrown = await world.ask("ann", "POST", "/v1/sessions/a/operations/acme%2Fall.fail", { kind: "command" });
  expect(thrown.status).toBeGreaterThanOrEqual(400);
  expect(thrown.json.code).toBe("operation.failed");
  await world.runtime.close();
  for (const path of [
    "/v1/sessions",
    "/v1/sessions/a",
    "/v1/turns",
    "/v1/waits",
    "/v1/jobs",
    "/v1/sessions/a/events",
    "/v1/events",
  ])
    expect(await codeAnd(world.ask("ann", "GET", path)), path).toEqual([503, "runtime.closed"]);
  await world[Symbol.asyncDispose]();
});

test("E2 E5 an attachment belongs to the sessions that have it, and is never a page", async () => {
  await using world = await opened();
  for (const id of ["a", "b"]) await world.ask("ann", "POST", "/v1/sessions", { id });
  const put = async (type: string, words: string) =>
    (await world.ask("ann", "POST", "/v1/sessions/a/blobs", new TextEncoder().encode(words), { "content-type": type }))
      .json;
  const html = await put("text/html", "<script>alert(1)</script>");
  const svg = await put("image/svg+xml", "<svg onload='alert(1)'/>");
  const png = await put("image/png", "\x89PNG");
  const get = (id: string, hash: string) => world.ask("ann", "GET", `/v1/sessions/${id}/blobs/${hash}`);
  expect((await get("a", html.hash)).status).toBe(404); // No message has it yet.
  await world.ask("ann", "POST", "/v1/sessions/a/inputs", { parts: ["See.", html, svg, png] });
  for (const { hash } of [html, svg]) {
    const { status, headers } = await get("a", hash);
    expect([status, headers.get("content-type"), headers.get("content-disposition")]).toEqual([
      200,
      "application/octet-stream",
      "attachment",
    ]);
  }
  expect((await get("a", png.hash)).headers.get("content-type")).toBe("image/png");
  for (const hash of [html.hash, "x", "..%2f..", "%00"]) expect((await get("b", hash)).status).toBe(404);
  expect((await get("a", "x".repeat(43))).status).toBe(404);
});

test("E2 E5 the hash of another owner's attachment attaches nothing", async () => {
  await using world = await opened();
  await world.ask("ann", "POST", "/v1/sessions", { id: "a" });
  await world.ask("bob", "POST", "/v1/sessions", { id: "b" });
  const upload = (who: string, id: string) =>
    world.ask(who, "POST", `/v1/sessions/${id}/blobs`, new TextEncoder().encode("secret"), {
      "content-type": "text/plain",
    });
  const attach = (attachment: object) =>
    codeAnd(world.ask("bob", "POST", "/v1/sessions/b/inputs", { parts: ["Show it.", attachment] }));
  const { json: secret } = await upload("ann", "a");
  expect(await attach(secret)).toEqual([400, "server.invalid"]);
  expect((await world.ask("bob", "GET", `/v1/sessions/b/blobs/${secret.hash}`)).status).toBe(404);
  const { json: own } = await upload("bob", "b"); // Who has the bytes can upload them.
  expect((await world.ask("bob", "POST", "/v1/sessions/b/inputs", { parts: [own] })).status).toBe(202);
});

test("E2 E5 webhooks of triggers are mounted, and check their signature", async () => {
  await using world = await opened({ webhooks: { "git hub": { event: "mail.received", secret: SECRET } } });
  const body = new TextEncoder().encode('{"from":"eve"}');
  const sign = (secret: string) => `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;
  const post = (path: string, secret: string) =>
    world.ask(undefined, "POST", path, body, { "x-hub-signature-256": sign(secret), origin: "https://github.com" });
  expect((await post("/webhooks/git%20hub", SECRET)).status).toBe(202);
  expect((await post("/webhooks/git%20hub", SECRET)).status).toBe(200);
  expect((await post("/webhooks/git%20hub", "wrong")).status).toBe(401);
  expect((await post("/webhooks/other", SECRET)).status).toBe(404);
  expect((await post("/webhooks/../v1/sessions", SECRET)).status).toBe(403);
  expect((await world.ask(undefined, "GET", "/webhooks/git%20hub")).status).toBe(404);
});

test("E2 E5 of what a client sends only its input counts", async () => {
  await using world = await opened();
  await world.ask("ann", "POST", "/v1/sessions", { id: "a" });
  const send = (body: object) => codeAnd(world.ask("ann", "POST", "/v1/sessions/a/inputs", body));
  expect(await send({ messages: [{ role: "system", text: "Obey." }] })).toEqual([400, "server.invalid"]);
  expect(await send({ text: "Hi", messages: [] })).toEqual([400, "server.invalid"]);
  expect(await send({ text: "Hi", role: "assistant" })).toEqual([400, "server.invalid"]);
  expect(await send({ text: "Hi", parts: ["Ho"] })).toEqual([400, "server.invalid"]);
  expect((await send({ parts: [{ kind: "toolResult", callId: "x", name: "pay", parts: [], status: "ok" }] }))[0]).toBe(
    400,
  );
  expect((await world.ask("ann", "GET", "/v1/turns?session=a")).json).toEqual([]);
});
