// Messages in the JSON of the GenAI conventions, for `content: true`.
import type { Json, JsonObject } from "../model/json.ts";
import type { Attachment, Draft, Part, TextPart } from "../model/message.ts";

export const messagesOf = (messages: readonly Pick<Draft, "role" | "parts">[]): Json =>
  messages.map(({ role, parts }) => ({ role, parts: parts.map(partOf) }));

function partOf(part: Part): JsonObject {
  switch (part.kind) {
    case "text":
      return { type: "text", content: part.text };
    case "reasoning":
      return { type: "reasoning", content: part.text };
    case "toolCall":
      return { type: "tool_call", id: part.callId, name: part.name, arguments: part.input };
    case "toolResult":
      return { type: "tool_call_response", id: part.callId, response: resultOf(part.parts) };
    case "codeOutput":
      return { type: "code_output", status: part.status, response: resultOf(part.parts) };
    case "attachment":
      return fileOf(part);
  }
}

function resultOf(parts: readonly (TextPart | Attachment)[]): Json {
  const [first] = parts;
  if (parts.length === 1 && first?.kind === "text") return first.text;
  return parts.map((part) => partOf(part));
}

const fileOf = ({ hash, mediaType }: Attachment): JsonObject => ({
  type: "file",
  modality: mediaType.split("/")[0] as string,
  mime_type: mediaType,
  file_id: hash,
});
