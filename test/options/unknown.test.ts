import { runInNewContext } from "node:vm";
import {
  attach,
  createRuntime,
  definePlugin,
  defineTool,
  defineToolProvider,
  type Plugin,
  retryable,
  type Session,
  ToolError,
} from "bowline";
import { ask, createSession, emitEvent } from "bowline/plugin";
import { toolCalls } from "bowline/protocols/tool-calls";
import { installed } from "bowline/providers/ai-sdk";
import { demo } from "bowline/providers/demo";
import { memory } from "bowline/stores/memory";
import { calls, crashTest, defineScenario, says, scripted, simulatedWorld } from "bowline/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { open, ping, running } from "../kit/worlds.ts";

/** What callers without types write: a name that is none. */
const typo = (given: object): never => given as never;
const unknown = (name: string, nearest: string | undefined) => ({
  code: "options.unknown",
  details: nearest === undefined ? { where: expect.any(String), name } : { where: expect.any(String), name, nearest },
});

// ── Runtimes ────────────────────────────────────────────────────────────────────────────────────────────────────────

test.each<readonly [object, string, string | undefined]>([
  [{ instruction: "Be brief." }, "instruction", "instructions"],
  [{ modle: "x" }, "modle", "model"],
  [{ plugin: undefined }, "plugin", "plugins"],
  [{ zebra: 1 }, "zebra", undefined],
  [{ limits: { roundMax: 3 } }, "roundMax", "roundsMax"],
  [{ budget: { trees: { tokens: 1 } } }, "trees", "tree"],
  [{ budget: { turn: { token: 1 } } }, "token", "tokens"],
  [{ prices: { m: { input: 1, output: 1, cacheread: 1 } } }, "cacheread", "cacheRead"],
  [{ settings: { temprature: 1 } }, "temprature", "temperature"],
  [{ prompt: [{ slot: "guidance", text: "x", isVolatil: true }] }, "isVolatil", "isVolatile"],
  [{ template: [{ slots: ["guidance"], titel: "x" }] }, "titel", "title"],
  [{ checkpointer: "x" }, "checkpointer", "store"],
  [{ thread_id: "x" }, "thread_id", "runtime.session(id)"],
  [{ schema: "x" }, "schema", undefined],
])("createRuntime refuses %j", async (given, name, nearest) => {
  const model = scripted();
  await expect(createRuntime(typo({ store: memory(), model, ...given }))).rejects.toMatchObject(unknown(name, nearest));
});

test("the error names the place, and asks if the nearest name is meant", async () => {
  const error = await running(typo({ limits: { toolsMs: 5 } })).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({
    message: "Unknown option `toolsMs` in limits.",
    hint: "Did you mean `toolMs`? If not, leave it out.",
    retry: "never",
  });
});

// ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────────────

const operations = definePlugin({
  id: "acme/ops",
  setup: ({ query, command }) => ({
    operations: {
      look: query({ run: () => 1 }),
      queue: command({ run: ({ queueTurn }) => queueTurn("Hi.", typo({ kee: "a" })) }),
      append: command({
        run: ({ graph }) => graph.append([{ kind: "plugin", type: "x", body: 1 }], typo({ operationID: "a" })),
      }),
    },
  }),
});

test.each<readonly [string, (session: Session) => unknown, string, string | undefined]>([
  ["turn().id", (session) => session.turn("Hi.", typo({ sgnal: undefined })).id, "sgnal", "signal"],
  ["turn().result()", (session) => session.turn("Hi.", typo({ ky: "a" })).result(), "ky", "key"],
  ["send", (session) => session.send("Hi.", typo({ where: "boundary" })), "where", undefined],
  ["cancel", (session) => session.cancel("t", typo({ reasons: "x" })), "reasons", "reason"],
  ["observe", async (session) => session.observe(typo({ afer: "x" })), "afer", "after"],
  ["history", (session) => session.history(typo({ maxi: 1 })), "maxi", "max"],
  ["append", (session) => session.append([], typo({ operation: "x" })), "operation", "operationId"],
  [
    "append of a message",
    (session) => session.append([typo({ kind: "message", role: "user", text: "x", parts: [] })]),
    "parts",
    undefined,
  ],
  ["fork", (session) => session.fork(typo({ lable: "x" })), "lable", "label"],
  ["configure", (session) => session.configure(typo({ instruction: "x" })), "instruction", "instructions"],
  ["configure's settings", (session) => session.configure({ settings: typo({ topp: 1, top: 1 }) }), "topp", "topP"],
  ["complete.text", (session) => session.complete.text("Hi.", typo({ lable: "x" })), "lable", "label"],
  ["complete.reply", (session) => session.complete.reply(typo({ sytem: "x" })), "sytem", "system"],
  ["complete's settings", (session) => session.complete.text("Hi.", { settings: typo({ sed: 1 }) }), "sed", "seed"],
  ["query", (session) => session.query(operations, "look", undefined, typo({ sesion: null })), "sesion", "session"],
  ["command", (session) => session.command(operations, "queue", undefined, typo({ signl: null })), "signl", "signal"],
  ["invoke", (session) => session.invoke("query", "acme/ops.look", undefined, typo({ of: 1 })), "of", undefined],
  ["queueTurn", (session) => session.command(operations, "queue"), "kee", "key"],
  ["graph.append", (session) => session.command(operations, "append"), "operationID", "operationId"],
])("session.%s refuses it, and nothing is kept", async (_, act, name, nearest) => {
  await using world = await open(scripted(says("Yes.")), { plugins: [operations] });
  await expect(act(world.session)).rejects.toMatchObject(unknown(name, nearest));
  expect(await world.session.read()).toMatchObject({ turns: 0, messages: [], inputs: [] });
});

test("runtime.session, sessions.list and sessions.fork refuse it", async () => {
  await using runtime = await running({ plugins: [operations] });
  await runtime.session("a");
  const wrong: readonly (readonly [Promise<unknown>, string, string])[] = [
    [runtime.session("b", typo({ confg: {} })), "confg", "config"],
    [runtime.session("b", { config: typo({ labels: "x" }) }), "labels", "label"],
    [runtime.session("b", { plugins: [typo({ plugin: "acme/ops", option: {} })] }), "option", "options"],
    [runtime.sessions.list(typo({ parents: "a" })), "parents", "parent"],
    [runtime.sessions.fork("a", typo({ befor: "x" })), "befor", "before"],
  ];
  for (const [call, name, nearest] of wrong) await expect(call).rejects.toMatchObject(unknown(name, nearest));
  expect(await runtime.sessions.list()).toHaveLength(1);
});

// ── Definitions ─────────────────────────────────────────────────────────────────────────────────────────────────────

const spec = { name: "a", description: "A.", input: z.object({}), execute: () => 1 };
const setup = () => ({});

test.each<readonly [string, () => unknown, string, string | undefined]>([
  ["defineTool", () => defineTool(typo({ ...spec, timeout: 5 })), "timeout", "timeoutMs"],
  [
    "defineTool's retry",
    () => defineTool({ ...spec, retry: typo({ policy: "safe", atempts: 2 }) }),
    "atempts",
    "attempts",
  ],
  ["defineTool", () => defineTool(typo({ ...spec, schema: {} })), "schema", "input"],
  ["defineTool", () => defineTool(typo({ ...spec, inputSchema: {} })), "inputSchema", "input"],
  ["definePlugin", () => definePlugin(typo({ id: "a", ordr: "early", setup })), "ordr", "order"],
  [
    "defineToolProvider",
    () => defineToolProvider(typo({ id: "a", list: () => [], load: () => undefined, wach: () => {} })),
    "wach",
    "watch",
  ],
  ["attach", () => attach(new Uint8Array(), typo({ mediaType: "a/b", nam: "x" })), "nam", "name"],
  ["retryable", () => retryable("x", typo({ after: 5 })), "after", "afterMs"],
  ["ToolError", () => new ToolError("a", "b", typo({ clas: "denied" })), "clas", "class"],
  ["demo", () => demo(typo({ delay: 5 })), "delay", "delayMs"],
  ["installed", () => installed(typo({ form: "." })), "form", "from"],
  ["simulatedWorld", () => simulatedWorld(typo({ nam: "x" })), "nam", "name"],
  ["defineScenario", () => defineScenario(typo({ run: async () => {}, chek: () => {} })), "chek", "check"],
])("%s refuses it", (_, define, name, nearest) => {
  let thrown: unknown;
  try {
    define();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toMatchObject(unknown(name, nearest));
});

test("crashTest refuses it before anything runs", async () => {
  await expect(crashTest([], typo({ kill: 1 }))).rejects.toMatchObject(unknown("kill", "kills"));
});

test("a plugin's own options name the nearest field", () => {
  expect(() => toolCalls(typo({ bach: true }))).toThrow(/no field bach; there are batch; the nearest is batch/);
});

test.each<readonly [string, object, object]>([
  ["a handler's field", { prompt: { run: () => [], dedlineMs: 5 } }, unknown("dedlineMs", "deadlineMs")],
  ["a trigger's field", { triggers: [{ name: "a.b", desc: "x" }] }, unknown("desc", "description")],
  ["a hook", { beforeToolcall: () => {} }, { code: "hook.unknown", details: { nearest: "beforeToolCall" } }],
  ["a hook that is undefined", { toolss: undefined }, { code: "hook.unknown", details: { nearest: "tools" } }],
])("a plugin's setup must not misspell %s", async (_, parts, error) => {
  await using runtime = await running({ plugins: [definePlugin({ id: "a/b", setup: () => parts as object })] });
  await expect(runtime.session("a")).rejects.toMatchObject(error);
});

test("an operation's field is refused when the plugin is set up", async () => {
  const plugin = definePlugin({
    id: "a/b",
    setup: ({ query }) => ({ operations: { a: query(typo({ run: () => 1, describtion: "x" })) } }),
  });
  await using runtime = await running({ plugins: [plugin] });
  await expect(runtime.session("a")).rejects.toMatchObject({
    code: "plugin.setup",
    cause: unknown("describtion", "description"),
  });
});

// ── What plugins and tools ask for ──────────────────────────────────────────────────────────────────────────────────

const answers = (answer: () => unknown): Plugin =>
  definePlugin({ id: "a/b", setup: () => ({ beforeTurn: answer as never }) });

test.each<readonly [string, Plugin, string]>([
  ["createSession", answers(() => createSession(typo({ relation: "child" }))), "relation"],
  ["createSession by hand", answers(() => ({ kind: "createSession", request: {}, reqest: 1 })), "reqest"],
  [
    "a context",
    definePlugin({ id: "a/b", setup: () => ({ context: ({ context }) => typo({ ...context, tool: [] }) }) }),
    "tool",
  ],
  [
    "a context's prompt part",
    definePlugin({
      id: "a/b",
      setup: () => ({
        context: ({ context }) => ({ ...context, prompt: [typo({ slot: "intro", text: "x", tool: [] })] }),
      }),
    }),
    "tool",
  ],
  ["emitEvent by hand", answers(() => ({ ...emitEvent("a"), paylod: 1 })), "paylod"],
  [
    "a prompt part",
    definePlugin({ id: "a/b", setup: () => ({ prompt: () => typo({ slot: "intro", text: "x", titl: "x" }) }) }),
    "titl",
  ],
  [
    "an edit",
    definePlugin({ id: "a/b", setup: () => ({ toolCatalog: () => typo({ tool: "ping", hidden: true }) }) }),
    "hidden",
  ],
])(
  "a turn in which a plugin misspells a field of %s fails by that plugin, and names the field",
  async (_, plugin, name) => {
    await using world = await open(scripted(says("Yes.")), { plugins: [plugin], tools: [ping] });
    const { outcome } = await world.session.turn("Hi.").result();
    expect(outcome).toMatchObject({ kind: "failed", reason: expect.stringContaining(`\`${name}\``) });
    expect(outcome).toMatchObject({ code: "options.unknown", reason: expect.stringContaining("a/b") });
  },
);

test("I5 a gate that misspells a field of ask denies the call", async () => {
  const plugin = definePlugin({
    id: "a/b",
    setup: () => ({ beforeToolCall: () => ask("Sure?", typo({ wait: 5 })) }),
  });
  await using world = await open(scripted(calls("ping"), says("Yes.")), { plugins: [plugin], tools: [ping] });
  const { issues } = await world.session.turn("Hi.").result();
  expect(issues).toMatchObject([
    { plugin: "a/b", code: "options.unknown", message: expect.stringContaining("`wait`") },
  ]);
});

test("K8 a compaction that misspells a field is refused: its tail would silently be lost", async () => {
  const plugin = definePlugin({ id: "a/b", setup: () => ({ compact: () => typo({ seed: [], tial: "x" }) }) });
  await using world = await open(scripted(says("Yes.")), { plugins: [plugin] });
  await world.session.turn("Hi.").result();
  await expect(world.session.compact()).rejects.toMatchObject(unknown("tial", "tail"));
});

test("the sessions service and membership refuse it with the same code", async () => {
  const codes: string[] = [];
  const note = (error: { code: string; details: { name: string } }) =>
    void codes.push(`${error.code} ${error.details.name}`);
  const tool = defineTool({
    name: "tries",
    description: "Tries.",
    input: z.object({}),
    writes: true,
    execute: async (_, { sessions, membership, sessionId }) => {
      await sessions.create(typo({ relation: "child" })).catch(note);
      await sessions.create({ permissions: typo({ hiddenTool: [] }) }).catch(note);
      await sessions.create({ overlay: [typo({ tool: "a", hidden: true })] }).catch(note);
      await sessions.send("other", "Hi.", typo({ outputs: {} })).catch(note);
      await sessions.result(sessionId, "t", typo({ sign: 1 })).catch(note);
      try {
        membership.grant("b", typo({ source: "app", tool: "tries", binding: {} }));
      } catch (error) {
        note(error as never);
      }
      return "done";
    },
  });
  await using world = await open(scripted(calls("tries"), says("Yes.")), { tools: [tool] });
  await world.session.turn("Hi.").result();
  const names = ["relation", "hiddenTool", "hidden", "outputs", "sign", "binding"];
  expect(codes).toEqual(names.map((name) => `options.unknown ${name}`));
});

// ── What is not refused ─────────────────────────────────────────────────────────────────────────────────────────────

test("an instance of a class can have extra fields; a plain object of another realm cannot", async () => {
  class Options {
    readonly key = "a";
    readonly extra = 1;
  }
  await using world = await open(scripted(says("Yes.")));
  const elsewhere = runInNewContext("({ extra: 1 })") as object;
  await expect(world.session.turn("Hi.", elsewhere).id).rejects.toMatchObject(unknown("extra", undefined));
  expect(await world.session.turn("Hi.", new Options()).result()).toMatchObject({ outcome: { kind: "answered" } });
});
