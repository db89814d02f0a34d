import {
  type attach,
  type Budget,
  createRuntime,
  definePlugin,
  defineTool,
  type Limits,
  type ModelSettings,
  type PriceTable,
  type PromptPart,
  type Runtime,
  type RuntimeOptions,
  type retryable,
  type Session,
  type SessionConfig,
  type Store,
  ToolError,
  type ToolProvider,
  type TurnOptions,
  type WebhookOptions,
} from "bowline";
import type { OtelOptions } from "bowline/otel";
import type {
  ask,
  MonitorDeclaration,
  NewSessionRequest,
  Services,
  ToolSpec,
  TriggerDeclaration,
} from "bowline/plugin";
import type { ApprovalDecision, ApprovalRule, ApprovalsOptions, ArgumentTest } from "bowline/plugins/approvals";
import type { JobsOptions } from "bowline/plugins/jobs";
import type { McpOptions, McpServer } from "bowline/plugins/mcp";
import type { MemoryInput, MemoryOptions } from "bowline/plugins/memory";
import type { MonitorsOptions } from "bowline/plugins/monitors";
import type { OutputBudgetOptions } from "bowline/plugins/output-budget";
import type { PlanOptions } from "bowline/plugins/plan";
import type { RollingHistoryOptions } from "bowline/plugins/rolling-history";
import type { Capability, SubagentsOptions } from "bowline/plugins/subagents";
import type { ToolsSearchOptions } from "bowline/plugins/tools-search";
import type { ShellOptions, WorkspaceOptions } from "bowline/plugins/workspace";
import type { toolCalls } from "bowline/protocols/tool-calls";
import { ProviderFailure } from "bowline/provider";
import type { installed } from "bowline/providers/ai-sdk";
import type { demo } from "bowline/providers/demo";
import { memory } from "bowline/stores/memory";
import type { JsonlOptions, PrettyOptions } from "bowline/telemetry";
import { type CrashOptions, calls, type Scenario, says, scripted, type simulatedWorld } from "bowline/testing";
import { expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { outline } from "../kit/reading.ts";

/** The optional fields that refuse `undefined`. */
type Refusing<T> = T extends object
  ? {
      [K in keyof T]-?: Record<never, never> extends Pick<T, K>
        ? { readonly [P in K]: undefined } extends Pick<T, K>
          ? never
          : K
        : never;
    }[keyof T]
  : never;
/** The options in a place of a function's parameters. */
type Given<F extends (...args: never[]) => unknown, N extends number> = NonNullable<Parameters<F>[N]>;
type PluginSpec = Parameters<typeof definePlugin<object>>[0];

test("every optional field of every options type takes undefined", () => {
  expectTypeOf<Refusing<{ readonly a?: string } | { b?: 1 | undefined; c: 2 }>>().toEqualTypeOf<"a">();
  type Limited = NonNullable<RuntimeOptions["limits"]>;
  expectTypeOf<keyof Limited>().toEqualTypeOf<keyof Limits>();
  expectTypeOf<
    Refusing<
      | RuntimeOptions
      | Limited
      | Budget
      | NonNullable<Budget["turn"]>
      | PriceTable[string]
      | ModelSettings
      | PromptPart
      | NonNullable<RuntimeOptions["template"]>[number]
      | SessionConfig
      | Given<Runtime["session"], 1>
      | NonNullable<Given<Runtime["session"], 1>["config"]>
      | Given<Runtime["sessions"]["list"], 0>
      | Given<Runtime["sessions"]["fork"], 1>
    >
  >().toBeNever();
  expectTypeOf<
    Refusing<
      | TurnOptions
      | Given<Session["send"], 1>
      | Given<Session["sendAt"], 2>
      | Given<Session["cancel"], 1>
      | Given<Session["observe"], 0>
      | Given<Session["history"], 0>
      | Given<Session["configure"], 0>
      | Given<Session["append"], 1>
      | Given<Session["fork"], 0>
      | Given<Session["invoke"], 3>
      | Given<Session["complete"]["text"], 1>
      | Given<Session["complete"]["reply"], 0>
    >
  >().toBeNever();
  expectTypeOf<
    Refusing<
      | ToolSpec<never, unknown>
      | Extract<ToolSpec<never, unknown>["retry"], object>
      | ToolProvider
      | PluginSpec
      | TriggerDeclaration
      | MonitorDeclaration
      | WebhookOptions
      | Given<Services["monitors"]["start"], 0>
      | Given<Services["triggers"]["subscribe"], 0>
      | Given<Services["triggers"]["update"], 1>
      | Given<Services["triggers"]["update"], 2>
      | Given<Services["triggers"]["emit"], 2>
      | Given<Services["triggers"]["occurrences"], 0>
      | NewSessionRequest
      | NonNullable<NewSessionRequest["permissions"]>
      | NonNullable<NewSessionRequest["overlay"]>[number]
      | Given<Services["sessions"]["send"], 2>
      | Given<Services["sessions"]["result"], 2>
      | Given<Services["membership"]["grant"], 1>
      | Given<Services["graph"]["append"], 1>
      | Given<Services["jobs"]["spawn"], 0>
      | Given<Services["jobs"]["register"], 0>
      | Given<Services["jobs"]["list"], 0>
      | Given<Services["jobs"]["await"], 1>
      | Given<Services["jobs"]["awaitHidden"], 0>
      | Given<Services["jobs"]["signal"], 3>
      | Given<Services["jobs"]["changes"], 1>
      | Given<typeof ask, 1>
      | Given<typeof attach, 1>
      | Given<typeof retryable, 1>
      | NonNullable<ConstructorParameters<typeof ToolError>[2]>
      | ConstructorParameters<typeof ProviderFailure>[0]
    >
  >().toEqualTypeOf<never>();
  expectTypeOf<
    Refusing<
      | ApprovalsOptions
      | ApprovalRule
      | ApprovalDecision
      | ArgumentTest
      | JobsOptions
      | McpOptions
      | McpServer
      | MemoryOptions
      | MemoryInput
      | MonitorsOptions
      | OutputBudgetOptions
      | PlanOptions
      | RollingHistoryOptions
      | SubagentsOptions
      | Capability
      | ToolsSearchOptions
      | WorkspaceOptions
      | OtelOptions
      | JsonlOptions
      | PrettyOptions
      | ShellOptions
      | Given<typeof toolCalls, 0>
      | Given<typeof installed, 0>
      | Given<typeof demo, 0>
      | CrashOptions
      | Scenario
      | Given<typeof simulatedWorld, 0>
    >
  >().toBeNever();
});

/** Every optional option of these, undefined. */
const NOTHING = {
  runtime: {
    models: undefined,
    host: undefined,
    telemetry: undefined,
    tools: undefined,
    plugins: undefined,
    instructions: undefined,
    prompt: undefined,
    template: undefined,
    settings: undefined,
    limits: undefined,
    budget: undefined,
    prices: undefined,
    recover: undefined,
    keepJournals: undefined,
    world: undefined,
  },
  config: {
    model: undefined,
    instructions: undefined,
    prompt: undefined,
    settings: undefined,
    budget: undefined,
    mergesInputs: undefined,
    label: undefined,
  },
  limits: { roundsMax: undefined, toolMs: undefined },
  budget: { turn: { tokens: undefined, cost: undefined }, tree: undefined, keepsAnswer: undefined },
  settings: { temperature: undefined, seed: undefined, reasoning: undefined, providerOptions: undefined },
  tool: {
    availability: undefined,
    audience: undefined,
    bindings: undefined,
    examples: undefined,
    output: undefined,
    timeoutMs: undefined,
    isSerial: undefined,
    writes: undefined,
    onInterrupt: undefined,
    retry: { policy: "safe", attempts: undefined, baseMs: undefined, maxMs: undefined },
  },
  plugin: { version: undefined, order: undefined, options: undefined, migrate: undefined, open: undefined },
  parts: { tools: undefined, operations: undefined, context: undefined, compact: undefined, protocolDriver: undefined },
  handler: { order: undefined, deadlineMs: undefined, atEnd: undefined },
  part: { priority: undefined, title: undefined, replaces: undefined, isVolatile: undefined, tools: undefined },
} as const;
const LEFT_OUT = {
  ...Object.fromEntries(Object.keys(NOTHING).map((key) => [key, {}])),
  tool: { retry: { policy: "safe" } },
  budget: { turn: {} },
} as never as typeof NOTHING;

/** A turn with a tool, a plugin, a child, a fork and a completion: what the model was sent, and what is kept. */
async function story(store: Store, { runtime, config, limits, budget, settings, ...more }: typeof NOTHING) {
  const tool = defineTool({
    ...more.tool,
    name: "makes",
    description: "Makes a child.",
    input: z.object({}),
    execute: async (_, { sessions, complete }) => {
      const { id } = await sessions.create({ kind: "child", config });
      return `${typeof id} ${await complete.text("Say.", { settings })}`;
    },
  });
  const plugin = definePlugin({
    ...more.plugin,
    id: "a/b",
    setup: () => ({
      ...more.parts,
      prompt: { ...more.handler, run: () => [{ ...more.part, slot: "guidance" as const, text: "Be brief." }] },
      stream: { ...more.handler, run: () => undefined },
    }),
  });
  const model = scripted(calls("makes"), says("Said."), says("Done."), says("Direct."));
  const opened = await createRuntime({
    ...runtime,
    store,
    model,
    tools: [tool],
    plugins: [plugin],
    limits,
    budget,
    settings,
  });
  const session = await opened.session("a", { config, plugins: undefined });
  const turn = session.turn("Hi.", { key: undefined, signal: undefined, prompt: undefined });
  const { outcome } = await turn.result();
  const direct = await session.complete.text("Say.", { label: undefined, signal: undefined, model: undefined });
  const fork = await session.fork({ at: undefined, before: undefined, id: "b", label: undefined });
  const configured = await session.configure(config);
  const kept = {
    said: outcome.kind === "answered" ? outcome.text : outcome,
    direct,
    configured,
    requests: model.requests.map((request) => ({ ...request, messages: outline(request.messages) })),
    list: (await opened.sessions.list({ after: undefined, max: undefined, parent: undefined })).length,
    history: (await session.history({ from: undefined, before: undefined, max: undefined })).length,
    config: (await session.read()).config,
    forked: outline((await fork.read()).messages),
  };
  await opened.close();
  return JSON.parse(JSON.stringify(kept)) as unknown;
}

test("an option that is undefined is the same as one that is left out", async () => {
  const [given, leftOut] = [await story(memory(), NOTHING), await story(memory(), LEFT_OUT)];
  expect(given).toEqual(leftOut);
  expect(given).toMatchObject({ said: "Done.", direct: "Direct.", list: 3 });
});

test("send, cancel and a key that is undefined are the same as without", async () => {
  await using runtime = await createRuntime({ store: memory(), model: scripted(says("One."), says("Two.")) });
  const session = await runtime.session("a");
  const { turnId } = await session.send("Hi.", { key: undefined, at: undefined });
  const other = await session.send("Hi.", { key: undefined });
  expect(other.turnId).not.toBe(turnId);
  expect(await session.follow(turnId).result()).toMatchObject({ outcome: { kind: "answered" } });
  await session.follow(other.turnId).result();
  expect(await session.cancel(turnId, { reason: undefined, requestId: undefined })).toEqual(
    await session.cancel(turnId),
  );
});

test("errors of providers and tools take undefined for what they do not know", () => {
  const failure = new ProviderFailure({
    class: "rate-limit",
    message: "Busy.",
    retryAfterMs: undefined,
    isRetryable: undefined,
  });
  expect([failure.isRetryable, "retryAfterMs" in failure && failure.retryAfterMs]).toEqual([true, undefined]);
  expect(new ToolError("a", "b", { class: undefined, cause: undefined }).class).toBe("failed");
});
