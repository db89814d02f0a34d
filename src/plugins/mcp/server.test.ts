import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { fixture, isAlive, type Remote, raw, serve, signalled, toolContext } from "../../../test/mcp/servers.ts";
import { hasCode, type Tool, type ToolContext } from "../../index.ts";
import { loadSdk } from "./link.ts";
import { type McpServer, OPTIONS, type Parsed } from "./options.ts";
import { Server } from "./server.ts";

vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 }); // Tests here start processes, which is slow.

const opened: Server[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(opened.splice(0).map((server) => server.detach()));
});

function attached(options: McpServer): Server {
  const parsed = OPTIONS["~standard"].validate({ connectMs: 20_000, servers: { s: options } }) as {
    value: Parsed;
  };
  const server = new Server("s", parsed.value.servers.get("s")!, loadSdk);
  server.attach();
  return server;
}
function open(options: McpServer): Server {
  const server = attached(options);
  opened.push(server);
  return server;
}

const never = new AbortController().signal;
const names = async (server: Server): Promise<readonly string[]> =>
  (await server.provider.list(never)).map(({ name }) => name);

async function tool(server: Server, name: string): Promise<Tool> {
  await server.provider.list(never);
  const found = await server.provider.load(`mcp__s__${name}`, never);
  if (found === undefined) throw new Error(`There is no ${name}.`);
  return found;
}
async function call(server: Server, name: string, input: object = {}, context: Partial<ToolContext> = {}) {
  return (await tool(server, name)).run(input, toolContext(context));
}
const changed = (server: Server): Promise<void> => {
  const { happened, tell } = signalled();
  const unwatch = server.provider.watch?.(() => tell());
  return happened.finally(unwatch);
};
const state = (server: Server): string => server.status.state;
/** From now on the client's time only passes with `vi.advanceTimersByTimeAsync`. Processes and sockets stay real. */
const stopTimers = (): void => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });

const ways: readonly [string, () => Promise<{ options: McpServer; remote?: Remote }>][] = [
  ["stdio", async () => ({ options: fixture("stdio") })],
  ["stdio that speaks only the revision of 2026", async () => ({ options: fixture("modern-only") })],
  [
    "HTTP with sessions",
    async () => {
      const remote = await serve("http");
      return { options: { url: remote.url }, remote };
    },
  ],
  [
    "HTTP of the revision of 2026",
    async () => {
      const remote = await serve("stateless");
      return { options: { url: remote.url }, remote };
    },
  ],
];

describe.each(ways)("a server over %s", (_, start) => {
  let options: McpServer;
  let remote: Remote | undefined;
  let server: Server;
  beforeAll(async () => {
    ({ options, remote } = await start());
    server = attached({ ...options, resultBytesMax: 100_000, totalMs: 30_000 });
  });
  afterAll(async () => {
    await server.detach();
    await remote?.kill();
  });

  test("E2, T1: lists light manifests, loads a tool by name, and calls it", async () => {
    const [first] = await server.provider.list(never);
    expect(first).toMatchObject({
      name: "mcp__s__echo",
      description: "Does echo.",
      bindings: { server: "s", tool: "echo" },
    });
    expect(first).not.toHaveProperty("inputSchema");
    const echo = await tool(server, "echo");
    expect(echo.inputSchema).toEqual({ type: "object", properties: { text: { type: "string" } }, required: ["text"] });
    expect(await echo.check({ text: 1 as never })).toMatchObject({ ok: false });
    expect(await echo.run({ text: "hello" }, toolContext())).toBe("echo: hello");
    expect(await server.provider.load("mcp__s__nothing", never)).toBeUndefined();
    expect(server.status).toMatchObject({ state: "ready", about: { name: "fixture", version: "1.2.3" } });
  });

  test("E2: what a call gives is text, JSON, attachments, or the server's own failure", async () => {
    expect(await call(server, "structured")).toEqual({ n: 1, list: [true] });
    expect(await call(server, "image")).toMatchObject({ mediaType: "image/png", data: expect.any(Uint8Array) });
    expect(await call(server, "album")).toMatchObject([
      "Two things:",
      { mediaType: "audio/wav", data: new Uint8Array([0, 0, 0]) },
      { uri: "file:///a/notes.txt", text: "Notes." },
      { mediaType: "application/octet-stream", name: "raw.bin", data: new Uint8Array([1, 2, 3]) },
      { type: "resource_link", uri: "file:///a/more.txt" },
    ]);
    await expect(call(server, "refuses")).rejects.toThrow(/^There is no such city\.$/);
    await expect(call(server, "throws")).rejects.toThrow("It broke inside.");
    expect(await call(server, "echo", { text: "still there" })).toBe("echo: still there");
  });

  test("E2: the idempotency key is sent along", async () => {
    const meta = JSON.parse((await call(server, "meta")) as string) as { [key: string]: unknown };
    expect(meta["bowline/idempotencyKey"]).toBe("key-1");
  });

  test("E2: the caller receives progress, and the server receives a cancel", async () => {
    const notes: unknown[] = [];
    expect(await call(server, "steps", { count: 3, everyMs: 20 }, { progress: (note) => notes.push(note) })).toBe(
      "3 steps",
    );
    expect(notes.length).toBeGreaterThan(0); // Not all of them: progress that comes together with the answer is too late.
    expect(["step 1", "step 2", "step 3"].slice(0, notes.length)).toEqual(notes);
    const before = Number(await call(server, "cancelled"));
    const stop = new AbortController();
    const { happened, tell } = signalled();
    const hanging = call(server, "hang", {}, { signal: stop.signal, progress: () => tell() });
    await happened;
    stop.abort(new Error("enough"));
    await expect(hanging).rejects.toThrow("enough");
    await expect.poll(() => call(server, "cancelled")).toBe(String(before + 1));
  });

  test("E2: observers are notified of a changed list, and the list is read again", async () => {
    expect(await names(server)).not.toContain("mcp__s__grown");
    const told = changed(server);
    await call(server, "grow");
    await told;
    expect(await names(server)).toContain("mcp__s__grown");
    expect(await call(server, "grown")).toBe("grown");
  });

  test("E2: a result over the limit fails with its size, and only the call", async () => {
    const thrown = await call(server, "big", { bytes: 200_000 }).then(undefined, (error: unknown) => error);
    expect(hasCode(thrown, "limit.bytes") && thrown.details).toMatchObject({ bytes: 200_000, max: 100_000 });
    expect(await call(server, "big", { bytes: 10 })).toBe("xxxxxxxxxx");
    expect(state(server)).toBe("ready");
  });

  test("E2: one that sends far too much at a time is cut off, and back for the next call", async () => {
    await expect(call(server, "big", { bytes: 4_000_000 })).rejects.toThrow(/400000 bytes/);
    expect(await call(server, "echo", { text: "again" })).toBe("echo: again");
  });

  test("E2: a call that exceeds its total time fails, and the server is notified", async () => {
    const before = Number(await call(server, "cancelled"));
    const { happened, tell } = signalled();
    stopTimers();
    const hanging = call(server, "hang", {}, { progress: () => tell() }).then(undefined, (error: unknown) => error);
    await happened;
    await vi.advanceTimersByTimeAsync(30_000);
    const thrown = await hanging;
    vi.useRealTimers();
    expect(hasCode(thrown, "tool.timeout") && thrown.details).toMatchObject({ ms: 30_000 });
    await expect.poll(() => call(server, "cancelled")).toBe(String(before + 1));
  });
});

/** For tests that leave their server as it was. */
let shared: Remote;
beforeAll(async () => {
  shared = await serve("http");
});
afterAll(() => shared.kill());

// ── Names and schemas ───────────────────────────────────────────────────────────────────────────────────────────────

test("E2: names that models do not allow are changed, and stay apart", async () => {
  const server = open({ url: shared.url });
  const found = await names(server);
  expect(new Set(found).size).toBe(found.length);
  for (const name of found) expect(name).toMatch(/^mcp__s__[A-Za-z0-9_-]{1,56}$/);
  expect(await call(server, "odd_name__")).toBe("even"); // The tool with this very name keeps it.
  const odd = found.find((name) => /^mcp__s__odd_name___[0-9a-f]{8}$/.test(name))!;
  expect(await call(server, odd.replace("mcp__s__", ""))).toBe("odd");
  const long = found.find((name) => name.startsWith("mcp__s__long_"))!;
  expect(long).toHaveLength(64);
  expect(await call(server, long.replace("mcp__s__", ""))).toBe("long");
});

test("E2: 500 tools are listed, page by page", async () => {
  const server = open(fixture("stdio", "many"));
  expect((await names(server)).length).toBeGreaterThan(500);
  expect(await call(server, "tool_499")).toBe("tool 499");
});

test("E2: only what is included and not excluded is offered", async () => {
  expect(await names(open({ url: shared.url, include: ["echo", "add", "pid"], exclude: ["add"] }))).toEqual([
    "mcp__s__echo",
    "mcp__s__pid",
  ]);
});

test("E2: schemas that are not to be trusted are left out and said, and take no other tool with them", async () => {
  const deep = JSON.parse(`${'{"items":'.repeat(200)}{}${"}".repeat(200)}`) as object;
  const good = {
    type: "object",
    properties: { $ref: { type: "string" }, pattern: { $ref: "#/$defs/p" } },
    $defs: { p: { type: "string" } },
  };
  const server = open(
    raw("list", [
      { name: "good", inputSchema: good },
      { name: "untyped", inputSchema: { properties: {} } },
      { name: "remote", inputSchema: { type: "object", properties: { a: { $ref: "https://example.com/a.json" } } } },
      { name: "hidden", inputSchema: { type: "object", properties: { default: { $ref: "file:///etc/passwd" } } } },
      { name: "huge", inputSchema: { type: "object", description: "x".repeat(100_000) } },
      { name: "deep", inputSchema: { type: "object", ...deep } },
      { name: "list", inputSchema: [] },
      { name: "text", inputSchema: "object" },
      { name: "array", inputSchema: { type: "array" } },
      { name: "none" },
      { name: "good", inputSchema: { type: "object" } },
      { inputSchema: { type: "object" } },
      null,
    ]),
  );
  expect(await names(server)).toEqual(["mcp__s__good", "mcp__s__untyped"]);
  expect(server.status.skipped).toEqual([
    { tool: "remote", reason: "its schema refers to https://example.com/a.json, outside of it" },
    { tool: "hidden", reason: "its schema refers to file:///etc/passwd, outside of it" },
    { tool: "huge", reason: "its schema has 100034 bytes; 65536 are allowed" },
    { tool: "deep", reason: "its schema is nested more than 64 deep" },
    { tool: "list", reason: "its schema is no object" },
    { tool: "text", reason: "its schema is no object" },
    { tool: "array", reason: "its arguments are no object" },
    { tool: "none", reason: "its schema is no object" },
    { tool: "good", reason: "it is listed twice" },
    { tool: "?", reason: "it has no name" },
    { tool: "?", reason: "it is no object" },
  ]);
  const checked = await tool(server, "good");
  expect(await checked.check({ pattern: "x" })).toMatchObject({ ok: true });
  expect(await checked.check({ pattern: 1 })).toMatchObject({ ok: false });
});

test("E2: a schema of a megabyte is left out like any other that is too large", async () => {
  const server = open(raw("megabyte"));
  expect(await names(server)).toEqual(["mcp__s__small"]);
  expect(server.status.skipped).toEqual([
    { tool: "big", reason: expect.stringMatching(/^its schema has 1\d{6} bytes; 65536 are allowed$/) },
  ]);
});

test("E2: a schema made to take for ever costs a quarter of a second", async () => {
  const $defs: { [name: string]: object } = { d60: { type: "object" } };
  for (let at = 0; at < 60; at++) $defs[`d${at}`] = { allOf: [1, 2].map(() => ({ $ref: `#/$defs/d${at + 1}` })) };
  const server = open(
    raw("list", [
      { name: "tower", inputSchema: { type: "object", $ref: "#/$defs/d0", $defs } },
      { name: "regex", inputSchema: { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } } },
      { name: "loop", inputSchema: { type: "object", $ref: "#" } },
      { name: "nowhere", inputSchema: { type: "object", $ref: "#/$defs/none" } },
    ]),
  );
  const late = { ok: false, problem: "they could not be checked within 250 ms" };
  expect(await (await tool(server, "tower")).check({})).toEqual(late);
  expect(await (await tool(server, "regex")).check({ a: `${"a".repeat(40)}b` })).toEqual(late);
  // Arguments that cannot be checked here pass: the server checks them again.
  expect(await (await tool(server, "loop")).check({})).toMatchObject({ ok: true });
  expect(await (await tool(server, "nowhere")).check({})).toMatchObject({ ok: true });
});

test("E2: the server's description of a tool decides how the tool can be repeated", async () => {
  const server = open({ url: shared.url, isSerial: true });
  expect((await tool(server, "echo")).policy).toEqual({ isSerial: true, onInterrupt: "fail" });
  expect((await tool(server, "count")).policy).toMatchObject({ retry: { policy: "idempotent" } });
  expect((await tool(server, "hang_safely")).policy).toMatchObject({ retry: { policy: "safe" } });
  expect((await tool(server, "hang_safely")).timeoutMs).toBe(60_000);
});

// ── Servers that are not there ──────────────────────────────────────────────────────────────────────────────────────

test("E2: a command that does not exist offers nothing at once, and the status has the reason", async () => {
  const server = open({ command: "no-such-command-of-mine", connectMs: 60_000 });
  expect(await names(server)).toEqual([]);
  expect(server.status).toMatchObject({
    state: "down",
    tools: 0,
    problem: {
      code: "mcp.start",
      message: expect.stringContaining("ENOENT"),
      hint: expect.stringContaining("command"),
    },
  });
});

test("E2: if a server exits at once, the status has its last words", async () => {
  const server = open({ command: process.execPath, args: ["-e", "console.error('No token.'); process.exit(7)"] });
  expect(await names(server)).toEqual([]);
  expect(server.status).toMatchObject({
    state: "down",
    problem: { code: "mcp.exited", message: "The server's process ended with code 7: No token." },
  });
});

test("E2: nobody listens at a url", async () => {
  const http = createServer().listen(0, "127.0.0.1");
  await once(http, "listening");
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/`;
  await promisify(http.close.bind(http))();
  const server = open({ url });
  expect(await names(server)).toEqual([]);
  expect(server.status).toMatchObject({ state: "down", problem: { code: "mcp.unreachable" } });
});

test("E2: the status shows that a server wants credentials", async () => {
  const http = createServer((_, response) => response.writeHead(401).end("no token"));
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const server = open({ url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/` });
  expect(await names(server)).toEqual([]);
  expect(server.status).toMatchObject({
    state: "down",
    problem: {
      code: "mcp.unauthorized",
      message: expect.stringContaining("401"),
      hint: expect.stringContaining("`headers`"),
    },
  });
  http.close();
});

test("E2: a server that never answers is waited for once, and not longer than connectMs", async () => {
  const server = open({ ...raw("mute"), connectMs: 200 });
  const began = performance.now();
  expect(await names(server)).toEqual([]);
  expect(performance.now() - began).toBeLessThan(2_000);
  const again = performance.now();
  expect(await names(server)).toEqual([]);
  expect(performance.now() - again).toBeLessThan(100);
  expect(server.status).toMatchObject({ state: "connecting", tools: 0 });
});

test("E2: one attempt to start ends after startMs, and leaves no process", async () => {
  const server = open({ ...raw("mute"), startMs: 300 });
  await expect.poll(() => server.status.problem?.code, { timeout: 5_000 }).toBe("mcp.timeout");
});

test("E2: without its package the state is failed, with how to install it, and the runtime works", async () => {
  const url = (path: string): string => new URL(path, import.meta.url).href;
  const hooks = `import { registerHooks } from "node:module";
    registerHooks({ resolve: (specifier, context, next) => {
      if (specifier.startsWith("@modelcontextprotocol/")) throw new Error("Cannot find package " + specifier);
      return next(specifier, context);
    } });`;
  const program = `
    const { createRuntime } = await import("${url("../../index.ts")}");
    const { memory } = await import("${url("../../stores/memory.ts")}");
    const { says, scripted } = await import("${url("../../testing/index.ts")}");
    const { mcp } = await import("${url("./index.ts")}");
    const plugins = [mcp({ servers: { a: { command: "true" } } })];
    const runtime = await createRuntime({ store: memory(), model: scripted(says("Done.")), plugins });
    const session = await runtime.session();
    const { outcome } = await session.turn("Go.").result();
    console.log(JSON.stringify([outcome.text, ...(await session.query(mcp, "status"))]));
    await runtime.close();`;
  const args = ["--import", `data:text/javascript,${encodeURIComponent(hooks)}`, "--input-type=module", "-e", program];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  expect(JSON.parse(stdout)).toMatchObject([
    "Done.",
    {
      state: "failed",
      problem: { code: "mcp.package", hint: "Run: npm install @modelcontextprotocol/client" },
    },
  ]);
});

test("E2: lines on stdout that are not messages are ignored and kept; so is the end of stderr", async () => {
  const server = open(fixture("stdio", "chatty"));
  await call(server, "shout");
  await expect.poll(() => server.status.stderr).toContain("last words");
  expect(server.status.stderr!.length).toBeLessThanOrEqual(8_192);
  expect(state(server)).toBe("ready");
});

test("E2: a process is given little of the environment, and what it is meant to have", async () => {
  process.env.SECRET_OF_THE_APP = "hush";
  const server = open({ ...fixture("stdio"), env: { TOKEN: "t" } });
  const env = JSON.parse((await call(server, "env")) as string) as { [name: string]: string };
  delete process.env.SECRET_OF_THE_APP;
  expect(env).toMatchObject({ TOKEN: "t", PATH: process.env.PATH });
  expect(env).not.toHaveProperty("SECRET_OF_THE_APP");
});

// ── Servers that go ─────────────────────────────────────────────────────────────────────────────────────────────────

test("E2: a process that is killed during a call fails the call with its reason; the next call finds a new process", async () => {
  const server = open(fixture("stdio"));
  const before = await names(server);
  const pid = Number(await call(server, "pid"));
  let told = 0;
  server.provider.watch?.(() => told++);
  const { happened, tell } = signalled();
  const hanging = call(server, "hang", {}, { progress: () => tell() });
  await happened;
  process.kill(pid, "SIGKILL");
  await expect(hanging).rejects.toThrow(
    /^The connection to the MCP server s was lost\. .*SIGKILL.* It is not known whether the call was carried out\. Check/,
  );
  expect(await names(server)).toEqual(before); // Tools stay offered while the server is down …
  expect(Number(await call(server, "pid"))).not.toBe(pid); // … and a call waits for the next connection.
  expect(told).toBe(0); // The list did not change, so nobody is told.
  expect(server.status).not.toHaveProperty("problem");
});

test("E2: what is lost in a call that may be repeated is thrown as retryable", async () => {
  const server = open(fixture("stdio"));
  const pid = Number(await call(server, "pid"));
  const { happened, tell } = signalled();
  const hanging = call(server, "hang_safely", {}, { progress: () => tell() });
  await happened;
  process.kill(pid, "SIGKILL");
  await expect(hanging).rejects.toMatchObject({ name: "RetryableError" });
});

test("E2: an HTTP server killed during a call fails it soon; one that comes back is found again", async () => {
  const remote = await serve("http");
  const server = open({ url: remote.url });
  const { happened, tell } = signalled();
  const hanging = call(server, "hang", {}, { progress: () => tell() });
  await happened;
  const failed = expect(hanging).rejects.toThrow(/^The connection to the MCP server s was lost\./);
  await remote.kill();
  await failed;
  await using _ = await serve("http", remote.port);
  await expect.poll(() => state(server), { timeout: 10_000 }).toBe("ready");
  expect(await call(server, "echo", { text: "back" })).toBe("echo: back");
});

test("E2: an HTTP server that was restarted has forgotten the session: the call is sent in a new one", async () => {
  const remote = await serve("http");
  const server = open({ url: remote.url });
  expect(await call(server, "echo", { text: "one" })).toBe("echo: one");
  await remote.kill();
  await using _ = await serve("http", remote.port);
  expect(await call(server, "echo", { text: "two" })).toBe("echo: two");
});

test("E2: a call to a server that stays away fails after connectMs, and the error states that nothing was done", async () => {
  const remote = await serve("http");
  const server = open({ url: remote.url });
  const echo = await tool(server, "echo");
  await remote.kill();
  await expect.poll(() => state(server)).not.toBe("ready"); // A call on a connection that only seems to be there may be done.
  stopTimers();
  const failed = expect(echo.run({ text: "x" }, toolContext())).rejects.toThrow(/ The call was not made\./);
  await vi.advanceTimersByTimeAsync(20_000);
  await failed;
});

test("E2: while a call over HTTP is silent, a probe asks the server if the session still exists", async () => {
  const { happened: called, tell } = signalled();
  const http = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text: string) => (body += text));
    request.on("end", () => {
      const { id, method } = JSON.parse(body || "{}") as { id?: number; method?: string };
      const reply = (result: object): void => {
        response.writeHead(200, { "content-type": "application/json", "mcp-session-id": "one" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
      };
      const serverInfo = { name: "forgetful", version: "1" };
      if (method === "initialize") reply({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo });
      else if (method === "tools/list") reply({ tools: [{ name: "wait", inputSchema: { type: "object" } }] });
      else if (method === "tools/call") {
        response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders(); // The stream stays open and silent.
        tell();
      } else response.writeHead(method === "ping" ? 404 : method?.startsWith("notifications/") ? 202 : 405).end();
    });
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const server = open({ url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/`, idleMs: 1_000 });
  const failed = expect(call(server, "wait")).rejects.toThrow(
    /^The connection to the MCP server s was lost\. .* HTTP 404\. /,
  );
  await called;
  await failed;
  http.closeAllConnections();
  http.close();
});

test("E2: a server that lets three calls time out and does not answer a probe is restarted", async () => {
  const server = open({ ...raw("deaf", [{ name: "wait", inputSchema: { type: "object" } }]), totalMs: 50 });
  await names(server);
  const { pid } = server.status;
  stopTimers();
  for (let at = 0; at < 3; at++) {
    const failed = expect(call(server, "wait")).rejects.toThrow("did not finish within 50 ms");
    await vi.advanceTimersByTimeAsync(50);
    await failed;
  }
  await vi.advanceTimersByTimeAsync(5_000); // The probe runs out.
  vi.useRealTimers();
  await expect.poll(() => isAlive(pid!), { timeout: 15_000 }).toBe(false);
  await expect.poll(() => state(server), { timeout: 15_000 }).toBe("ready");
});

test("E2: headers are asked for with each request", async () => {
  let asked = 0;
  const server = open({ url: shared.url, headers: async () => ({ authorization: `Bearer ${++asked}` }) });
  await call(server, "echo", { text: "x" });
  const seen = (await (await fetch(new URL("/seen", shared.url))).json()) as string[];
  expect(seen.filter((line) => line.startsWith("POST Bearer")).length).toBeGreaterThan(2);
  expect(new Set(seen.filter((line) => line.includes("Bearer"))).size).toBe(asked);
});

// ── The end ─────────────────────────────────────────────────────────────────────────────────────────────────────────

test("E2: nothing is left when a server is detached: not its process, nor what that started", async () => {
  const server = open(fixture("stdio"));
  const pid = Number(await call(server, "pid"));
  const grandchild = Number(await call(server, "spawn"));
  expect([isAlive(pid), isAlive(grandchild)]).toEqual([true, true]);
  const told = changed(server);
  await server.detach();
  await told;
  await expect.poll(() => [isAlive(pid), isAlive(grandchild)]).toEqual([false, false]);
  expect(await names(server)).toEqual([]);
  expect(state(server)).toBe("detached");
  server.attach();
  expect(await call(server, "echo", { text: "anew" })).toBe("echo: anew");
});

test("E2: a process that does not want to end is made to", async () => {
  const server = open(raw("stubborn"));
  await names(server);
  const { pid } = server.status;
  expect(isAlive(pid!)).toBe(true);
  stopTimers();
  const detached = server.detach();
  await vi.advanceTimersByTimeAsync(1_999);
  expect(isAlive(pid!)).toBe(true);
  await vi.advanceTimersByTimeAsync(1);
  await detached;
  expect(isAlive(pid!)).toBe(false);
});

test("E2: detached while it connects, attached and detached again and again: one process at most, none in the end", async () => {
  const server = open(fixture("stdio"));
  const ends: Promise<void>[] = [];
  for (let at = 0; at < 5; at++) {
    ends.push(server.detach());
    server.attach();
  }
  expect(await call(server, "echo", { text: "x" })).toBe("echo: x");
  const { pid } = server.status;
  await Promise.all([...ends, server.detach()]);
  expect(isAlive(pid!)).toBe(false);
  expect(server.status).not.toHaveProperty("pid");
});
