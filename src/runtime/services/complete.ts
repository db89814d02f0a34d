import type { Complete, CompletionOptions, CompletionRequest } from "../../kernel/services.ts";
import type { Awaitable } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asEffectName, nodeId } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import type { Limits } from "../../model/limits.ts";
import { callsOf, type Draft, textOf } from "../../model/message.ts";
import type { ModelRequest, Reply } from "../../model/request.ts";
import { check, documentOf, type OutputOf, type Schema } from "../../model/schema.ts";
import { LazyScope } from "../../model/scope.ts";
import { TEXTS } from "../../model/texts.ts";
import { OUTPUT_TOOL } from "../../model/tool.ts";
import type { Spent } from "../../model/usage.ts";
import type { Core } from "../core.ts";
import { callModel } from "./model-call.ts";

/** What a completion needs of the place where it is asked for: an effect of a turn, an operation, or the app. */
export interface CompletionSite {
  readonly core: Core;
  readonly model: string;
  readonly limits: Limits;
  /** Throws when nothing more may be spent. */
  allow(model: string): Awaitable<void>;
  /** Books the cost; `key` names a recorded reply, which is booked once. */
  spend(spent: Spent, key?: string): Awaitable<void>;
  /** In a turn: returns the reply that an earlier run of the effect recorded, else records that of `run`. */
  once(run: () => Promise<Reply>): Promise<{ readonly reply: Reply; readonly isBooked?: true; readonly key?: string }>;
  readonly signal?: AbortSignal;
}

const REPAIRS_MAX = 2;

/** One-shot model calls for plugins, tools and apps: no tools, no turn, no history; booked under a label. */
export const completer = (site: CompletionSite): Complete => ({
  text: async (prompt, options) => textOf((await reply(site, requestOf(prompt), options)).parts),
  object: (prompt, schema, options) => object(site, requestOf(prompt), schema, options),
  reply: (request, options) => reply(site, request, options),
});

const requestOf = (prompt: string | CompletionRequest): CompletionRequest =>
  typeof prompt === "string" ? { messages: [{ role: "user", parts: [{ kind: "text", text: prompt }] }] } : prompt;

async function reply(
  site: CompletionSite,
  request: CompletionRequest,
  options: CompletionOptions = {},
  tools: ModelRequest["tools"] = [],
): Promise<Reply> {
  const { core, limits } = site;
  const source = typeof options.label === "string" ? options.label : "direct";
  const model = request.model ?? site.model;
  const {
    reply: asked,
    isBooked,
    key,
  } = await site.once(async () => {
    const provider = await core.models.require(model);
    await site.allow(model);
    const scope = new LazyScope();
    const stop = (): void => scope.abort();
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
          ...(request.settings === undefined ? {} : { settings: request.settings }),
        },
        limits,
        world: core.world,
        scope,
        load: async (hash) => (await core.store.blobs.get(hash)) ?? new Uint8Array(),
        show: () => {},
      });
      if (found.kind === "replied") return found.reply;
      const { failure } = found;
      await site.spend({ source, model, usage: found.usage, calls: 1 });
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
  return asked;
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
