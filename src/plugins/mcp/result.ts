import { type Attachable, attach, RuntimeError } from "../../plugin.ts";
import { TEXTS } from "./texts.ts";

/** A server's answer to a call: the fields that are used here. */
export interface Answer {
  readonly content?: readonly Block[];
  readonly structuredContent?: unknown;
  readonly isError?: boolean | undefined;
}
interface Block {
  readonly type: string;
  readonly text?: string;
  readonly data?: string;
  readonly mimeType?: string | undefined;
  readonly resource?: {
    readonly uri: string;
    readonly mimeType?: string | undefined;
    readonly text?: string;
    readonly blob?: string;
  };
}

/** The answer as a tool returns it: text, JSON, attachments. An answer that the server marks as an error is thrown. */
export function resultFrom(answer: Answer, name: string, bytesMax: number): unknown {
  const blocks = answer.content ?? [];
  const bytes = sizeOf(answer);
  if (bytes > bytesMax) throw new RuntimeError("limit.bytes", { what: `The result of ${name}`, bytes, max: bytesMax });
  if (answer.isError === true) throw new Error(wordsOf(blocks) || TEXTS.silentError);
  const shown = blocks.map(shownAs);
  if (answer.structuredContent !== undefined) {
    // Text is left out, because by the specification it repeats the structured content.
    const others = shown.filter((_, index) => blocks[index]?.type !== "text");
    return others.length === 0 ? answer.structuredContent : { result: answer.structuredContent, content: others };
  }
  if (blocks.every(({ type }) => type === "text")) return shown.join("\n");
  return shown.length === 1 ? shown[0] : shown;
}

function shownAs(block: Block): unknown {
  switch (block.type) {
    case "text":
      return block.text ?? "";
    case "image":
    case "audio":
      return attached(block.data ?? "", block.mimeType);
    case "resource": {
      const { uri = "", mimeType, text, blob } = block.resource ?? {};
      if (blob !== undefined) return attached(blob, mimeType, uri.split(/[/\\]/).at(-1));
      return { uri, ...(mimeType === undefined ? {} : { mimeType }), text: text ?? "" };
    }
    default:
      return block; // A link to a resource, or a kind that a later version of MCP adds.
  }
}

const MEDIA_TYPE = /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}/;

function attached(base64: string, mediaType: string | undefined, name?: string): Attachable {
  return attach(new Uint8Array(Buffer.from(base64, "base64")), {
    mediaType: MEDIA_TYPE.exec(mediaType ?? "")?.[0] ?? "application/octet-stream",
    ...(name === undefined || name === "" ? {} : { name: name.slice(0, 255) }),
  });
}

const wordsOf = (blocks: readonly Block[]): string =>
  blocks
    .map(({ text, resource }) => text ?? resource?.text ?? "")
    .filter((words) => words !== "")
    .join("\n");

function sizeOf({ content = [], structuredContent }: Answer): number {
  const structured = structuredContent === undefined ? 0 : Buffer.byteLength(JSON.stringify(structuredContent));
  return content.reduce((sum, { text = "", data = "", resource }) => {
    const carried = text + (resource?.text ?? "");
    const encoded = data.length + (resource?.blob?.length ?? 0);
    return sum + Buffer.byteLength(carried) + Math.floor((encoded * 3) / 4);
  }, structured);
}
