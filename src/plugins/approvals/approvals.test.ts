import {
  createRuntime,
  definePlugin,
  defineTool,
  defineToolProvider,
  type Json,
  type Plugin,
  type Runtime,
  type Session,
  type Tool,
  type Turn,
} from "bowline";
import { ask, type CallTrail, deny, replaceArgs } from "bowline/plugin";
import { type ApprovalsOptions, approvals } from "bowline/plugins/approvals";
import { subagents } from "bowline/plugins/subagents";
import { toolCalls } from "bowline/protocols/tool-calls";
import type { Provider } from "bowline/provider";
import { sqlite } from "bowline/stores/sqlite";
import { both, calls, says, scripted } from "bowline/testing";
import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { outline, within } from "../../../test/kit/reading.ts";
import { file, STORES } from "../../../test/kit/stores.ts";
import { onEvent } from "../../../test/kit/telemetry.ts";
import { lifetimes, named, open, running, runningOn } from "../../../test/kit/worlds.ts";
import { OPTIONS } from "./options.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** A tool that notes the refunds it made. */
function refunds() {
  const made: string[] = [];
  const refund = defineTool({
    name: "refund",
    description: "Gives money back.",
    input: z.object({ order: z.string(), eur: z.number() }),
    execute: ({ order, eur }) => {
      made.push(`${order} ${eur}`);
      return "refunded";
    },
  });
  return { refund, made };
}
const refunding = (order: string, eur: number) => calls("refund", { order, eur });
const MONEY = "It moves money.";
const ASKS = { rules: [{ tool: "refund", verdict: "ask", reason: MONEY }] } as const;

type Resolution = Parameters<Runtime["waits"]["resolve"]>[1];
/** Answers what the turn asks, in order; what is left unanswered is asked in vain. Gives the questions. */
async function answering(
  runtime: Runtime,
  turn: Turn<unknown>,
  ...said: readonly Resolution[]
): Promise<readonly string[]> {
  const asked: string[] = [];
  for await (const each of turn) {
    let event: typeof each = each;
    while (event.kind === "child") event = event.event as typeof each;
    if (event.kind !== "waiting") continue;
    asked.push(`${event.reason} ${JSON.stringify(event.call.input)}`);
    const wait = await runtime.waits.get(event.wait);
    const answer = said[asked.length - 1];
    if (wait !== undefined && answer !== undefined) await runtime.waits.resolve(wait.key, answer, { by: "ann" });
  }
  return asked;
}

const resultsIn = async (session: Session) =>
  outline((await session.read()).messages).filter((line) => / (ok|failed|denied|cancelled|unknown): /.test(line));

/** What else happened to calls, as history has it. */
const trailsIn = async (session: Pick<Session, "read">): Promise<readonly CallTrail[]> =>
  (await session.read()).messages.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === "toolResult" ? (part.trail ?? []) : [])),
  );

/** A session of one turn for each reply; the answers are given in order. */
async function playing(
  options: ApprovalsOptions,
  tools: readonly Tool[],
  replies: readonly ReturnType<typeof calls>[],
  said: readonly Resolution[] = [],
  plugins: readonly Plugin[] = [],
) {
  const model = scripted(...replies.flatMap((reply) => [reply, says("Done.")]));
  await using world = await open(model, {
    tools,
    plugins: [toolCalls({ batch: true }), approvals(options), ...plugins],
  });
  const asked: string[] = [];
  const issues: unknown[] = [];
  for (const _ of replies) {
    const turn = world.session.turn("Go.");
    asked.push(...(await within(answering(world.runtime, turn, ...said.slice(asked.length)))));
    issues.push(...(await turn.result()).issues);
  }
  return { asked, issues, results: await resultsIn(world.session), trails: await trailsIn(world.session) };
}

// ── Rules for tools that are not there ──────────────────────────────────────────────────────────────────────────────

test("K12 T9 a rule for a tool that does not exist is an issue of the first turn, with the nearest name, and a trace", async () => {
  const { refund, made } = refunds();
  const rules = [
    { tool: ["refnud", "wire"], verdict: "ask" as const },
    { tool: ["mail_*", refund], verdict: "allow" as const },
  ];
  const traces: unknown[] = [];
  await using world = await open(scripted(refunding("a", 1), says("Done."), says("Again.")), {
    tools: [refund],
    plugins: [approvals({ rules })],
    telemetry: onEvent(({ name, about }) => (name === "hook.issue" ? void traces.push(about) : undefined)),
  });
  const { issues } = await world.session.turn("Go.").result();
  expect(issues).toEqual([
    {
      plugin: "bowline/approvals",
      code: "gate.tool",
      message: "A gate names the tool refnud, which the session does not have.",
      hint: "Did you mean refund? The gate does not apply to its calls. Ignore this if refnud is added later.",
    },
    {
      plugin: "bowline/approvals",
      code: "gate.tool",
      message: expect.stringContaining("wire"),
      hint: expect.any(String),
    },
  ]);
  expect(traces).toEqual(issues);
  expect(made).toEqual(["a 1"]);
  expect((await world.session.turn("Go.").result()).issues).toEqual([]);
});

test("K12 T9 without telemetry a probably misspelled tool of a rule is a warning of the process, once", async () => {
  const warnings = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  try {
    const rules = [{ tool: ["refnd", "wire"], verdict: "ask" as const }];
    await using world = await open(scripted(says("1"), says("2")), {
      tools: [refunds().refund],
      plugins: [approvals({ rules })],
    });
    await world.session.turn("Go.").result();
    await (await world.runtime.session("other")).turn("Go.").result();
    expect(warnings.mock.calls).toEqual([
      [expect.stringContaining("refnd"), expect.objectContaining({ code: "gate.tool" })],
    ]);
  } finally {
    warnings.mockRestore();
  }
});

test("K12 D2 a process without the approved tool fails the call, and the issue reports that the process lacks the tool", async () => {
  const { refund, made } = refunds();
  const path = file();
  const policy = approvals({ rules: [{ tool: "refund", verdict: "ask" }] });
  const start = (options: object, ...replies: Parameters<typeof scripted>) =>
    running({ store: sqlite(path), model: scripted(...replies), plugins: [policy], ...options });
  const asking = await start({ tools: [refund] }, refunding("a", 1));
  const turn = (await asking.session("desk")).turn("Go.", { key: "k" });
  for await (const event of turn) if (event.kind === "waiting") break;
  await asking.close();
  await using other = await start({}, says("It failed."));
  const [wait] = await other.waits.list();
  await other.waits.resolve(wait!.id, { approved: true });
  const { outcome, issues } = await (await other.session("desk")).turn("Go.", { key: "k" }).result();
  expect(outcome.kind).toBe("answered");
  expect(issues).toMatchObject([{ code: "tool.missing", message: expect.stringContaining("refund") }]);
  expect(made).toEqual([]);
});

test("K12 T9 tools of providers, searchable ones and those that are off count as there, and a list that cannot be read reports nothing", async () => {
  const { refund } = refunds();
  let isDown = true;
  const provider = defineToolProvider({
    id: "bank",
    list: () => {
      if (isDown) throw new Error("Down.");
      return [{ name: "refund", description: "Refunds.", availability: "searchable" }];
    },
    load: () => refund,
  });
  const rules = [{ tool: ["refund", "pay", "wire"], verdict: "ask" as const }];
  await using world = await open(scripted(says("1"), says("2")), {
    tools: [named("pay"), provider],
    plugins: [approvals({ rules })],
  });
  await world.session.tools.set("pay", "off");
  expect((await world.session.turn("Go.").result()).issues).toEqual([]);
  isDown = false;
  await world.session.tools.refresh();
  const { issues } = await world.session.turn("Go.").result();
  expect(issues.map(({ message }) => message)).toEqual([expect.stringContaining("the tool wire,")]);
});

// ── Policy as data ──────────────────────────────────────────────────────────────────────────────────────────────────

/** What the rules say about a call; undefined when no rule is for it. */
function ruled(rules: Json, name: string, input: Json): string | undefined {
  const read = OPTIONS["~standard"].validate({ rules });
  if (read instanceof Promise || read.issues !== undefined) throw new Error(JSON.stringify(read));
  return read.value.rules.find((rule) => rule.isFor({ id: "c" as never, name, input }))?.decision.verdict;
}

test.each<readonly [string, Json, string, boolean]>([
  ["a name", "refund", "refund", true],
  ["a name", "refund", "refunds", false],
  ["any name", "*", "refund", true],
  ["a beginning", "shell_*", "shell_run", true],
  ["a beginning", "shell_*", "shell_", true],
  ["a beginning", "shell_*", "my_shell_run", false],
  ["an end", "*_delete", "user_delete", true],
  ["a middle", "mcp__*__delete_*", "mcp__crm__delete_user", true],
  ["one of a list", ["pay", "refund", "x_*"], "x_1", true],
  ["none of a list", ["pay", "refund", "x_*"], "y_1", false],
])("T9 a rule is for tools by %s: %j, %s", (_, tool, name, is) => {
  expect(ruled([{ tool, verdict: "deny" }], name, {})).toBe(is ? "deny" : undefined);
});

test.each<readonly [Json, Json, boolean | "cannot tell"]>([
  [{ eur: 5 }, { eur: 5 }, true],
  [{ eur: 5 }, { eur: 6 }, false],
  [{ eur: 5 }, { eur: "5" }, "cannot tell"],
  [{ eur: 5 }, {}, "cannot tell"],
  [{ note: null }, { note: null }, true],
  [{ note: null }, { note: "x" }, false],
  [{ note: "x" }, { note: null }, "cannot tell"],
  [{ dry: true }, { dry: "true" }, "cannot tell"],
  [{ eur: { gt: 5 } }, { eur: 5.01 }, true],
  [{ eur: { gt: 5 } }, { eur: 5 }, false],
  [{ eur: { gte: 5, lt: 10 } }, { eur: 5 }, true],
  [{ eur: { gte: 5, lt: 10 } }, { eur: 10 }, false],
  [{ eur: { lte: 5 } }, { eur: 5 }, true],
  [{ eur: { gt: 5 } }, { eur: "500" }, "cannot tell"],
  [{ eur: { gt: 5 } }, { eur: [500] }, "cannot tell"],
  [{ cur: { in: ["EUR", "USD"] } }, { cur: "USD" }, true],
  [{ cur: { in: ["EUR", "USD"] } }, { cur: "CHF" }, false],
  [{ cur: { in: ["EUR", "USD"] } }, { cur: ["CHF"] }, "cannot tell"],
  [{ cmd: { matches: "npm (test|run \\w+)" } }, { cmd: "npm run lint" }, true],
  [{ cmd: { matches: "npm (test|run \\w+)" } }, { cmd: "npm test; rm -rf /" }, false],
  [{ cmd: { matches: "npm test|ls" } }, { cmd: "ls; reboot" }, false],
  [{ cmd: { matches: "a.*b" } }, { cmd: "a\nb" }, true],
  [{ cmd: { contains: "rm" } }, { cmd: "sudo rm -rf /" }, true],
  [{ cmd: { contains: "r." } }, { cmd: "rm" }, false],
  [{ cc: { exists: true } }, {}, false],
  [{ cc: { exists: false } }, {}, true],
  [{ cc: { exists: true, contains: "@" } }, {}, false],
  [{ cc: { exists: true, contains: "@" } }, { cc: "a@b" }, true],
  [{ eur: 5, cur: "EUR" }, { eur: 6 }, false],
  [{ eur: 5, cur: "EUR" }, { eur: 5 }, "cannot tell"],
  [{ "order.total": { gt: 5 } }, { order: { total: 9 } }, true],
  [{ "to.length": { gt: 1 } }, { to: ["a", "b"] }, true],
  [{ "to.0": "a" }, { to: ["a", "b"] }, true],
  [{ "constructor.name": { exists: true } }, {}, false],
  [{ eur: { gt: 5 } }, null, "cannot tell"],
  [{}, { eur: 5 }, true],
])("T9 arguments are tested: when %j, of %j: %s", (when, input, is) => {
  const says = (verdict: string) => ruled([{ tool: "*", when, verdict }], "refund", input) === verdict;
  expect(says("allow")).toBe(is === true);
  expect(says("ask")).toBe(is !== false);
  expect(says("deny")).toBe(is !== false);
});

test.each<readonly [ApprovalsOptions | Json, string]>([
  [{}, "needs rules, decide or otherwise"],
  [{ rule: [] }, "there is no field rule"],
  [{ rules: [{ tool: "refund", if: {}, verdict: "ask" }] }, "there is no field rules.0.if"],
  [{ rules: [{ tool: "refund" }] }, "rules.0.verdict must be one of allow, ask, deny"],
  [{ rules: [{ verdict: "ask" }] }, "rules.0.tool must be a tool"],
  [{ rules: [{ tool: [], verdict: "ask" }] }, "rules.0.tool must be a tool"],
  [{ rules: [{ tool: "a|b", verdict: "ask" }] }, "rules.0.tool must be a tool"],
  [{ rules: [{ tool: "a", verdict: "ask", when: { eur: { above: 5 } } }] }, "there is no field rules.0.when.eur.above"],
  [{ rules: [{ tool: "a", verdict: "ask", when: { eur: {} } }] }, "rules.0.when.eur must have at least one test"],
  [{ rules: [{ tool: "a", verdict: "ask", when: { eur: { gt: "5" } } }] }, "rules.0.when.eur.gt must be a number"],
  [{ rules: [{ tool: "a", verdict: "ask", when: { eur: { in: [] } } }] }, "rules.0.when.eur.in must be a list"],
  [{ rules: [{ tool: "a", verdict: "ask", when: { cmd: { matches: "(" } } }] }, "must be a regular expression"],
  [{ rules: [{ tool: "a", verdict: "ask", when: { "a..b": 1 } }] }, "must be the path of an argument"],
  [{ rules: [{ tool: "a", verdict: "ask", reason: " " }] }, "rules.0.reason must be a text that is not empty"],
  [{ otherwise: "ask", waitMs: 0 }, "waitMs must be a whole number of 1 or more"],
  [{ otherwise: "ask", remembers: "session" }, "remembers must be one of arguments, tool, nothing"],
  [{ decide: "ask" }, "decide must be a function"],
])("T9 options that cannot be meant are refused: %j", (options, problem) => {
  expect(() => approvals(options as ApprovalsOptions)).toThrow(problem);
});

test("T9 the first rule that is for a call decides; a call that none is for runs", async () => {
  const { refund, made } = refunds();
  const { asked, results } = await playing(
    {
      rules: [
        { tool: refund, when: { eur: { lte: 20 } }, verdict: "allow" },
        { tool: refund, when: { eur: { gt: 1_000 } }, verdict: "deny", reason: "Too much." },
        { tool: refund, verdict: "ask", reason: MONEY },
      ],
    },
    [refund, named("ping")],
    [both(refunding("a", 20), refunding("b", 21), refunding("c", 1_001), calls("ping"))],
    [{ approved: true }],
  );
  expect(asked).toEqual([`${MONEY} {"order":"b","eur":21}`]);
  expect(made).toEqual(["a 20", "b 21"]);
  expect(results).toEqual([
    "refund ok: refunded",
    "refund ok: refunded",
    expect.stringMatching(/^refund denied: .*refund was not allowed: Too much\./),
    "ping ok: ping!",
  ]);
});

test("T9 with `otherwise: ask`, what no rule allows is asked about, by the name of its tool", async () => {
  const { refund, made } = refunds();
  const { asked } = await playing(
    { rules: [{ tool: "ping", verdict: "allow" }], otherwise: "ask" },
    [refund, named("ping")],
    [both(calls("ping"), refunding("a", 1))],
    [{ approved: true }],
  );
  expect(asked).toEqual(['A call of refund needs approval. {"order":"a","eur":1}']);
  expect(made).toEqual(["a 1"]);
});

describe.each(["refund", "ref*"])("with a rule for %s", (tool) => {
  test("T9 nobody is asked about arguments that do not fit; who is asked sees what fits, its hash and its schema", async () => {
    const { refund, made } = refunds();
    const model = scripted(
      both(calls("refund", { order: "a", eur: "much" }, "wrong"), calls("refund", { order: "a", eur: 5 }, "right")),
      says("Done."),
    );
    await using world = await open(model, {
      tools: [refund],
      plugins: [approvals({ rules: [{ tool, verdict: "ask", reason: MONEY, waitMs: 60_000 }] })],
    });
    const turn = world.session.turn("Go.");
    for await (const event of turn) {
      if (event.kind !== "waiting") continue;
      expect(event.call.input).toEqual({ order: "a", eur: 5 });
      const waits = await world.runtime.waits.list();
      expect(waits).toMatchObject([
        {
          id: event.wait,
          kind: "approval",
          tool: "refund",
          arguments: { order: "a", eur: 5 },
          argumentsHash: expect.stringMatching(/./),
          reason: MONEY,
          schema: { properties: { eur: { type: "number" } } },
        },
      ]);
      expect((waits[0]?.deadline ?? 0) - (waits[0]?.askedAt ?? 0)).toBe(60_000);
      expect(JSON.stringify(event)).not.toContain(waits[0]?.key);
      await world.runtime.waits.resolve(waits[0]!, { approved: true });
    }
    expect(made).toEqual(["a 5"]);
    expect((await resultsIn(world.session))[0]).toContain("Error (tool.arguments)");
  });
});

test("T9 a wait is counted from when somebody is asked, however long the gate took", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const slow = definePlugin({
    id: "a/slow",
    setup: () => ({ beforeToolCall: () => void vi.setSystemTime(Date.now() + 5_000) }),
  });
  const two = both(calls("refund", { order: "a", eur: 1 }, "one"), calls("refund", { order: "b", eur: 2 }, "two"));
  await using world = await open(scripted(two, says("Done.")), {
    tools: [refunds().refund],
    plugins: [slow, approvals({ ...ASKS, waitMs: 60_000 })],
  });
  const times: number[] = [];
  for await (const event of world.session.turn("Go.")) {
    if (event.kind !== "waiting") continue;
    const wait = (await world.runtime.waits.get(event.wait))!;
    times.push(wait.deadline - wait.askedAt);
    await world.runtime.waits.resolve(wait, { approved: true });
  }
  expect(times).toEqual([60_000, 60_000]);
});

test("T9 a tool that is granted under another name is judged under its own, and its answers are remembered", async () => {
  const { refund, made } = refunds();
  const grants = definePlugin({
    id: "a/grants",
    setup: () => ({
      beforeTurn: ({ membership }) => membership.grant("give_back", { source: "app", tool: "refund" }),
    }),
  });
  const again = calls("give_back", { order: "a", eur: 5 });
  const { asked } = await playing(
    ASKS,
    [refund, named("ping")],
    [calls("ping"), again, again],
    [{ approved: true, remember: true }],
    [grants],
  );
  expect(asked).toHaveLength(1);
  expect(made).toEqual(["a 5", "a 5"]);
});

// ── Policy as a function ────────────────────────────────────────────────────────────────────────────────────────────

test("T9 beside rules stands a function: whichever is stricter counts, in either direction", async () => {
  const { refund, made } = refunds();
  const seen: unknown[] = [];
  const { asked, results } = await playing(
    {
      rules: [
        { tool: "refund", when: { eur: { gt: 100 } }, verdict: "deny", reason: "Over 100." },
        { tool: "refund", when: { eur: { gt: 10 } }, verdict: "ask", reason: "Over 10.", waitMs: 60_000 },
      ],
      decide: async ({ call, sessionId, turnId, signal }) => {
        seen.push(call.name, typeof sessionId, typeof turnId, signal.aborted);
        const { order } = call.input as { order: string };
        if (order === "eve") return { verdict: "deny", reason: "Not to Eve." };
        if (order === "bob") return "ask";
        if (order === "kim") return { verdict: "ask", reason: "It is Kim." };
        return order === "ann" ? "allow" : undefined;
      },
    },
    [refund],
    [
      both(
        refunding("ann", 101),
        refunding("eve", 50),
        refunding("eve", 1),
        refunding("bob", 1),
        refunding("bob", 20),
        refunding("kim", 20),
        refunding("ann", 1),
        refunding("joe", 1),
      ),
    ],
    Array.from({ length: 3 }, () => ({ approved: false })),
  );
  expect(asked).toEqual([
    'A call of refund needs approval. {"order":"bob","eur":1}',
    'Over 10. {"order":"bob","eur":20}',
    'It is Kim. {"order":"kim","eur":20}',
  ]);
  expect(results.slice(0, 3)).toEqual([
    expect.stringContaining("Over 100."),
    expect.stringContaining("Not to Eve."),
    expect.stringContaining("Not to Eve."),
  ]);
  expect(made).toEqual(["ann 1", "joe 1"]);
  expect(seen.slice(0, 4)).toEqual(["refund", "string", "string", false]);
});

test.each<readonly [string, ApprovalsOptions["decide"], string]>([
  [
    "that throws",
    () => {
      throw new Error("The policy server is down.");
    },
    "The policy server is down.",
  ],
  ["that rejects", () => Promise.reject(new Error("It is down.")), "It is down."],
  ["that returns true", (() => true) as never, "it must be an object"],
  ["with a verdict that there is not", (() => "yes") as never, "verdict must be one of allow, ask, deny"],
])("T9 a function %s denies, and that is an issue of the turn", async (_, decide, problem) => {
  const { refund, made } = refunds();
  const { results, issues } = await playing({ decide }, [refund], [refunding("a", 1)]);
  expect(made).toEqual([]);
  expect(results[0]).toMatch(/^refund denied: /);
  expect(issues).toMatchObject([{ plugin: "bowline/approvals", message: expect.stringContaining(problem) }]);
});

// ── Of one session ──────────────────────────────────────────────────────────────────────────────────────────────────

test("T9 a session has separate rules, also in the next process; the function of the runtime counts there too", async () => {
  const path = file();
  const { refund, made } = refunds();
  const installed = approvals({
    ...ASKS,
    decide: ({ call }) => ((call.input as { order: string }).order === "eve" ? "deny" : undefined),
  });
  const script = () => scripted(both(refunding("a", 5), refunding("a", 500), refunding("eve", 1)), says("Done."));
  const own = approvals.options({ rules: [{ tool: "refund", when: { eur: { gt: 100 } }, verdict: "deny" }] });
  const first = await runningOn(path, { model: script(), tools: [refund], plugins: [installed] });
  await (await first.session("s", { plugins: [own] })).turn("Go.").result();
  await first.close();
  await using second = await runningOn(path, { model: script(), tools: [refund], plugins: [installed] });
  await (await second.session("s")).turn("Go.").result();
  expect(made).toEqual(["a 5", "a 5"]);
  expect(() => approvals.options({ decide: () => "allow" })).toThrow("decide");
});

// ── Edited arguments ────────────────────────────────────────────────────────────────────────────────────────────────

const GUARDED = {
  rules: [
    { tool: "refund", when: { eur: { gt: 100 } }, verdict: "deny", reason: "Over 100." },
    { tool: "refund", verdict: "ask", reason: MONEY },
  ],
} as const;

describe.each(STORES)("on %s", (_, make) => {
  test("T9 I6 edited arguments pass the policy again: they are not asked about twice, and a rule that denies still does", async () => {
    const { refund, made } = refunds();
    const model = scripted(both(refunding("a", 50), calls("refund", { order: "b", eur: 50 }, "other")), says("Done."));
    await using runtime = await running({ store: make(), model, tools: [refund], plugins: [approvals(GUARDED)] });
    const session = await runtime.session();
    const asked = await within(
      answering(
        runtime,
        session.turn("Go."),
        { approved: true, args: { order: "a", eur: 40 } },
        { approved: true, args: { order: "b", eur: 101 } },
      ),
    );
    expect(asked).toHaveLength(2);
    expect(made).toEqual(["a 40"]);
    expect(await resultsIn(session)).toEqual(["refund ok: refunded", expect.stringContaining("Over 100.")]);
    expect(await trailsIn(session)).toMatchObject([
      { name: "refund", input: { order: "a", eur: 40 }, asked: [{ answer: { by: "ann", isEdited: true } }] },
      { name: "refund", input: { order: "b", eur: 101 }, asked: [{ answer: { by: "ann", isEdited: true } }] },
    ]);
  });
});

test("T9 the history shows who was asked, who answered, the edits and the call that really ran, and a fresh process reads it", async () => {
  const path = file();
  const { refund, made } = refunds();
  const rounds = definePlugin({
    id: "a/rounds",
    setup: () => ({
      beforeToolCall: ({ call }) => {
        const { order, eur } = call.input as { order: string; eur: number };
        return Number.isInteger(eur) ? undefined : replaceArgs({ order, eur: Math.round(eur) });
      },
    }),
  });
  const policy = approvals({
    rules: [
      { tool: "refund", when: { eur: { lt: 10 } }, verdict: "allow" },
      { tool: "refund", verdict: "ask", reason: MONEY },
    ],
  });
  const model = scripted(
    both(refunding("a", 4.6), refunding("b", 50), refunding("c", 60), refunding("d", 70)),
    says("Done."),
  );
  const first = await runningOn(path, { model, tools: [refund], plugins: [policy, rounds] });
  await within(
    answering(
      first,
      (await first.session("s")).turn("Go."),
      { approved: true, args: { order: "b", eur: 45 } },
      { approved: false, reason: "Not again." },
      { approved: true, remember: 1_000 },
    ),
  );
  await first.close();
  expect(made.toSorted()).toEqual(["a 5", "b 45", "d 70"]);
  const answered = (more: object) => [
    {
      kind: "approval",
      plugin: "bowline/approvals",
      reason: MONEY,
      argsHash: expect.stringMatching(/./),
      at: expect.any(Number),
      answer: { how: "answered", by: "ann", at: expect.any(Number), ...more },
    },
  ];
  const of = { callId: expect.any(String), name: "refund" };
  await using second = await runningOn(path, { model: scripted() });
  expect(await trailsIn(await second.session("s"))).toEqual([
    { ...of, input: { order: "a", eur: 5 } },
    { ...of, input: { order: "b", eur: 45 }, asked: answered({ approved: true, isEdited: true }) },
    { ...of, asked: answered({ approved: false, reason: "Not again." }) },
    { ...of, asked: answered({ approved: true, remember: 1_000 }) },
  ]);
});

// ── Remembered answers ──────────────────────────────────────────────────────────────────────────────────────────────

/** The calls that were asked about, when these are made one after the other and all answered the same way. */
async function askedAbout(
  options: Omit<ApprovalsOptions, "rules">,
  said: Resolution,
  ...made: readonly ReturnType<typeof calls>[]
) {
  const { refund } = refunds();
  const answers = made.map(() => said);
  return playing({ ...ASKS, ...options }, [refund], made, answers);
}
const APPROVED = { approved: true, remember: true } as const;
const DENIED = { approved: false, reason: "Never.", remember: true } as const;

test("T9 an answer is remembered for the same arguments, in whatever order they come", async () => {
  const other = calls("refund", { eur: 5, order: "a" });
  const { asked, results } = await askedAbout({}, APPROVED, refunding("a", 5), other, refunding("a", 6));
  expect(asked).toEqual([`${MONEY} {"order":"a","eur":5}`, `${MONEY} {"order":"a","eur":6}`]);
  expect(results).toHaveLength(3);
});

test("T9 an answer that is not to be remembered is not", async () => {
  const { asked } = await askedAbout({}, { approved: true }, refunding("a", 5), refunding("a", 5));
  expect(asked).toHaveLength(2);
});

test("T9 a denial is remembered too, with its reason", async () => {
  const { asked, results } = await askedAbout({}, DENIED, refunding("a", 5), refunding("a", 5));
  expect(asked).toHaveLength(1);
  expect(results).toEqual([expect.stringContaining("Never."), expect.stringMatching(/^refund denied: .*Never\./)]);
});

test("T9 with `remembers: tool` an answer reaches all calls of the tool, with `nothing` none", async () => {
  const made = [refunding("a", 5), refunding("b", 6)];
  expect((await askedAbout({ remembers: "tool" }, APPROVED, ...made)).asked).toHaveLength(1);
  expect((await askedAbout({ remembers: "tool" }, DENIED, ...made)).asked).toHaveLength(1);
  const same = [refunding("a", 5), refunding("a", 5)];
  expect((await askedAbout({ remembers: "nothing" }, APPROVED, ...same)).asked).toHaveLength(2);
});

test("T9 a rule has a separate reach; an answer for one reason does not count for another, and a rule that denies is not overruled", async () => {
  const { refund, made } = refunds();
  const { asked, results } = await playing(
    {
      remembers: "tool",
      rules: [
        { tool: "refund", when: { eur: { gt: 100 } }, verdict: "deny", reason: "Over 100." },
        { tool: "refund", when: { eur: { gt: 50 } }, verdict: "ask", reason: "Over 50.", remembers: "arguments" },
        { tool: "refund", verdict: "ask", reason: MONEY },
      ],
    },
    [refund],
    [
      refunding("a", 1),
      refunding("b", 2),
      refunding("c", 60),
      refunding("c", 60),
      refunding("d", 61),
      refunding("a", 101),
    ],
    Array.from({ length: 4 }, () => APPROVED),
  );
  expect(asked).toEqual([
    `${MONEY} {"order":"a","eur":1}`,
    'Over 50. {"order":"c","eur":60}',
    'Over 50. {"order":"d","eur":61}',
  ]);
  expect(made).toEqual(["a 1", "b 2", "c 60", "c 60", "d 61"]);
  expect(results.at(-1)).toContain("Over 100.");
});

test("T9 of an approval with other arguments, those are remembered and not the ones that were shown", async () => {
  const { refund, made } = refunds();
  const edited = { approved: true, args: { order: "a", eur: 40 }, remember: true } as const;
  const { asked } = await playing(
    ASKS,
    [refund],
    [refunding("a", 50), refunding("a", 40), refunding("a", 50)],
    [edited, { approved: false }],
  );
  expect(asked).toEqual([`${MONEY} {"order":"a","eur":50}`, `${MONEY} {"order":"a","eur":50}`]);
  expect(made).toEqual(["a 40", "a 40"]);
});

test("T9 an answer is remembered for the duration that it contains, counted from the time of the answer", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { refund } = refunds();
  const turns = 3;
  const model = scripted(...Array.from({ length: turns }, () => [refunding("a", 5), says("Done.")]).flat());
  await using world = await open(model, { tools: [refund], plugins: [approvals(ASKS)] });
  const go = () => answering(world.runtime, world.session.turn("Go."), { approved: true, remember: 60_000 });
  expect(await within(go())).toHaveLength(1);
  const [answer] = await world.session.query(approvals, "remembered");
  expect((answer?.until ?? 0) - (answer?.at ?? 0)).toBe(60_000);
  vi.setSystemTime(Date.now() + 59_000);
  expect(await within(go())).toHaveLength(0);
  vi.setSystemTime(Date.now() + 2_000);
  expect(await world.session.query(approvals, "remembered")).toEqual([]);
  expect(await within(go())).toHaveLength(1);
});

test("T9 an observer is notified when a remembered answer was used, with the person who gave it", async () => {
  const { refund } = refunds();
  const model = scripted(refunding("a", 5), says("Done."), refunding("a", 5), says("Done."));
  await using world = await open(model, { tools: [refund], plugins: [approvals(ASKS)] });
  await within(answering(world.runtime, world.session.turn("Go."), APPROVED));
  const [answer] = await world.session.query(approvals, "remembered");
  const told = [];
  for await (const event of world.session.turn("Go.")) if (event.kind === "plugin") told.push(event);
  expect(told).toMatchObject([
    {
      plugin: "bowline/approvals",
      name: "remembered",
      payload: { tool: "refund", approved: true, by: "ann", answer: answer?.id, at: answer?.at },
    },
  ]);
});

test("T9 remembered answers can be listed and forgotten, one, those of a tool, or all", async () => {
  const { refund } = refunds();
  const asks = approvals({ otherwise: "ask" });
  const go = both(refunding("a", 5), refunding("b", 6), calls("ping"));
  const model = scripted(...Array.from({ length: 5 }, () => [go, says("Done.")]).flat());
  await using world = await open(model, { tools: [refund, named("ping")], plugins: [asks] });
  const turn = () => within(answering(world.runtime, world.session.turn("Go."), APPROVED, APPROVED, APPROVED));
  expect(await turn()).toHaveLength(3);
  const list = await world.session.query(approvals, "remembered");
  expect(list).toEqual(
    [
      ["refund", '{"order":"a","eur":5}'],
      ["refund", '{"order":"b","eur":6}'],
      ["ping", "{}"],
    ].map(([tool, input]) => ({
      id: expect.stringMatching(/./),
      tool,
      arguments: input,
      question: `A call of ${tool} needs approval.`,
      approved: true,
      by: "ann",
      at: expect.any(Number),
    })),
  );
  const forget = (input: { id: string } | { tool: string } | { all: true }) =>
    world.session.command(approvals, "forget", input);
  expect((await forget({ id: list[0]!.id })).output).toEqual({ forgotten: 1 });
  expect(await turn()).toEqual([expect.stringContaining('{"order":"a","eur":5}')]);
  expect((await forget({ tool: "refund" })).output).toEqual({ forgotten: 2 });
  expect(await turn()).toHaveLength(2);
  expect((await forget({ all: true })).output).toEqual({ forgotten: 3 });
  expect((await forget({ all: true })).output).toEqual({ forgotten: 0 });
  expect(await turn()).toHaveLength(3);
  await expect(forget({ id: undefined } as never)).rejects.toThrow("needs one of id, tool, and all: true");
});

test("T9 beyond `rememberedMax` the oldest answers are dropped, and what has no room costs no call", async () => {
  const { refund, made } = refunds();
  const answers = Array.from({ length: 9 }, () => APPROVED);
  const three = [refunding("a", 1), refunding("b", 2), refunding("c", 3)];
  const again = [...three, ...three.toReversed()];
  const { asked } = await playing({ ...ASKS, rememberedMax: 2 }, [refund], again, answers);
  expect(asked.slice(3)).toEqual([`${MONEY} {"order":"a","eur":1}`]);
  const model = scripted(...Array.from({ length: 3 }, (_, n) => [refunding("x", n), says("Done.")]).flat());
  await using world = await open(model, {
    tools: [refund],
    plugins: [approvals(ASKS)],
    limits: { stateBytesMax: 400 },
  });
  made.length = 0;
  for (let n = 0; n < 3; n++) await within(answering(world.runtime, world.session.turn("Go."), APPROVED));
  expect(made).toEqual(["x 0", "x 1", "x 2"]);
  expect(await world.session.query(approvals, "remembered")).toMatchObject([{ arguments: '{"order":"x","eur":2}' }]);
});

test("T9 what another plugin asked is not ours to remember", async () => {
  const { refund } = refunds();
  const careful = definePlugin({ id: "a/careful", setup: () => ({ beforeToolCall: () => ask("I am careful.") }) });
  const again = [refunding("a", 5), refunding("a", 5)];
  const { asked } = await playing(ASKS, [refund], again, [APPROVED, APPROVED], [careful]);
  expect(asked).toEqual(again.map(() => 'I am careful. {"order":"a","eur":5}'));
});

test("T9 a fork remembers what its origin did, another session nothing, and so it is in the next process", async () => {
  const path = file();
  const { refund } = refunds();
  const model = () => scripted(...Array.from({ length: 3 }, () => [refunding("a", 5), says("Done.")]).flat());
  const options = { tools: [refund], plugins: [approvals(ASKS)] };
  const first = await runningOn(path, { ...options, model: model() });
  const session = await first.session("s");
  expect(await within(answering(first, session.turn("Go."), APPROVED))).toHaveLength(1);
  const fork = await session.fork({ id: "fork" });
  expect(await within(answering(first, fork.turn("Go."), APPROVED))).toHaveLength(0);
  await first.close();
  await using second = await runningOn(path, { ...options, model: model() });
  expect(await within(answering(second, (await second.session("s")).turn("Go."), APPROVED))).toHaveLength(0);
  expect(await within(answering(second, (await second.session("fork")).turn("Go."), APPROVED))).toHaveLength(0);
  expect(await within(answering(second, (await second.session("new")).turn("Go."), APPROVED))).toHaveLength(1);
});

// ── Where calls come from ───────────────────────────────────────────────────────────────────────────────────────────

test("T9 the calls of a batch are asked about one by one; the batch itself is not", async () => {
  const { refund, made } = refunds();
  const batch = calls("batch", {
    calls: [
      { tool: "refund", input: { order: "a", eur: 1 } },
      { tool: "refund", input: { order: "b", eur: 2 } },
      { tool: "ping", input: {} },
    ],
  });
  const { asked, trails } = await playing(
    { rules: [{ tool: "ping", verdict: "allow" }], otherwise: "ask" },
    [refund, named("ping")],
    [batch, batch],
    [APPROVED, { approved: false }, { approved: true, args: { order: "b", eur: 1 } }],
  );
  expect(asked).toHaveLength(3); // The second batch asks only about what was not approved for good.
  expect(made).toEqual(["a 1", "a 1", "b 1"]);
  expect(trails.map(({ name, input, asked: about }) => [name, input, about?.[0]?.answer?.approved])).toEqual([
    ["refund", undefined, true],
    ["refund", undefined, false],
    ["refund", { order: "b", eur: 1 }, true],
  ]);
});

test("T9 the policy holds with typed gates of other plugins: the strictest wins, in any order", async () => {
  const { refund, made } = refunds();
  const typed = definePlugin({
    id: "a/typed",
    setup: () => ({
      beforeToolCall: {
        tools: [refund],
        run: ({ call }) => (call.input.order === "eve" ? deny("Not to Eve.") : undefined),
      },
    }),
  });
  const doubles = definePlugin({
    id: "a/doubles",
    order: "late",
    setup: () => ({
      beforeToolCall: {
        tools: [refund],
        run: ({ call }) =>
          call.input.order === "two" ? replaceArgs({ order: "twice", eur: call.input.eur * 2 }) : undefined,
      },
    }),
  });
  const { asked, results } = await playing(
    GUARDED,
    [refund],
    [both(refunding("eve", 1), refunding("two", 60), refunding("two", 40))],
    [{ approved: true }],
    [typed, doubles],
  );
  expect(asked).toEqual([`${MONEY} {"order":"twice","eur":80}`]);
  expect(results.slice(0, 2)).toEqual([expect.stringContaining("Not to Eve."), expect.stringContaining("Over 100.")]);
  expect(made).toEqual(["twice 80"]);
});

test("T9 the calls of agents are asked about, by their own sessions, and the parent's answers do not count for them", async () => {
  const { refund, made } = refunds();
  const model: Provider = {
    id: "cast",
    modelId: "test",
    async *stream({ messages }) {
      const isAgent = JSON.stringify(messages).includes("As an agent");
      const results = messages.filter(({ role }) => role === "tool").length;
      if (results === 0) yield* refunding("a", 5);
      else if (!isAgent && results === 1) yield* calls("spawn_agent", { task: "As an agent, refund it." }, "spawn");
      else yield* says("Done.");
    },
  };
  await using runtime = await running({
    store: sqlite(file(), { durability: "process" }),
    model,
    tools: [refund],
    plugins: [approvals(ASKS), subagents({ capabilities: { helper: { description: "Helps." } } })],
  });
  const session = await runtime.session("root");
  const asked = await within(answering(runtime, session.turn("Go."), APPROVED, APPROVED), 5_000);
  expect(asked).toHaveLength(2);
  expect(made).toEqual(["a 5", "a 5"]);
  const [child] = await runtime.sessions.list({ parent: "root" });
  expect(await trailsIn(await runtime.session(child!.id))).toMatchObject([{ asked: [{ answer: { by: "ann" } }] }]);
});

// ── Time and restarts ───────────────────────────────────────────────────────────────────────────────────────────────

test("T9 D4 if nobody answers in time, the call is denied and the history shows it; a later answer is refused", async () => {
  const { refund, made } = refunds();
  const model = scripted(refunding("a", 5), says("Done."));
  await using world = await open(model, { tools: [refund], plugins: [approvals({ ...ASKS, waitMs: 30 })] });
  const turn = world.session.turn("Go.");
  let key = "";
  for await (const event of turn)
    if (event.kind === "waiting") key = (await world.runtime.waits.get(event.wait))?.key ?? "";
  expect(made).toEqual([]);
  expect(await resultsIn(world.session)).toEqual([expect.stringContaining("nobody approved it in time")]);
  expect(await trailsIn(world.session)).toMatchObject([{ asked: [{ answer: { how: "timeout" } }] }]);
  await expect(world.runtime.waits.resolve(key, { approved: true })).rejects.toMatchObject({
    code: expect.stringMatching(/^wait\.(unknown|expired)$/),
  });
});

test("T9 D4 a question that is taken back denies the call", async () => {
  const { refund, made } = refunds();
  const model = scripted(refunding("a", 5), says("Done."));
  await using world = await open(model, { tools: [refund], plugins: [approvals(ASKS)] });
  const turn = world.session.turn("Go.");
  for await (const event of turn)
    if (event.kind === "waiting") {
      const wait = await world.runtime.waits.get(event.wait);
      expect(await world.runtime.waits.revoke(wait!, { by: "bob" })).toBe("accepted");
    }
  expect(made).toEqual([]);
  expect(await trailsIn(world.session)).toMatchObject([{ asked: [{ answer: { how: "revoked", by: "bob" } }] }]);
});

test("T9 D4 asked in one process, approved with other arguments from a second, run by a third that remembers it", async () => {
  const path = file();
  const { refund, made } = refunds();
  const options = { tools: [refund], plugins: [approvals(GUARDED)] };
  const first = await runningOn(path, { ...options, model: scripted(refunding("a", 50)) });
  const turn = (await first.session("s")).turn("Go.");
  for await (const event of turn) if (event.kind === "waiting") break;
  await first.close();

  const web = await createRuntime({
    store: sqlite(path, { durability: "process" }),
    model: scripted(),
    recover: "manual",
  });
  const [wait] = await web.waits.list({ session: "s" });
  expect(wait).toMatchObject({ kind: "approval", tool: "refund", arguments: { order: "a", eur: 50 }, reason: MONEY });
  await expect(web.waits.resolve(wait!.key, { approved: true, args: { eur: 40 } })).rejects.toMatchObject({
    code: "wait.answer",
  });
  const answer = { approved: true, args: { order: "a", eur: 40 }, remember: true } as const;
  expect(await web.waits.resolve(wait!.key, answer, { by: "ann" })).toBe("accepted");
  expect(await web.waits.resolve(wait!.key, { approved: false })).toBe("already-resolved");
  await web.close();
  expect(made).toEqual([]);

  const model = scripted(says("Done."), refunding("a", 40), says("Done."));
  await using third = await runningOn(path, { ...options, model });
  const session = await third.session("s");
  await within(session.follow(await turn.id).result(), 5_000);
  expect(made).toEqual(["a 40"]);
  expect(await within(answering(third, session.turn("Again.")))).toEqual([]);
  expect(made).toEqual(["a 40", "a 40"]);
});

test("T9 D2 an approved call that a crash broke off is asked about again, and both answers are in the history", async () => {
  const { kill, next } = lifetimes();
  const made: string[] = [];
  const began = Promise.withResolvers<void>();
  const refund = (hangs: boolean) =>
    defineTool({
      name: "refund",
      description: "Gives money back.",
      input: z.object({ eur: z.number() }),
      onInterrupt: "ask",
      execute: ({ eur }) => {
        began.resolve();
        made.push(`${eur}`);
        return hangs ? new Promise(() => {}) : "refunded";
      },
    });
  const model = (): Provider => ({
    id: "stateless",
    modelId: "test",
    async *stream({ messages }) {
      yield* messages.at(-1)?.role === "tool" ? says("Done.") : calls("refund", { eur: 5 });
    },
  });
  const deployed = (hangs: boolean) => next({ model: model(), tools: [refund(hangs)], plugins: [approvals(ASKS)] });
  const first = await deployed(true);
  const asking = (await first.runtime.session("s")).turn("Go.", { key: "k" });
  void answering(first.runtime, asking, APPROVED).catch(() => {});
  await within(began.promise);
  kill();
  const second = await deployed(false);
  const session = await second.runtime.session("s");
  const asked = await within(answering(second.runtime, session.turn("Go.", { key: "k" }), { approved: true }), 5_000);
  expect(asked).toEqual([expect.stringContaining("refund was interrupted")]);
  expect(made).toEqual(["5", "5"]);
  expect(await trailsIn(session)).toMatchObject([
    {
      asked: [
        { kind: "approval", answer: { approved: true, remember: true, by: "ann" } },
        { kind: "interrupted", answer: { approved: true, by: "ann" } },
      ],
    },
  ]);
  expect(await session.query(approvals, "remembered")).toMatchObject([{ tool: "refund", approved: true }]);
  await second.runtime.close();
});
