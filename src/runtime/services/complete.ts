import type { Complete, CompletionOptions, CompletionRequest } from "../../kernel/services.ts";
import { type Awaitable, unwaited } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asEffectName, nodeId } from "../../model/ids.ts";
import { frozen, type Json } from "../../model/json.ts";
import type { Known } from "../../model/known.ts";
import type { Limits } from "../../model/limits.ts";
import { callsOf, type Draft, textOf } from "../../model/message.ts";
import type { ModelRequest, Reply } from "../../model/request.ts";
import { check, documentOf, type OutputOf, type Schema } from "../../model/schema.ts";
import { LazyScope } from "../../model/scope.ts";
import { TEXTS } from "../../model/texts.ts";
import { OUTPUT_TOOL } from "../../model/tool.ts";
import { addUsage, type Spent, type Usage } from "../../model/usage.ts";
import { requireConfig, requireOptions } from "../checks.ts";
import type { Core } from "../core.ts";
import type { Over } from "./budget.ts";
import { callModel } from "./model-call.ts";
import { requireAttachment } from "./reading.ts";

/** What a completion needs of the place where it is asked for: an effect of a turn, an operation, or the app. */
export interface CompletionSite {
  readonly core: Core;
  readonly model: string;
  readonly limits: Limits;
  /** Returns the budget that is used up; `spent`: what failed attempts at this call may have cost. */
  allow(model: string, spent: Usage): Promise<Over | undefined>;
  /** Books the cost; `key` names a recorded reply, which is booked once. */
  spend(spent: Spent, key?: string): Awaitable<void>;
  /** Told of every call once it is booked, also of a recorded one. */
  spent?(usage: Usage): void;
  /** In a turn: returns the reply that an earlier run of the effect recorded, else records that of `run`. */
  once(run: () => Promise<Reply>): Promise<{ readonly reply: Reply; readonly isBooked?: true; readonly key?: string }>;
  trace(event: string, about: { readonly [key: string]: Json }): void;
  /** Called for a reply without usage. */
  unreported(model: string): void;
  readonly signal?: AbortSignal;
}

const REQUEST: Known<CompletionRequest> = { system: true, messages: true, model: true, settings: true };
const OPTIONS: Known<CompletionOptions> = { model: true, settings: true, label: true, signal: true, onUsage: true };

const REPAIRS_MAX = 2;

/** One-shot model calls for plugins, tools and apps: no tools, no turn, no history; booked under a label. */
export const completer = (site: CompletionSite): Complete => ({
  text: (prompt, options) =>
    unwaited(async () => textOf((await metered(site, options, (at) => reply(at, requestOf(prompt), options))).parts)),
  object: (prompt, schema, options) =>
    unwaited(() => metered(site, options, (at) => object(at, requestOf(prompt), schema, options))),
  reply: (request, options) => unwaited(() => metered(site, options, (at) => reply(at, request, options))),
});

/** Tells `onUsage` what was spent at this site, once everything is booked. */
async function metered<T>(
  site: CompletionSite,
  options: CompletionOptions | undefined,
  ask: (site: CompletionSite) => Promise<T>,
): Promise<T> {
  const onUsage = options?.onUsage;
  if (onUsage === undefined) return ask(site);
  if (typeof onUsage !== "function")
    throw new RuntimeError("options.invalid", { option: "onUsage", problem: "it is no function" });
  let total: Usage | undefined;
  const spent = (usage: Usage): void => {
    total = total === undefined ? usage : addUsage(total, usage);
  };
  try {
    return await ask({ ...site, spent });
  } finally {
    if (total !== undefined) await onUsage(frozen(total));
  }
}

const requestOf = (prompt: string | CompletionRequest): CompletionRequest =>
  typeof prompt === "string" ? { messages: [{ role: "user", parts: [{ kind: "text", text: prompt }] }] } : prompt;

async function reply(
  site: CompletionSite,
  request: CompletionRequest,
  options: CompletionOptions = {},
  tools: ModelRequest["tools"] = [],
): Promise<Reply> {
  const { core, limits } = site;
  requireOptions("complete", request, REQUEST);
  requireOptions("complete", options, OPTIONS);
  const source = typeof options.label === "string" ? options.label : "direct";
  const model = options.model ?? request.model ?? site.model;
  const settings = options.settings ?? request.settings;
  requireConfig({ model, settings }, "complete");
  const {
    reply: asked,
    isBooked,
    key,
  } = await site.once(async () => {
    const provider = await core.models.require(model, model !== site.model);
    const scope = new LazyScope();
    const stop = (): void => scope.abort();
    let lost: unknown;
    for (const signal of [options.signal, site.signal]) {
      if (signal?.aborted === true) stop();
      else signal?.addEventListener("abort", stop, { once: true });
    }
    try {
      const found = await callModel({
        provider,
        request: {
          system: request.system ?? "",
          messages: messagesOf(request.messages ?? []),
          tools,
          ...(settings === undefined ? {} : { settings }),
        },
        limits,
        world: core.world,
        scope,
        load: (hash) =>
          requireAttachment(core, hash).catch((error) => {
            lost = error;
            throw error;
          }),
        allow: (spent) => site.allow(model, spent),
        show: () => {},
        retrying: (attempt, failure, waitMs) =>
          site.trace("completion.retrying", { model, class: failure, attempt, waitMs }),
        unreported: () => site.unreported(model),
      });
      if (found.kind === "replied") return found.reply;
      if (lost !== undefined) throw lost; // The store's fault, and not the provider's.
      if (found.usage !== undefined) {
        await site.spend({ source, model, usage: found.usage, calls: 1 });
        site.spent?.(found.usage);
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
      site.signal?.removeEventListener("abort", stop);
    }
  });
  if (isBooked !== true) await site.spend({ source, model, usage: asked.usage, calls: 1 }, key);
  site.spent?.(asked.usage);
  return frozen(asked); // Its usage is in the bill.
}

const messagesOf = (drafts: readonly Draft[]): ModelRequest["messages"] =>
  drafts.map((draft, index) => ({ ...draft, id: nodeId(asEffectName("direct"), index) }));

/** Asks for the value as the arguments of a call. One that fails the schema is sent back, `REPAIRS_MAX` times. */
async function object<S extends Schema>(
  site: CompletionSite,
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
    const said = await reply(site, { ...request, messages }, options, [tool]);
    const call = callsOf(said.parts).find(({ name }) => name === OUTPUT_TOOL);
    const value =
      call === undefined ? parsed(textOf(said.parts)) : (call.input as { readonly value?: Json } | null)?.value;
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
