// Estimates tokens without a tokenizer, because the tokenizer of a provider is unknown. `meter.ts` corrects the
// estimate with the numbers that the provider reports.
import type { Attachment, Draft, ModelRequest, Part } from "../../plugin.ts";

const BYTES_PER_TOKEN = 4;
/** The approximate size of an image or a document. Text attachments count by their bytes. */
const ATTACHMENT_TOKENS = 1_200;
/** The size of a message besides its parts: its role and separators. */
const MESSAGE_BYTES = 16;

/** Messages and declarations never change, so each is measured once. */
const known = new WeakMap<object, number>();
function once<T extends object>(value: T, measure: (value: T) => number): number {
  const before = known.get(value);
  if (before !== undefined) return before;
  const tokens = measure(value);
  known.set(value, tokens);
  return tokens;
}

export const tokensOfText = (text: string): number => Math.ceil(Buffer.byteLength(text) / BYTES_PER_TOKEN);

export const tokensOfParts = (parts: readonly Part[]): number =>
  Math.ceil(parts.reduce((sum, part) => sum + bytesOf(part), MESSAGE_BYTES) / BYTES_PER_TOKEN);

export const tokensOf = (message: Draft): number => once(message, ({ parts }) => tokensOfParts(parts));

export const tokensIn = (messages: readonly Draft[]): number =>
  messages.reduce((sum, message) => sum + tokensOf(message), 0);

export const tokensOfRequest = ({ system, tools, messages }: ModelRequest): number =>
  tokensOfText(system) +
  tools.reduce((sum, tool) => sum + once(tool, (each) => tokensOfText(JSON.stringify(each))), 0) +
  tokensIn(messages);

function bytesOf(part: Part): number {
  switch (part.kind) {
    case "text":
    case "reasoning":
      return Buffer.byteLength(part.text) + jsonBytes(part.made?.data);
    case "toolCall":
      return part.name.length + jsonBytes(part.malformed ?? part.input) + jsonBytes(part.made?.data);
    case "toolResult":
    case "codeOutput":
      return part.parts.reduce((sum, each) => sum + bytesOf(each), MESSAGE_BYTES);
    case "attachment":
      return isText(part) ? part.bytes : ATTACHMENT_TOKENS * BYTES_PER_TOKEN;
  }
}

const jsonBytes = (value: unknown): number => (value === undefined ? 0 : Buffer.byteLength(JSON.stringify(value)));

const isText = ({ mediaType }: Attachment): boolean => /^text\/|[/+](?:json|xml|yaml|javascript)\b/i.test(mediaType);
