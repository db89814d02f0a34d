// The conversation so far, as code sees it: `history`.
import type { CodeContext } from "../../protocol.ts";
import type { Surroundings } from "../../sandbox/quickjs/index.ts";

type Message = ReturnType<CodeContext<unknown>["messages"]>[number];
type Part = Message["parts"][number];

/** How many of the newest short messages are passed with a cell that mentions them, so that it need not wait. */
const NEAR_MAX = 32;
const NEAR_CHARS_MAX = 400;
const MENTIONS = /\bhistory\b/;

export function historyFor(code: string, messages: readonly Message[]): NonNullable<Surroundings["history"]> {
  const { length } = messages;
  if (length === 0 || !MENTIONS.test(code)) return { length };
  const newest = messages.slice(-NEAR_MAX).map((message) => {
    const said = saidIn(message);
    return said.text.length <= NEAR_CHARS_MAX ? said : said.text.length;
  });
  return { length, newest };
}

/** A message as code reads it, without the parts that only the provider or a person needs. */
export function saidIn({ role, parts }: Message): { readonly role: string; readonly text: string } {
  const isOutput = parts.length > 0 && parts.every(({ kind }) => kind === "toolResult" || kind === "codeOutput");
  const texts = parts.map(textIn).filter((text) => text !== "");
  return { role: isOutput ? "output" : role === "assistant" ? "assistant" : "user", text: texts.join("\n") };
}

function textIn(part: Part): string {
  if (part.kind === "text") return part.text;
  if (part.kind !== "toolResult" && part.kind !== "codeOutput") return "";
  return part.parts.map((each) => (each.kind === "text" ? each.text : "")).join("");
}
