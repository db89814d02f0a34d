// The model of the demo: it finds the story that fits the last message, and plays its next step. It keeps no place, so
// another process continues where one stopped.
import { asCallId } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import { type Message, textOf } from "../../model/message.ts";
import { type ModelPart, type ModelRequest, ProviderFailure } from "../../model/request.ts";
import { NO_USAGE } from "../../model/usage.ts";
import type { World } from "../../model/world.ts";
import type { Provider } from "../../providers/provider.ts";
import { type Step, storyOf } from "./stories.ts";

/** What a reply takes, in milliseconds: until its first text, and for each piece of text. */
const FIRST_MS = 350;
const PIECE_MS = 30;
const PIECE_CHARS = 24;

export const MODELS = ["shop/large", "shop/small"] as const;
export const PRICES = {
  "shop/large": { input: 3, output: 15, cacheRead: 0.3, cacheWrite: 3.75 },
  "shop/small": { input: 0.25, output: 1.25, cacheRead: 0.03, cacheWrite: 0.3 },
};

/** A model by its name, such as `shop/large`. */
export function demoModel(name: (typeof MODELS)[number], { sleep }: Pick<World, "sleep">): Provider {
  const failed = new Set<string>();
  return {
    id: "shop",
    modelId: name.slice("shop/".length),
    capabilities: { attachments: ["image/*"], contextTokens: 128_000, isParallelCalls: true },
    async *stream(request, { signal }) {
      const { step, place } = stepOf(request);
      const pause = async (ms: number): Promise<void> => {
        await sleep(ms, signal);
        if (signal.aborted) throw new ProviderFailure({ class: "cancelled", message: "The call was cancelled." });
      };
      await pause(FIRST_MS + (place.length % 7) * 90);
      if (step.fails !== undefined && (step.fails !== "overloaded" || !failed.has(place))) {
        failed.add(place); // The next attempt succeeds.
        throw new ProviderFailure({ class: step.fails, message: FAILURES[step.fails], retryAfterMs: 2_000 });
      }
      for (const delta of piecesOf(step.thinks ?? "")) {
        await pause(PIECE_MS);
        yield { kind: "reasoning", delta };
      }
      for (const delta of piecesOf(step.says ?? "")) {
        await pause(PIECE_MS * (step.pace ?? 1));
        yield { kind: "text", delta };
      }
      yield* endOf(step, request);
    },
  };
}

const FAILURES = {
  overloaded: "The model is overloaded.",
  auth: "The key of the model has expired.",
};

function stepOf({ messages, tools }: ModelRequest): { readonly step: Step; readonly place: string } {
  const asked = messages.findLastIndex(isSaidByUser);
  const words = textOf(messages[asked]?.parts ?? []);
  const played = messages.slice(asked + 1).filter(({ role }) => role === "assistant").length;
  const steps = storyOf(words, tools.length > 0);
  return { step: steps[Math.min(played, steps.length - 1)] as Step, place: `${words}/${messages.length}` };
}

/** Notices have the role of a user too, and no story answers them. */
const isSaidByUser = ({ role, origin, parts }: Message): boolean =>
  role === "user" && (origin === undefined || "inputId" in origin) && !textOf(parts).startsWith("[Background job]");

const piecesOf = (text: string): readonly string[] => text.match(new RegExp(`[^]{1,${PIECE_CHARS}}`, "g")) ?? [];

function* endOf({ thinks = "", says = "", calls = [] }: Step, { messages, system }: ModelRequest): Iterable<ModelPart> {
  for (const [at, { tool, input }] of calls.entries())
    yield { kind: "call", callId: asCallId(`call_${messages.length}_${at}`), name: tool, input: input as Json };
  const sent = Math.ceil((JSON.stringify(messages).length + JSON.stringify(system ?? "").length) / 3) + 4_200;
  const cacheRead = messages.length > 2 ? Math.floor(sent * 0.7) : 0;
  const output = Math.ceil((says.length + JSON.stringify(calls).length) / 4);
  const usage = { ...NO_USAGE, input: sent - cacheRead, cacheRead, output, reasoning: Math.ceil(thinks.length / 4) };
  yield { kind: "finish", reason: calls.length > 0 ? "calls" : "stop", usage };
}
