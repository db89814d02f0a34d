import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, test, vi } from "vitest";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { inProcess } from "./in-process.ts";
import { bowline, folder, type Program, type Start, start } from "./program.ts";

vi.setConfig({ testTimeout: 60_000 });

interface Studio {
  readonly program: Program;
  readonly url: string;
  readonly token: string;
  readonly login: string;
}

/** `bowline studio`, or `serve --studio`, once it listens. */
async function opened(args: readonly string[], how: Start = {}): Promise<Studio> {
  const program = start([...args, "--port", "0"], how);
  await program.until(/ {2}Token {2}[\s\S]*Ctrl-C/);
  const [, login = ""] = /\n {2}Studio (\S+)/.exec(program.stdout()) ?? [];
  const [, token = ""] = /\n {2}Token {2}(\S+)/.exec(program.stdout()) ?? [];
  return { program, url: new URL(login).origin, token, login };
}

async function call(studio: Studio, method: string, path: string, body?: object): Promise<Response> {
  const headers = { authorization: `Bearer ${studio.token}`, "content-type": "application/json" };
  return fetch(`${studio.url}/v1${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
}

async function get<T>(studio: Studio, path: string): Promise<T> {
  const response = await call(studio, "GET", path);
  expect(response.status).toBe(200);
  return (await response.json()) as T;
}

async function stop({ program }: Studio): Promise<number | string> {
  program.child.kill("SIGTERM");
  return program.ended;
}

const PAYING = `
import { createRuntime, defineTool } from "bowline";
import { approvals } from "bowline/plugins/approvals";
const pay = defineTool({ name: "pay", description: "Pays.", input: { type: "object" }, execute: () => "paid" });
const model = {
  id: "fixed",
  modelId: "test",
  async *stream({ messages }) {
    const isAsked = messages.at(-1).role === "user";
    const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0, unknownCalls: 0 };
    if (isAsked) yield { kind: "call", callId: "call_1", name: "pay", input: {} };
    else yield { kind: "text", delta: "Paid." };
    yield { kind: "finish", reason: isAsked ? "calls" : "stop", usage };
  },
};
export default ({ store }) =>
  createRuntime({ store, model, tools: [pay], plugins: [approvals({ rules: [{ tool: "pay", verdict: "ask" }] })] });
`;

function appIn(): string {
  const cwd = folder();
  writeFileSync(join(cwd, "agent.ts"), PAYING);
  return cwd;
}

describe.concurrent("bowline studio", () => {
  test("E6 without a database it opens a demo that runs turns, and keeps nothing of it", async () => {
    const cwd = folder();
    const env = { TMPDIR: folder() };
    const studio = await opened(["studio"], { cwd, env });
    expect(studio.program.stdout()).toMatch(/^Bowline \S+ shows a demo, because this folder has no conversations yet/);
    expect(studio.login).toBe(`${studio.url}/login?t=${studio.token}&to=/studio/`);
    const entered = await fetch(studio.login, { redirect: "manual" });
    expect([entered.status, entered.headers.get("location")]).toEqual([303, "/studio/"]);
    const root = await fetch(studio.url, { redirect: "manual" });
    expect([root.status, root.headers.get("location")]).toEqual([302, "/studio/"]);
    expect(await (await fetch(`${studio.url}/studio/studio.js`)).text()).toContain("Sessions");

    const sessions = await get<readonly { id: string; state: string }[]>(studio, "/sessions?max=100");
    expect(sessions.length).toBeGreaterThan(25);
    expect(sessions.filter(({ state }) => state === "waiting").length).toBe(3);
    await call(studio, "POST", "/sessions/desk/inputs", { text: "Thank you" });
    await vi.waitFor(
      async () => expect(JSON.stringify(await get(studio, "/sessions/desk"))).toContain("You are welcome."),
      { timeout: 20_000, interval: 50 },
    );
    expect(await stop(studio)).toBe(0);
    expect(studio.program.stderr()).toBe("");
    expect(readdirSync(cwd)).toEqual([]);
    expect(readdirSync(env.TMPDIR)).toEqual([]);
  });

  test("E6 with --db it runs nothing: a message waits for a worker, and an answer reaches the worker's turn", async () => {
    const cwd = appIn();
    const app = ["--app", "agent.ts", "--db", "shop.db"];
    expect((await bowline(["run", ...app, "--session", "s", "Pay"], { cwd })).code).toBe(3);
    const studio = await opened(["studio", "--db", "shop.db"], { cwd });
    expect(studio.program.stdout()).toMatch(/shows shop\.db\.[\s\S]*It only looks/);
    expect((await call(studio, "POST", "/sessions/s/inputs", { text: "Pay again", at: "next-turn" })).status).toBe(202);
    const [wait] = await get<readonly { id: string }[]>(studio, "/waits");
    const answer = await call(studio, "POST", `/waits/${wait?.id}`, { approved: true });
    expect(answer.status).toBe(200);
    const open = await get<readonly { state: string }[]>(studio, "/turns?session=s");
    expect(open.map(({ state }) => state)).not.toContain("ended");

    const worker = start(["worker", ...app], { cwd });
    await vi.waitFor(
      async () => expect(JSON.stringify(await get(studio, "/turns?session=s"))).toContain('"outcome":"answered"'),
      { timeout: 20_000, interval: 100 },
    );
    worker.child.kill("SIGTERM");
    expect([await worker.ended, await stop(studio)]).toEqual([0, 0]);
  });

  test("E6 the default database is shown if it exists, and --db creates no file", async () => {
    const cwd = folder();
    mkdirSync(join(cwd, "empty"));
    const missing = await bowline(["studio", "--db", "none.db"], { cwd });
    expect(missing).toMatchObject({ code: 1, stdout: "", stderr: expect.stringMatching(/There is no file .*\n$/) });
    expect(existsSync(join(cwd, "none.db"))).toBe(false);
    await bowline(["run", "--session", "mine", "What is 1+1?"], { cwd });
    const studio = await opened(["studio"], { cwd });
    expect(studio.program.stdout()).toContain("shows .bowline/agent.db.");
    expect((await get<readonly { id: string }[]>(studio, "/sessions")).map(({ id }) => id)).toEqual(["mine"]);
    expect(await stop(studio)).toBe(0);
  });

  test("E6 --app runs the app, and serve --studio adds the studio to the chat page", async () => {
    const cwd = appIn();
    const studio = await opened(["studio", "--app", "agent.ts", "--db", "a.db"], { cwd });
    await call(studio, "POST", "/sessions", { id: "s" });
    await call(studio, "POST", "/sessions/s/inputs", { text: "Pay" });
    await vi.waitFor(async () => expect(await get(studio, "/waits")).toHaveLength(1), {
      timeout: 20_000,
      interval: 50,
    });
    expect(await stop(studio)).toBe(0);

    const served = await opened(["serve", "--studio", "--app", "agent.ts", "--db", "b.db"], { cwd });
    expect(served.login).toBe(`${served.url}/login?t=${served.token}&to=/studio/`);
    expect(await (await fetch(`${served.url}/studio/`)).text()).toContain("/studio/studio.js");
    expect(await (await fetch(served.url)).text()).toContain("/chat.js");
    expect(await stop(served)).toBe(0);
  });
});

describe.concurrent("bowline studio --url", () => {
  /** A server with the app, and the studio of that server. */
  async function pair(): Promise<{ readonly far: Studio; readonly studio: Studio; readonly cwd: string }> {
    const cwd = appIn();
    const far = await opened(["serve", "--studio", "--app", "agent.ts", "--db", "a.db", "--token-file", "far"], {
      cwd,
    });
    const studio = await opened(["studio", "--url", far.url, "--token-file", "far"], { cwd });
    return { far, studio, cwd };
  }

  test("E6 it forwards requests, bytes and event streams with the other server's token, and shows its own", async () => {
    const { far, studio } = await pair();
    expect(studio.token).not.toBe(far.token);
    expect(await (await fetch(`${studio.url}/studio/`)).text()).toContain("/studio/studio.js");
    expect((await call(studio, "POST", "/sessions", { id: "s" })).status).toBe(201);
    const bytes = new Uint8Array(300_000).map((_, at) => at % 251);
    const put = await fetch(`${studio.url}/v1/sessions/s/blobs?name=a.bin`, {
      method: "POST",
      headers: { authorization: `Bearer ${studio.token}`, "content-type": "application/octet-stream" },
      body: bytes,
    });
    const attachment = (await put.json()) as { hash: string };
    await call(studio, "POST", "/sessions/s/inputs", { parts: [{ kind: "text", text: "Pay" }, attachment] });
    await vi.waitFor(async () => expect(await get(studio, "/waits")).toHaveLength(1), {
      timeout: 20_000,
      interval: 50,
    });
    const { hash } = attachment;
    const blob = await call(studio, "GET", `/sessions/s/blobs/${hash}`);
    expect([blob.status, Buffer.compare(new Uint8Array(await blob.arrayBuffer()), bytes)]).toEqual([200, 0]);
    expect((await call(studio, "GET", "/sessions/none")).status).toBe(404);
    expect((await call({ ...studio, token: far.token }, "GET", "/sessions")).status).toBe(401);

    const leaving = new AbortController();
    const headers = { authorization: `Bearer ${studio.token}` };
    const events = await fetch(`${studio.url}/v1/events?after=latest`, { headers, signal: leaving.signal });
    expect(events.headers.get("content-type")).toBe("text/event-stream");
    await call(studio, "POST", "/sessions", { id: "t" });
    await call(studio, "POST", "/sessions/t/inputs", { text: "Pay" });
    let read = "";
    for await (const piece of events.body ?? []) if ((read += Buffer.from(piece)).includes('"kind":"waiting"')) break;
    expect(read).toContain('"kind":"accepted"');
    leaving.abort();
    // A server waits for open streams before it ends: the other one has none left, and this one ends its own.
    const open = fetch(`${studio.url}/v1/events`, { headers }).then((response) => response.text());
    await vi.waitFor(async () => expect(await get(studio, "/waits")).toHaveLength(2), {
      timeout: 20_000,
      interval: 50,
    });
    expect(await stop(studio)).toBe(0);
    expect(await open).toContain('"kind":"waiting"');
    expect(await stop(far)).toBe(0);
  });

  test("E6 a server that is away, a refused token and a foreign page: each fails by name", async () => {
    const { far, studio, cwd } = await pair();
    writeFileSync(join(cwd, "wrong"), "another-token-of-16\n", { mode: 0o600 });
    const wrong = await opened(["studio", "--url", far.url, "--token-file", "wrong"], { cwd });
    const refused = await call(wrong, "GET", "/sessions");
    expect([refused.status, await refused.json()]).toMatchObject([403, { code: "studio.server", retry: "never" }]);
    expect(await stop(wrong)).toBe(0);

    const statusOf = (path: string, headers: Record<string, string>): Promise<number | undefined> =>
      new Promise((resolve, reject) => {
        const { port } = new URL(studio.url);
        const asked = request({ host: "127.0.0.1", port, path, headers }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        asked.on("error", reject).end();
      });
    const bearer = { authorization: `Bearer ${studio.token}` };
    expect(await statusOf("/v1/sessions", { ...bearer, host: "evil.example" })).toBe(421);
    expect(await statusOf("/v1/sessions", { ...bearer, origin: "https://evil.example" })).toBe(403);
    expect(await statusOf("/v2/sessions", bearer)).toBe(404);
    expect(await statusOf("/login?t=wrong&to=/studio/", {})).toBe(401);

    expect(await stop(far)).toBe(0);
    const away = await call(studio, "GET", "/sessions");
    expect(away.status).toBe(503);
    expect(await away.json()).toMatchObject({ code: "studio.server", retry: "unchanged" });
    expect(await stop(studio)).toBe(0);
  });

  test("E6 of a server that is not Bowline no page reaches the browser, and the answer names --url", async () => {
    const page = "<script src=/v1/evil></script>";
    const other = createServer((asked, answer) => {
      if (asked.url !== "/v1/events") return void answer.writeHead(200, { "content-type": "text/html" }).end(page);
      answer.writeHead(200, { "content-type": "text/event-stream" }).write("data: {}\n\n");
      setImmediate(() => answer.destroy());
    });
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const { port } = other.address() as AddressInfo;
    const studio = await opened(["studio", "--url", `http://127.0.0.1:${port}`]);
    const refused = await call(studio, "GET", "/sessions");
    expect(refused.headers.get("content-type")).toBe("application/problem+json");
    expect([refused.status, await refused.json()]).toMatchObject([
      403,
      { code: "studio.server", hint: expect.stringContaining("--url") },
    ]);
    // A stream that breaks off ends, and nothing is written about it.
    await (await call(studio, "GET", "/events")).text();
    expect(await stop(studio)).toBe(0);
    expect(studio.program.stderr()).toBe("");
    other.close();
  });
});

describePostgres("bowline studio of a database", () => {
  test("E6 it shows a database, and makes no schema in an empty one", async () => {
    const db = await freshDatabase();
    expect(await inProcess(["studio", "--db", db])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("no schema"),
    });
    await inProcess(["run", "--session", "r", "--db", db, "What is 21*2?"]);
    const studio = await opened(["studio", "--db", db]);
    expect((await get<readonly { id: string }[]>(studio, "/sessions")).map(({ id }) => id)).toEqual(["r"]);
    expect(await stop(studio)).toBe(0);
  });
});

test.each([
  [["studio", "now"], "studio takes no text."],
  [["studio", "--db", ":memory:"], ":memory: has nothing to look at."],
  [["studio", "--model", "demo"], "--model is not for studio."],
  [["studio", "--url", "127.0.0.1:4100"], '--url "127.0.0.1:4100" is no address.'],
  [["studio", "--url", "http://ann:secret@127.0.0.1:4100"], "--url has more than a host and a path."],
  [["studio", "--url", "http://127.0.0.1:1", "--db", "a.db"], "--url excludes --app and --db."],
  [["studio", "--url", "http://127.0.0.1:1", "--token", "t", "--token-file", "t"], "exclude each other."],
  [["studio", "--token", "t"], "--token is for --url."],
  [["studio", "--port", "x"], "--port is a whole number"],
  [["chat", "--studio"], "--studio is for serve."],
])("E6 wrong usage is one line and exit 2: %j", async (args, says) => {
  const { code, stdout, stderr } = await inProcess(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^bowline: .+\n$/);
  expect(stderr).toContain(says);
});
