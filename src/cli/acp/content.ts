// Content blocks of the Agent Client Protocol: prompts into inputs, and results into blocks.
import type { ContentBlock, RequestError, ToolCallContent } from "@agentclientprotocol/sdk";
import type { Input } from "../../index.ts";
import type { Part } from "../../model/message.ts";
import { attach, projectOutput, statusOf } from "../../model/tool.ts";
import type { ToolOutput } from "../../plugin.ts";
import { cut, editable, oneLine, SHOWN_MAX, visible } from "../text.ts";

type Invalid = (problem: string) => RequestError;

/** The input of a prompt. Links and embedded texts become text, because a model reads only text and attachments. */
export function inputOf(prompt: readonly ContentBlock[], invalid: Invalid): Input {
  const parts = prompt.map((block) => {
    switch (block.type) {
      case "text":
        return block.text;
      case "image":
        return bytesOf(block.data, block.mimeType, block.uri ?? undefined, invalid);
      case "resource_link":
        return `[${block.title ?? block.name}](${block.uri})`;
      case "resource": {
        const { resource } = block;
        if ("text" in resource) return `<resource uri=${JSON.stringify(resource.uri)}>\n${resource.text}\n</resource>`;
        return bytesOf(resource.blob, resource.mimeType ?? "application/octet-stream", resource.uri, invalid);
      }
      default:
        throw invalid(`a prompt cannot have a block of type ${block.type}`);
    }
  });
  if (parts.every((part) => typeof part === "string")) {
    const text = parts.join("\n");
    if (text.trim() === "") throw invalid("the prompt is empty");
    return text;
  }
  return parts;
}

const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

function bytesOf(data: string, mediaType: string, uri: string | undefined, invalid: Invalid) {
  if (data === "" || !BASE64.test(data)) throw invalid("the data of an attachment is not base64");
  const name = uri?.replace(/[?#].*$/, "").replace(/^.*\//, "");
  return attach(Buffer.from(data, "base64"), name === undefined || name === "" ? { mediaType } : { mediaType, name });
}

/** The blocks of a result. An attachment is named, not sent: its bytes can be many, and the store has them. */
export const contentOf = (parts: readonly Part[]): ToolCallContent[] =>
  parts.flatMap((part): ToolCallContent[] => {
    if (part.kind === "text") return [{ type: "content", content: { type: "text", text: part.shown ?? part.text } }];
    if (part.kind !== "attachment") return [];
    const text = `[${part.mediaType}${part.name === undefined ? "" : ` ${part.name}`}, ${part.bytes} bytes]`;
    return [{ type: "content", content: { type: "text", text } }];
  });

export const outputOf = (output: ToolOutput) => ({
  status: statusOf(output),
  rawOutput: output.kind === "value" ? output.value : undefined,
  parts: projectOutput(output),
});

/** A call in one line. A person decides by it, so hidden characters are escaped. */
export const titleOf = (name: string, input: unknown): string => {
  const shown = editable(input ?? {});
  return oneLine(`${visible(name)} ${shown === "{}" ? "" : cut(shown, SHOWN_MAX)}`);
};
