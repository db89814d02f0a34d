import { chmodSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test, vi } from "vitest";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { inProcess } from "./in-process.ts";
import { bowline, folder, type Program, type Start, start } from "./program.ts";

vi.setConfig({ testTimeout: 60_000 });

interface Served {
  readonly program: Program;
  readonly url: string;
  readonly token: string;
  readonly login: string;
}

/** `bowline serve`, once it listens. */
async function serving(args: readonly string[] = [], how: Start = {}, isDefaultPort = false): Promise<Served> {
  // Any free port: `fetch` could still have a connection to the server that had the default port before.
  const program = start(["serve", ...(isDefaultPort ? [] : ["--port", "0"]), ...args], how);
  await program.until(/\n {2}Token {2}\S+[\s\S]*Ctrl-C/);
  const [, login = "", url = "", token = ""] =
    /\n {2}Chat {3}(\S+)\n {2}API {4}(\S+)\/v1\n {2}Token {2}(\S+)/.exec(program.stdout()) ?? [];
  return { program, url, token, login };
}

/** Calls the API, and returns the JSON of the answer. */
async function api<T>({ url, token }: Served, method: string, path: string, body?: object): Promise<T> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const init = body === undefined ? {} : { body: JSON.stringify(body) };
  const response = await fetch(`${url}/v1${path}`, { method, headers, ...init });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as T;
}

interface Turn {
  readonly id: string;
  readonly state: string;
  readonly outcome?: { readonly kind: string; readonly text?: string };
}

/** Sends a text, to a new session unless it is known. */
async function send(served: Served, session: string, text: string): Promise<string> {
  await api(served, "POST", "/sessions", { id: session, ifExists: "take" });
  return (await api<{ turnId: string }>(served, "POST", `/sessions/${session}/inputs`, { text })).turnId;
}

const turnOf = (served: Served, id: string): Promise<Turn> => api(served, "GET", `/turns/${id}`);
const ended = (served: Served, id: string): Promise<Turn> =>
  vi.waitFor(
    async () => {
      const turn = await turnOf(served, id);
      if (turn.state !== "ended") throw new Error(`The turn is ${turn.state}.`);
      return turn;
    },
    { timeout: 20_000, interval: 50 },
  );
const running = (served: Served, id: string) =>
  vi.waitFor(async () => expect((await turnOf(served, id)).state).toBe("running"), { timeout: 20_000, interval: 50 });

async function stop({ program }: Served, signal: NodeJS.Signals = "SIGTERM"): Promise<number | string> {
  program.child.kill(signal);
  return program.ended;
}

/** An app whose tool `wait` ends when there is a file `go`, and whose store is the one that it is given. */
function appIn(cwd = folder()) {
  const write = (name: string, text = ""): void => writeFileSync(join(cwd, name), text);
  write("agent.ts", APP);
  return { cwd, write };
}
const APP = `
import { existsSync } from "node:fs";
import { createRuntime, defineTool } from "bowline";

const wait = defineTool({
  name: "wait",
  description: "Waits.",
  input: { type: "object" },
  retry: { policy: "safe" },
  execute: async (_, { signal }) => {
    while (!existsSync("go")) {
      signal.throwIfAborted();
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    return "waited";
  },
});
const model = {
  id: "fixed",
  modelId: "test",
  async *stream({ messages }) {
    const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0, unknownCalls: 0 };
    const isAsked = messages.at(-1).role === "user" && messages.at(-1).parts[0].text === "Wait";
    if (isAsked) yield { kind: "call", callId: "call_" + messages.length, name: "wait", input: {} };
    else yield { kind: "text", delta: "Done." };
    yield { kind: "finish", reason: isAsked ? "calls" : "stop", usage };
  },
};
export default ({ store }) => createRuntime({ store, model, tools: [wait] });
`;

describe.concurrent("bowline serve", () => {
  test("E2 bowline serve prints where it is, and answers a chat over HTTP with the demo model", async () => {
    const cwd = folder();
    const served = await serving([], { cwd }, true);
    const { program, url, token, login } = served;
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:41\d\d$/);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(login).toBe(`${url}/login?t=${token}`);
    expect(program.stdout()).toMatch(
      /^Bowline \S+ serves the offline demo model.*, stored in \.bowline\/agent\.db\.\n/,
    );

    expect(await (await fetch(`${url}/v1/health`)).json()).toMatchObject({ ok: true });
    expect((await fetch(`${url}/v1/sessions`)).status).toBe(401);
    const page = await fetch(url);
    expect(page.headers.get("content-type")).toMatch(/^text\/html/);
    expect((await fetch(`${url}/login?t=wrong`)).status).toBe(401);
    const entered = await fetch(login, { redirect: "manual" });
    expect(entered.status).toBe(303);
    const [cookie] = entered.headers.get("set-cookie")!.split(";");
    expect(cookie).not.toContain(token);
    expect((await fetch(`${url}/v1/sessions`, { headers: { cookie: cookie! } })).status).toBe(200);

    const turn = await ended(served, await send(served, "trip", "What is 21*2?"));
    expect(turn.outcome).toMatchObject({ kind: "answered", text: "21*2 = 42." });
    const list = await bowline(["sessions"], { cwd });
    expect(list.stdout).toMatch(/^trip {2}1 turn {2}just now {2}21\*2 = 42\.\n$/);
    expect(await stop(served)).toBe(0);
    expect(program.stderr()).toBe("");
  });

  test("E2 Ctrl-C stops it, and ends open event streams", async () => {
    const served = await serving(["--db", ":memory:"]);
    await send(served, "s", "hello");
    const events = await fetch(`${served.url}/v1/sessions/s/events`, {
      headers: { authorization: `Bearer ${served.token}` },
    });
    const read = events.text();
    expect(await stop(served, "SIGINT")).toBe(0);
    expect(await read).toContain("retry: 1000");
  });

  test("E2 --json prints the addresses and the token as one line", async () => {
    const program = start(["serve", "--json", "--port", "0"]);
    await program.until(/\n$/);
    const printed = JSON.parse(program.stdout());
    expect(printed).toEqual({
      url: `http://127.0.0.1:${printed.port}`,
      login: `${printed.url}/login?t=${printed.token}`,
      token: expect.stringMatching(/^[\w-]{43}$/),
      port: expect.any(Number),
      db: ".bowline/agent.db",
    });
    program.child.kill("SIGTERM");
    expect(await program.ended).toBe(0);
  });

  test("E2 --no-token needs no token on this machine", async () => {
    const served = await serving(["--no-token"]);
    expect(served.login).toBe(served.url);
    expect(served.token).toBe("none:");
    expect((await fetch(`${served.url}/v1/sessions`)).status).toBe(200);
    expect(await stop(served)).toBe(0);
  });

  test("E2 a busy port: the next free one is taken, unless the port was chosen", async () => {
    const [first, second] = await Promise.all([serving([], {}, true), serving([], {}, true)]);
    expect(first.url).not.toBe(second.url);
    for (const { url } of [first, second]) expect((await fetch(`${url}/v1/health`)).status).toBe(200);
    const { code, stdout, stderr } = await bowline(["serve", "--port", new URL(first.url).port]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^bowline: The server cannot listen: .*EADDRINUSE.* Choose another port.*\n$/);
    expect(await Promise.all([stop(first), stop(second)])).toEqual([0, 0]);
  });

  test("E2 on all addresses it answers for names of this machine and of --hosts, and for no other", async () => {
    const { program, url } = await serving(["--host", "0.0.0.0", "--hosts", "agent.example.com"]);
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    const { port } = new URL(url);
    const statusFor = (host: string) =>
      new Promise<number | undefined>((resolve, reject) => {
        const asked = request({ host: "127.0.0.1", port, path: "/v1/health", headers: { host } }, (response) => {
          response.resume();
          resolve(response.statusCode);
        });
        asked.on("error", reject).end();
      });
    const hosts = [`localhost:${port}`, `127.0.0.1:${port}`, "agent.example.com", `evil.example:${port}`];
    expect(await Promise.all(hosts.map(statusFor))).toEqual([200, 200, 200, 421]);
    program.child.kill("SIGTERM");
    expect(await program.ended).toBe(0);
  });
});

test("E2 the export `server` of an app decides who can send requests", async () => {
  const cwd = folder();
  const app = `
import { createRuntime } from "bowline";
import { demo } from "bowline/providers/demo";
export default ({ store }) => createRuntime({ store, model: demo() });
export const server = {
  authorize: (request) => {
    const owner = request.headers.get("x-user");
    return owner === null ? undefined : { owner };
  },
};
`;
  writeFileSync(join(cwd, "agent.ts"), app);
  const served = await serving(["--app", "agent.ts"], { cwd });
  expect(served.program.stdout()).toContain("Token  checked by the app");
  expect((await fetch(`${served.url}/v1/sessions`)).status).toBe(401);
  expect((await fetch(`${served.url}/v1/sessions`, { headers: { "x-user": "ann" } })).status).toBe(200);
  expect(await stop(served)).toBe(0);
});

describe.concurrent("the token file of bowline serve", () => {
  test("E2 a token file is made for its owner alone, and used again by the next start", async () => {
    const cwd = folder();
    const first = await serving(["--token-file", "token"], { cwd });
    expect(readFileSync(join(cwd, "token"), "utf8")).toBe(`${first.token}\n`);
    if (process.platform !== "win32") expect(statSync(join(cwd, "token")).mode & 0o777).toBe(0o600);
    expect(await stop(first)).toBe(0);
    chmodSync(join(cwd, "token"), 0o644);
    const second = await serving(["--token-file", "token"], { cwd });
    expect(second.token).toBe(first.token);
    if (process.platform !== "win32")
      expect(second.program.stderr()).toMatch(/^bowline: Other users can read token\..*\n$/);
    expect(await stop(second)).toBe(0);
  });

  test.each([
    ["is too short", "short\n"],
    ["is empty", ""],
    ["has two lines", `${"a".repeat(20)}\n${"b".repeat(20)}\n`],
  ])("E2 a token file that %s is refused", async (_, text) => {
    const cwd = folder();
    writeFileSync(join(cwd, "token"), text, { mode: 0o600 });
    const { code, stdout, stderr } = await inProcess(["serve", "--token-file", "token"], "", { cwd });
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^bowline: token has no token: .*\n$/);
  });

  test("E2 a token file that cannot be written is one line", async () => {
    const { code, stderr } = await inProcess(["serve", "--token-file", "nowhere/token"]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^bowline: The token file nowhere\/token cannot be used: .*\n$/);
  });
});

describe.concurrent("a turn that outlives its server", () => {
  test("E2 D1 SIGTERM in the middle of a turn hands the turn over to a worker, which finishes it", async () => {
    const { cwd, write } = appIn();
    const db = "kept.db";
    const served = await serving(["--app", "agent.ts", "--db", db], { cwd });
    const id = await send(served, "s", "Wait");
    await running(served, id);
    const worker = start(["worker", "--app", "agent.ts", "--db", db], { cwd });
    await worker.until(/runs turns, jobs and schedules of agent\.ts, stored in kept\.db\. Ctrl-C stops it\.\n/);
    expect(await stop(served)).toBe(0);
    write("go");
    await vi.waitFor(
      async () => {
        const { stdout } = await bowline(["turns", "--db", db, "--json"], { cwd });
        expect(JSON.parse(stdout)).toMatchObject([{ id, state: "ended", outcome: "answered" }]);
      },
      { timeout: 20_000, interval: 200 },
    );
    worker.child.kill("SIGTERM");
    expect(await worker.ended).toBe(0);
    expect(worker.stderr()).toBe("");
    expect((await bowline(["show", id, "--db", db], { cwd })).stdout).toContain(`by process ${worker.child.pid}`);
  });

  test("E2 D1 killed in the middle of a turn, the next start finishes it, and clients of before have the same token", async () => {
    const { cwd, write } = appIn();
    const flags = ["--app", "agent.ts", "--token-file", "token"];
    const first = await serving(flags, { cwd });
    const id = await send(first, "s", "Wait");
    await running(first, id);
    expect(await stop(first, "SIGKILL")).toBe("SIGKILL");
    write("go");
    const second = await serving(flags, { cwd });
    expect((await ended({ ...second, token: first.token }, id)).outcome).toMatchObject({
      kind: "answered",
      text: "Done.",
    });
    expect(await stop(second)).toBe(0);
  });

  test("E2 the second Ctrl-C ends it at once; npm, which repeats the first, does not", async () => {
    const { cwd } = appIn();
    const served = await serving(["--app", "agent.ts"], { cwd });
    await running(served, await send(served, "s", "Wait"));
    const { child, ended } = served.program;
    child.kill("SIGINT");
    await sleep(200);
    child.kill("SIGINT");
    await sleep(1_300);
    expect(child.exitCode).toBe(null); // The turn has 5 seconds.
    child.kill("SIGINT");
    expect(await ended).toBe(130);
  });

  test("E2 a worker of the agent that comes with the program finishes a turn of a killed server", async () => {
    const cwd = folder();
    const served = await serving([], { cwd });
    const id = await send(served, "s", "wait 1 second");
    await running(served, id);
    await stop(served, "SIGKILL");
    const worker = start(["worker"], { cwd });
    await vi.waitFor(
      async () => expect((await bowline(["show", id], { cwd })).stdout).toContain("answered: I waited 1 second."),
      { timeout: 20_000, interval: 200 },
    );
    worker.child.kill("SIGINT");
    expect(await worker.ended).toBe(0);
  });
});

test.each([
  [["serve", "now"], "serve takes no text."],
  [["serve", "--port", "http"], "--port is a whole number from 0 to 65535."],
  [["serve", "--port", "70000"], "--port is a whole number from 0 to 65535."],
  [["serve", "--no-token", "--token-file", "t"], "--no-token and --token-file exclude each other."],
  [["serve", "--session", "s"], "--session is not for serve."],
  [["serve", "--app", "agent.ts", "--model", "demo"], "--model is not for --app."],
  [["serve", "--mode", "cod"], 'There is no mode "cod".'],
  [["worker", "--json"], "--json is not for worker."],
  [["worker", "--port", "1"], "--port is for serve and studio."],
  [["chat", "--token-file", "t"], "--token-file is for serve and studio."],
  [["sessions", "--open"], "--open is for serve and studio."],
])("E2 wrong usage is one line and exit 2: %j", async (args, says) => {
  const { code, stdout, stderr } = await inProcess(args);
  expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
  expect(stderr).toMatch(/^bowline: .+\n$/);
  expect(stderr).toContain(says);
});

test("E2 without a token it listens on this machine only", async () => {
  for (const host of ["0.0.0.0", "::", "192.0.2.7", ""]) {
    const { code, stdout, stderr } = await inProcess(["serve", "--no-token", "--host", host]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toMatch(/^bowline: .* refuses to listen on .* \[server\.bind\]\. Leave out --no-token, .*\n$/);
  }
});

test("E2 --db is refused for an app that opens its own store", async () => {
  const { cwd, write } = appIn();
  write(
    "own.ts",
    `import { createRuntime } from "bowline"; import { demo } from "bowline/providers/demo";
     import { memory } from "bowline/stores/memory";
     export default () => createRuntime({ store: memory(), model: demo() });`,
  );
  for (const args of [["serve"], ["worker"], ["run", "hi"]]) {
    const { code, stderr } = await bowline([...args, "--app", "own.ts", "--db", "a.db"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toMatch(/^bowline: --db has no effect: own\.ts opens its own store\. .*\n$/);
  }
  expect(await bowline(["run", "--app", "agent.ts", "--db", "a.db", "hi"], { cwd })).toMatchObject({
    code: 0,
    stdout: "Done.\n",
  });
  expect((await bowline(["sessions", "--db", "a.db"], { cwd })).stdout).toMatch(/1 turn .* Done\.\n$/);
});

describePostgres("the commands on Postgres", () => {
  test("E2 chat, run, sessions, serve and worker use a database as a file, and never print its password", async () => {
    const url = new URL(await freshDatabase());
    url.password = "a-secret-of-ours";
    const cwd = folder();
    const env = { BOWLINE_DB: url.href };
    const none = await inProcess(["sessions", "--db", url.href]);
    expect(none).toMatchObject({ code: 1, stderr: expect.stringMatching(/has no schema bowline\. .*\n$/) });

    const ran = await inProcess(["run", "--session", "r", "--db", url.href, "What is 21*2?"]);
    expect(ran).toEqual({ code: 0, stdout: "21*2 = 42.\n", stderr: "" });
    const chat = await inProcess(["chat"], "remember the milk\n", { env });
    expect(chat.stdout).toBe("I noted that as number 1: the milk.\n");
    const again = await inProcess(["chat", "--db", url.href], "what do you remember\n/mode code\nWhat is 1+1?\n");
    expect(again.stdout).toMatch(/^I remember:\n1\. the milk\n.*\n1\+1 = 2\.\n$/);

    const served = await serving(["--db", url.href], { cwd });
    expect((await ended(served, await send(served, "web", "hello"))).outcome).toMatchObject({ kind: "answered" });
    const id = await send(served, "left", "wait 1 second");
    await running(served, id);
    await stop(served, "SIGKILL");
    const list = await inProcess(["sessions", "--db", url.href]);
    expect(list.stdout.split("\n").map((line) => line.split(" ")[0])).toEqual(
      expect.arrayContaining(["web", "left", "chat", "r"]),
    );
    const worker = start(["worker"], { cwd, env });
    await worker.until(/runs turns, jobs and schedules of .*, stored in postgres:\/\/.*\. Ctrl-C/);
    worker.child.kill("SIGTERM");
    expect(await worker.ended).toBe(0);
    const doctor = await inProcess(["doctor", "--db", url.href]);
    expect(doctor.stdout).toMatch(/: schema \d+, .*, 4 sessions, /);

    const printed = [none, ran, chat, again, list, doctor].flatMap(({ stdout, stderr }) => [stdout, stderr]);
    for (const { seen } of [served.program, worker]) printed.push(seen());
    expect(printed.join("\n")).not.toContain("a-secret-of-ours");
  });
});

test("E2 docs/cli.md has the commands and all of their options", () => {
  const page = readFileSync("docs/cli.md", "utf8");
  const names = ["--port", "--host", "--hosts", "--token-file", "--no-token", "--open", "--db"];
  for (const word of ["bowline serve", "bowline worker", "bowline init", ...names]) expect(page).toContain(word);
});
