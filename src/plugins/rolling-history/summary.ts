// Writes the summary at the beginning of a new frame, and reads the summary of the previous frame.
import {
  type Draft,
  hasCode,
  type Message,
  type Part,
  type Services,
  shortened,
  type TextPart,
  transcriptTexts,
} from "../../plugin.ts";
import type { Settings } from "./options.ts";
import { nameOf } from "./prune.ts";
import { TEXTS } from "./texts.ts";
import { tokensOfParts, tokensOfText } from "./tokens.ts";

export const ID = "bowline/rolling-history";

/** The tokens of a frame's first message without the summary. */
export const SEED_TOKENS = tokensOfText(TEXTS.head + TEXTS.request);

// ── What a frame begins with ────────────────────────────────────────────────────────────────────────────────────────

/**
 * What an earlier compaction wrote at the beginning of the frame: the index of the message, its summary and its
 * request.
 */
export interface Earlier {
  readonly at: number;
  readonly summary: string;
  readonly request: readonly Part[];
}

export function earlierIn(messages: readonly Message[]): Earlier | undefined {
  const at = messages.findIndex(({ origin }) => origin?.kind === "plugin" && origin.plugin === ID);
  const [first, , ...request] = messages[at]?.parts ?? [];
  if (first?.kind !== "text") return undefined;
  // Finds the summary by its brackets and not by its words, because other versions used other words.
  return { at, summary: first.text.replace(/^\[[^\]]*\]\n\n/, ""), request };
}

export function seedOf(summary: string, request: readonly Part[], tokensMax: number): Draft {
  const parts: readonly Part[] = [{ kind: "text", text: `${TEXTS.head}\n\n${summary}` }];
  const fitting = fitted(request, tokensMax);
  return {
    role: "user",
    parts: fitting.length === 0 ? parts : [...parts, { kind: "text", text: TEXTS.request }, ...fitting],
  };
}

/** The request in full, or its beginning and end if it is too long. */
function fitted(request: readonly Part[], tokensMax: number): readonly Part[] {
  const parts = request.filter(({ kind }) => kind === "text" || kind === "attachment");
  if (parts.length === 0 || tokensOfParts(parts) <= tokensMax) return parts;
  return [{ kind: "text", text: shortened(textIn(parts), Math.max(500, Math.floor(tokensMax))) }];
}

const textIn = (parts: readonly Part[]): string =>
  parts.map((part) => (part.kind === "attachment" ? `[${nameOf(part)}]` : (part as Partial<TextPart>).text)).join("\n");

// ── How it is made ──────────────────────────────────────────────────────────────────────────────────────────────────

export interface Work {
  readonly earlier: Earlier | undefined;
  readonly messages: readonly Message[];
  /** About how long the summary may be, in tokens. */
  readonly tokens: number;
  readonly settings: Settings;
  /** Instructions for this summary, in addition to those of the options. */
  readonly instructions: string | undefined;
}

/**
 * A conversation that is too long for one call is split into parts. At most this many of the newest parts are
 * summarised.
 */
const PARTS_MAX = 8;
const OVERFLOWS_MAX = 3;
const PROMPT_TOKENS = 400;
const REQUEST_CHARS_MAX = 2_000;

/**
 * If a part is too long for the provider, this tries again with parts of half the size, at most `OVERFLOWS_MAX` times.
 */
export async function summarise(complete: Services["complete"], work: Work, signal: AbortSignal): Promise<string> {
  const { window, reserve } = work.settings;
  const words = transcriptTexts(work.messages);
  const free =
    window -
    reserve / 2 -
    PROMPT_TOKENS -
    tokensOfText(earlierText(work.earlier) + (work.instructions ?? "")) -
    work.tokens;
  const all = words.reduce((sum, text) => sum + tokensOfText(text), 0);
  let tokens = Math.min(all, Math.max(free, Math.floor(window / 8)));
  for (let overflows = 1; ; overflows++) {
    try {
      return await inParts(complete, work, packed(words, tokens), signal);
    } catch (error) {
      if (overflows > OVERFLOWS_MAX || !isOverflow(error)) throw error;
      tokens = Math.ceil(tokens / 2);
    }
  }
}

const isOverflow = (error: unknown): boolean =>
  hasCode(error, "provider.failed") && error.details.class === "context-overflow";

/** Joins texts into parts of at most about `tokensMax`. */
function packed(texts: readonly string[], tokensMax: number): readonly string[] {
  const parts: string[] = [];
  let room = 0;
  for (const text of texts.flatMap((each) => piecesOf(each, tokensMax))) {
    const tokens = tokensOfText(text);
    if (tokens > room) {
      parts.push("");
      room = tokensMax;
    }
    parts[parts.length - 1] += text;
    room -= tokens;
  }
  return parts;
}

/** Splits a text that is too long for one part. Later pieces are indented, so that none looks like a new message. */
function piecesOf(text: string, tokensMax: number): readonly string[] {
  const pieces = Math.ceil(tokensOfText(text) / tokensMax);
  if (pieces <= 1) return [text];
  const length = Math.ceil(text.length / pieces);
  return Array.from({ length: pieces }, (_, index) => {
    const piece = text.slice(wholeTo(text, index * length), wholeTo(text, (index + 1) * length));
    return `${index === 0 ? "" : "  "}${piece}${piece.endsWith("\n") ? "" : "\n"}`;
  });
}

/** The same position, or one less if it would split a surrogate pair. */
const wholeTo = (text: string, at: number): number => (/[\uDC00-\uDFFF]/.test(text[at] ?? "") ? at - 1 : at);

function earlierText(earlier: Earlier | undefined): string {
  if (earlier === undefined) return "";
  const request = shortened(textIn(earlier.request), REQUEST_CHARS_MAX);
  return request === "" ? earlier.summary : `${earlier.summary}\n\n${TEXTS.userSaid(request)}`;
}

async function inParts(
  complete: Services["complete"],
  { earlier, tokens, settings: { model, instructions }, instructions: asked = "" }: Work,
  parts: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const latest = parts.slice(-PARTS_MAX);
  const missing = parts.length - latest.length;
  let summary = earlierText(earlier);
  for (const [index, part] of latest.entries()) {
    const note = missing > 0 && index === 0 ? `${TEXTS.beginningLeftOut}\n` : "";
    const hasSummary = summary !== "";
    const text = [
      ...(hasSummary ? [TEXTS.soFar(summary)] : []),
      `${TEXTS.conversation(index + 1, latest.length, hasSummary)}\n\n<conversation>\n${note}${part}</conversation>`,
      TEXTS.task(hasSummary, Math.ceil(tokens * 0.75)),
      TEXTS.keep,
      ...[instructions, asked].filter((words) => words !== ""),
    ].join("\n\n");
    const reply = await complete.reply(
      {
        system: TEXTS.system,
        messages: [{ role: "user", parts: [{ kind: "text", text }] }],
        ...(model === undefined ? {} : { model }),
      },
      { label: "compaction", signal },
    );
    const said = reply.parts.flatMap((each) => (each.kind === "text" ? [each.text] : [])).join("");
    if (said.trim() === "" || reply.finish === "refused") throw new Error("The model gave no summary.");
    summary = reply.finish === "length" ? `${said.trim()}\n${TEXTS.cutShort}` : said.trim();
  }
  if (summary === "") throw new Error("There is nothing in words to summarise.");
  return summary;
}
