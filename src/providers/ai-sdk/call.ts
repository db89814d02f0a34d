import type { Attachment, Message, Part } from "../../model/message.ts";
import type { ModelRequest } from "../../model/request.ts";
import type { CallOptions } from "../provider.ts";
import { type Callee, type Files, toPrompt } from "./prompt.ts";
import { DIALECTS } from "./versions.ts";

/** The options for the SDK's `doStream`. */
export async function callOptions(request: ModelRequest, callee: Callee, options: CallOptions): Promise<object> {
  const files = await loadAttachments(request.messages, options);
  const { reasoning, stopSequences, cache: _, ...settings } = request.settings ?? {};
  return {
    prompt: toPrompt(request, callee, files),
    ...settings,
    ...(stopSequences === undefined ? {} : { stopSequences: [...stopSequences] }),
    ...(reasoning !== undefined && DIALECTS[callee.version].hasReasoning ? { reasoning } : {}),
    ...(request.tools.length === 0 ? {} : { tools: tools(request), toolChoice: toolChoice(request) }),
    includeRawChunks: false,
    abortSignal: options.signal,
  };
}

const tools = (request: ModelRequest): readonly object[] =>
  request.tools.map(({ name, description, inputSchema }) => ({ type: "function", name, description, inputSchema }));

function toolChoice({ toolChoice = "auto" }: ModelRequest): object {
  return typeof toolChoice === "string" ? { type: toolChoice } : { type: "tool", toolName: toolChoice.name };
}

async function loadAttachments(messages: readonly Message[], { load }: CallOptions): Promise<Files> {
  const hashes = new Set(messages.flatMap(({ parts }) => attachmentsIn(parts)).map(({ hash }) => hash));
  return new Map(await Promise.all([...hashes].map(async (hash) => [hash, await load(hash)] as const)));
}

const attachmentsIn = (parts: readonly Part[]): readonly Attachment[] =>
  parts.flatMap((part) => {
    if (part.kind === "attachment") return part;
    return part.kind === "toolResult" || part.kind === "codeOutput" ? attachmentsIn(part.parts) : [];
  });
