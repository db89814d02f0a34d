import { asBlobHash, asCallId, nodeId } from "../../src/model/ids.ts";
import type { Json } from "../../src/model/json.ts";
import type { Draft, Message, Part } from "../../src/model/message.ts";
import { type ModelPart, type ModelRequest, ProviderFailure } from "../../src/model/request.ts";
import type { CallOptions, Provider } from "../../src/providers/provider.ts";

export const message = (draft: Draft, index = 0): Message => ({ id: nodeId("test", index), ...draft });

export const says = (words: string): Message => message({ role: "user", parts: [{ kind: "text", text: words }] });

export const TOOLS: ModelRequest["tools"] = ["weather", "clock"].map((name) => ({
  name,
  description: `Tells the ${name}.`,
  inputSchema: { type: "object", properties: { city: { type: "string" } } },
}));

export const requestOf = (messages: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  system: "Be brief.",
  messages,
  tools: TOOLS,
  ...more,
});

export const optionsOf = (more: Partial<CallOptions> = {}): CallOptions => ({
  signal: new AbortController().signal,
  load: () => new Uint8Array(),
  ...more,
});

/** All that came of a call: the parts, and the failure it ended with, if any. Anything else that is thrown is thrown. */
export interface Asked {
  readonly parts: readonly ModelPart[];
  readonly failure?: ProviderFailure;
}

export async function ask(
  provider: Provider,
  request: ModelRequest = requestOf([says("Hello")]),
  options: CallOptions = optionsOf(),
  onPart: (part: ModelPart) => void = () => undefined,
): Promise<Asked> {
  const parts: ModelPart[] = [];
  try {
    for await (const batch of provider.stream(request, options)) {
      for (const part of "kind" in batch ? [batch] : batch) {
        parts.push(part);
        onPart(part);
      }
    }
    return { parts };
  } catch (thrown) {
    if (!(thrown instanceof ProviderFailure)) throw thrown;
    return { parts, failure: thrown };
  }
}

/** The parts of a reply as the next request holds them. */
export function replyOf(parts: readonly ModelPart[], route: string): Message {
  const kept = new Map<string, { kind: "text" | "reasoning"; text: string; data?: Json }>();
  const order: (() => Part)[] = [];
  for (const part of parts) {
    if (part.kind === "finish") continue;
    if (part.kind === "call") {
      const input = typeof part.input === "string" ? (JSON.parse(part.input) as Json) : part.input;
      const made = { route, ...(part.data === undefined ? {} : { data: part.data }) };
      order.push(() => ({ kind: "toolCall", callId: asCallId(part.callId), name: part.name, input, made }));
      continue;
    }
    const kind = part.kind === "made" ? part.of : part.kind;
    const key = `${kind} ${part.id}`;
    const block = kept.get(key) ?? { kind, text: "" };
    if (!kept.has(key)) {
      kept.set(key, block);
      order.push(() => ({
        kind: block.kind,
        text: block.text,
        made: { route, ...(block.data === undefined ? {} : { data: block.data }) },
      }));
    }
    if (part.kind === "made") block.data = part.data;
    else block.text += part.delta;
  }
  return message({ role: "assistant", parts: order.map((part) => part()) }, 1);
}

/** An answer to each call of a reply. */
export const resultsOf = (reply: Message): readonly Message[] => {
  const calls = reply.parts.filter((part) => part.kind === "toolCall");
  if (calls.length === 0) return [says("And now?")];
  return calls.map(({ callId, name }) =>
    message({
      role: "tool",
      parts: [{ kind: "toolResult", callId, name, status: "ok", parts: [{ kind: "text", text: `${name}: fine` }] }],
    }),
  );
};

export const HASH = asBlobHash("a-hash");
