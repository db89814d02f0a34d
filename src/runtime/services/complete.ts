import type { Complete, CompletionOptions, CompletionRequest, ReplyRequest } from "../../kernel/complete.ts";
import { type Awaitable, unwaited } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asEffectName, nodeId } from "../../model/ids.ts";
import { defined, frozen, isObject, type Json } from "../../model/json.ts";
import type { Known } from "../../model/known.ts";
import type { Limits } from "../../model/limits.ts";
import { callsOf, type Draft, type Message, textOf } from "../../model/message.ts";
import type { ModelRequest, Reply } from "../../model/request.ts";
import { check, documentOf, type OutputOf, type Schema } from "../../model/schema.ts";
import { LazyScope } from "../../model/scope.ts";
import { TEXTS } from "../../model/texts.ts";
import { OUTPUT_TOOL } from "../../model/tool.ts";
import { addUsage, type Spent, type Usage } from "../../model/usage.ts";
import type { Span } from "../../telemetry/telemetry.ts";
import { requireConfig, requireOptions } from "../checks.ts";
import type { Core } from "../core.ts";
import type { Over } from "./budget.ts";
import { callModel } from "./model-call.ts";
import { requireAttachment } from "./reading.ts";

/** The part of a completion that depends on its caller: an effect of a turn, an operation, a job, or the app. */
export interface CompletionContext {
  readonly core: Core;
  readonly model: string;
  readonly limits: Limits;
  /** Returns the budget that is used up, if any. `spent`: the possible cost of failed attempts at this call. */
  allow(model: string, spent: Usage): Promise<Over | undefined>;
  /** Books the cost. `key` identifies a recorded reply, which is booked only once. */
  spend(spent: Spent, key?: string): Awaitable<void>;
  /** Called after every call is booked, also for a recorded one. */
  spent?(usage: Usage): void;
  /** In a turn: returns the reply that an earlier run of the effect recorded, or records the reply of `run`. */
  once(run: () => Promise<Reply>): Promise<{ readonly reply: Reply; readonly isBooked?: true; readonly key?: string }>;
  trace(event: string, about: { readonly [key: string]: Json }): void;
  /** Called for a reply without usage. */
  unreported(model: string): void;
  /** For telemetry: where the call is made. */
  readonly place?: Pick<Span, "parent" | "sessionId" | "turnId">;
  readonly signal?: AbortSignal;
}

const REQUEST: Known<CompletionRequest> = { system: true, messages: true, model: true, settings: true };
const REPLY: Known<ReplyRequest> = { ...REQUEST, tools: true, toolChoice: true, stable: true };
const OPTIONS: Known<CompletionOptions> = { model: true, settings: true, label: true, signal: true, onUsage: true };

const REPAIRS_MAX = 2;

/**
 * Single model calls for plugins, tools and apps, without a turn, history or tools that run. They are booked under a
 * label.
 */
export const completer = (context: CompletionContext): Complete => ({
  text: (prompt, options) =>
    unwaited(async () =>
      textOf((await metered(context, options, (at) => reply(at, requestOf(prompt), options))).parts),
    ),
  object: (prompt, schema, options) =>
    unwaited(() => metered(context, options, (at) => object(at, requestOf(prompt), schema, options))),
  reply: (request, options) => unwaited(() => metered(context, options, (at) => reply(at, request, options))),
});

/** Calls `onUsage` with the spending of this completion, after everything is booked. */
async function metered<T>(
  context: CompletionContext,
  options: CompletionOptions | undefined,
  ask: (context: CompletionContext) => Promise<T>,
): Promise<T> {
  const onUsage = options?.onUsage;
  if (onUsage === undefined) return ask(context);
  if (typeof onUsage !== "function")
    throw new RuntimeError("options.invalid", { option: "onUsage", problem: "it must be a function" });
  let total: Usage | undefined;
  const spent = (usage: Usage): void => {
    total = total === undefined ? usage : addUsage(total, usage);
  };
  try {
    return await ask({ ...context, spent });
  } finally {
    if (total !== undefined) await onUsage(frozen(total));
  }
}

/** Refuses tools, also of untyped callers, because nothing would run their calls. */
function requestOf(prompt: string | CompletionRequest): CompletionRequest {
  if (typeof prompt === "string") return { messages: [{ role: "user", parts: [{ kind: "text", text: prompt }] }] };
  requireOptions("complete", prompt, REQUEST);
  return prompt;
}

async function reply(
  context: CompletionContext,
  request: ReplyRequest,
  options: CompletionOptions = {},
): Promise<Reply> {
  const { core, limits } = context;
  requireRequest(request);
  requireOptions("complete", options, OPTIONS);
  const source = typeof options.label === "string" ? options.label : "direct";
  const model = options.model ?? request.model ?? context.model;
  const settings = options.settings ?? request.settings;
  requireConfig({ model, settings }, "complete");
  const {
    reply: asked,
    isBooked,
    key,
  } = await context.once(async () => {
    const provider = await core.models.require(model, model !== context.model);
    const scope = new LazyScope();
    const stop = (): void => scope.abort();
    let lost: unknown;
    for (const signal of [options.signal, context.signal]) {
      if (signal?.aborted === true) stop();
      else signal?.addEventListener("abort", stop, { once: true });
    }
    try {
      const sent: ModelRequest = {
        ...defined({ toolChoice: request.toolChoice, stable: request.stable, settings }),
        system: request.system ?? "",
        messages: messagesOf(request.messages ?? []),
        tools: request.tools ?? [],
      };
      const { telemetry } = core;
      const found = await callModel({
        provider,
        request: sent,
        observed: telemetry?.attempts(context.place ?? {}, provider, { model, purpose: source, request: sent }),
        limits,
        world: core.world,
        scope,
        load: (hash) =>
          requireAttachment(core, hash).catch((error) => {
            lost = error;
            throw error;
          }),
        allow: (spent) => context.allow(model, spent),
        show: () => {},
        retrying: (attempt, failure, waitMs) =>
          context.trace("completion.retrying", { model, class: failure, attempt, waitMs }),
        unreported: () => context.unreported(model),
      });
      if (found.kind === "replied") return found.reply;
      if (lost !== undefined) throw lost; // An error of the store, not of the provider.
      if (found.usage !== undefined) {
        await context.spend({ source, model, usage: found.usage, calls: 1 });
        context.spent?.(found.usage);
      }
      if (found.kind === "refused") throw new RuntimeError(found.over.code, found.over.details);
      const { failure } = found;
      throw new RuntimeError(
        "provider.failed",
        { route: model, class: "class" in failure ? failure.class : "unknown", problem: failure.message },
        { cause: failure },
      );
    } finally {
      options.signal?.removeEventListener("abort", stop);
      context.signal?.removeEventListener("abort", stop);
    }
  });
  if (isBooked !== true) await context.spend({ source, model, usage: asked.usage, calls: 1 }, key);
  context.spent?.(asked.usage);
  return frozen(asked); // The usage is already booked.
}

function requireRequest(request: ReplyRequest): void {
  requireOptions("complete", request, REPLY);
  const wrong = (option: string, problem: string): never => {
    throw new RuntimeError("options.invalid", { option: `complete.${option}`, problem });
  };
  const { system, messages = [], tools = [], toolChoice, stable } = request;
  if (system !== undefined && !isText(system)) wrong("system", "it must be text");
  if (!Array.isArray(messages) || !messages.every(isDraft))
    wrong("messages", "it must be a list of messages, each with a role and parts");
  if (!Array.isArray(tools) || !tools.every(isDeclaration))
    wrong("tools", "it must be a list of tools, each with a name, a description and an inputSchema");
  const names = new Set(tools.map(({ name }) => name));
  if (names.size < tools.length) wrong("tools", "two of them have the same name");
  if (typeof toolChoice === "object" ? !names.has(toolChoice?.name) : !CHOICES.has(toolChoice))
    wrong("toolChoice", "it must be auto, none, required, or the name of one of the tools: { name }");
  if (stable !== undefined && !(Number.isInteger(stable) && stable >= 0 && stable <= messages.length))
    wrong("stable", "it must be a number of these messages");
}
const CHOICES: ReadonlySet<unknown> = new Set([undefined, "auto", "none", "required"]);
const isText = (value: unknown): boolean => typeof value === "string";
const ROLES: ReadonlySet<unknown> = new Set(["system", "user", "assistant", "tool"]);
const isDraft = (draft: unknown): boolean =>
  isObject(draft) && ROLES.has(draft.role) && Array.isArray(draft.parts) && draft.parts.every(isObject);
const isDeclaration = (tool: unknown): boolean =>
  isObject(tool) && isText(tool.name) && tool.name !== "" && isText(tool.description) && isObject(tool.inputSchema);

/** Messages of the conversation keep their ids. */
const messagesOf = (drafts: readonly (Draft | Message)[]): ModelRequest["messages"] =>
  drafts.map((draft, index) => ("id" in draft ? draft : { ...draft, id: nodeId(asEffectName("direct"), index) }));

/** Asks for the value as the arguments of a call. A value that fails the schema is sent back, at most `REPAIRS_MAX` times. */
async function object<S extends Schema>(
  context: CompletionContext,
  request: CompletionRequest,
  schema: S,
  options?: CompletionOptions,
): Promise<OutputOf<S>> {
  const of = "the schema of a completion";
  const tool = {
    name: OUTPUT_TOOL,
    description: TEXTS.submit,
    inputSchema: { type: "object", properties: { value: documentOf(schema, of) }, required: ["value"] } as const,
  };
  let messages: readonly Draft[] = request.messages ?? [];
  for (let repairs = 0; ; repairs++) {
    const answer = await reply(context, { ...request, messages, tools: [tool] }, options);
    const call = callsOf(answer.parts).find(({ name }) => name === OUTPUT_TOOL);
    const value =
      call === undefined ? parsed(textOf(answer.parts)) : (call.input as { readonly value?: Json } | null)?.value;
    const result = check(schema, value, of);
    if (result.ok) return result.value as OutputOf<S>;
    if (repairs === REPAIRS_MAX) throw new RuntimeError("output.invalid", { problem: result.problem });
    const words = TEXTS.submitAgain(result.problem);
    messages = [...messages, { role: "user", parts: [{ kind: "text", text: words }] }];
  }
}

/** Some models write the JSON as text instead of making the call. */
function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text.replace(/^```(?:json)?\s*|\s*```$/g, "")) as Json;
  } catch {
    return undefined;
  }
}
