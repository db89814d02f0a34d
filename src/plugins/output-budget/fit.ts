// Cuts the parts of one result to a budget.
// Not its job: storing the full texts. `fit` only returns them.
import { createHash } from "node:crypto";
import type { Attachment, Json, TextPart, ToolOutput } from "../../plugin.ts";
import { TEXTS } from "./texts.ts";
import { bytesOf, fits, headEnd, type Keep, linesIn, type Room, tailStart, textOf } from "./window.ts";

type ResultPart = TextPart | Attachment;

export interface Budget extends Room {
  readonly partsMax: number;
}

/** The result of the parts: how to cut it, and where its bytes are. */
export interface Source {
  readonly keep: Keep;
  /** The result as JSON, whose long texts can be cut one by one. */
  readonly value?: Json | undefined;
  load(hash: Attachment["hash"]): Promise<Uint8Array | undefined>;
  /** Whether the model can read this text by its id. The marker offers only texts that can be read. */
  isKept(id: string): boolean;
}
export interface Fitted {
  readonly parts: readonly ResultPart[];
  /** The whole texts that were cut, by their hashes. */
  readonly cut: ReadonlyMap<string, Uint8Array>;
}

/** Room for the marker line about the omitted part, with the line feed before it. */
export const MARKER: Room = { bytesMax: 256, linesMax: 1 };
/** The limit for all texts of one result, as a multiple of the limit for one text. */
const TEXTS_MAX = 4;
/** In bytes. A smaller window would be shorter than its marker. */
const WINDOW_MIN = 512;
const NAMED_MAX = 16;

/** The parts without a projection: text unchanged, other JSON in compact form, a failure as one line. */
export function plainly(output: ToolOutput): readonly ResultPart[] {
  switch (output.kind) {
    case "value": {
      const text = typeof output.value === "string" ? output.value : JSON.stringify(output.value);
      return [{ kind: "text", text }, ...(output.attachments ?? [])];
    }
    case "failure":
      return [{ kind: "text", text: `Error (${output.failure.code}): ${output.failure.message}` }];
    case "cancelled":
      return [{ kind: "text", text: `Cancelled: ${output.reason}` }];
    case "unknown":
      return [{ kind: "text", text: `Unknown: ${output.reason}` }];
  }
}

/** Whether nothing must be cut. This must be fast, because it is true for most results. */
export function isSmall(parts: readonly ResultPart[], budget: Budget): boolean {
  if (parts.length > budget.partsMax) return false;
  if (parts.length === 1) return isSmallPart(parts[0] as ResultPart, budget);
  const texts = parts.reduce((sum, part) => sum + textBytes(part), 0);
  return texts <= TEXTS_MAX * budget.bytesMax && parts.every((part) => isSmallPart(part, budget));
}

const isSmallPart = (part: ResultPart, room: Room): boolean =>
  part.kind === "text" ? fits(part.text, room) : !isText(part) || part.bytes <= room.bytesMax;

const isText = ({ mediaType }: Attachment): boolean => /^text\/|[/+](?:json|xml|yaml|javascript)\b/i.test(mediaType);

const textBytes = (part: ResultPart): number => {
  if (part.kind === "text") return Buffer.byteLength(part.text);
  return isText(part) ? part.bytes : 0;
};

/**
 * Cuts each part that is too long. When the whole result has no room left, the last line only names the other parts.
 */
export async function fit(parts: readonly ResultPart[], budget: Budget, source: Source): Promise<Fitted> {
  const cutter = new Cutter(source);
  const shown: ResultPart[] = [];
  let left = TEXTS_MAX * budget.bytesMax;
  for (const [index, part] of parts.entries()) {
    // One place is reserved for the line that names the rest.
    const isFull = shown.length >= budget.partsMax - 1 && index < parts.length - 1;
    const room = { bytesMax: Math.min(budget.bytesMax, left), linesMax: budget.linesMax };
    if (isFull || (room.bytesMax < WINDOW_MIN && textBytes(part) > room.bytesMax)) {
      shown.push(await cutter.named(parts.slice(index)));
      break;
    }
    const fitted = isSmallPart(part, room) ? part : await cutter.part(part, room, index === 0);
    left -= textBytes(fitted);
    shown.push(fitted);
  }
  return { parts: shown, cut: cutter.cut };
}

class Cutter {
  readonly cut = new Map<string, Uint8Array>();
  readonly #source: Source;

  constructor(source: Source) {
    this.#source = source;
  }

  async part(part: ResultPart, room: Room, isFirst: boolean): Promise<ResultPart> {
    const { keep, value, load } = this.#source;
    if (part.kind === "attachment") {
      const data = await load(part.hash);
      return data === undefined ? part : { kind: "text", text: this.#window(data, part.hash, keep, room) };
    }
    const isTree = isFirst && typeof value === "object" && value !== null;
    const text = (isTree ? this.#leaves(value, keep, room) : undefined) ?? this.#text(part.text, keep, room);
    return { kind: "text", text };
  }

  /**
   * Cuts long texts inside the JSON, so that short fields such as an exit code stay. Undefined if the JSON is still too
   * long.
   */
  #leaves(value: Json, keep: Keep, room: Room): string | undefined {
    for (let bytesMax = room.bytesMax; bytesMax >= WINDOW_MIN; bytesMax /= 2) {
      const own = new Cutter(this.#source);
      const leaf = { bytesMax: Math.floor(bytesMax), linesMax: room.linesMax };
      const json = JSON.stringify(value, (_, item: unknown) =>
        typeof item === "string" && !fits(item, leaf) ? own.#text(item, keep, leaf) : item,
      );
      if (!fits(json, room)) continue;
      for (const [id, data] of own.cut) this.cut.set(id, data);
      return json;
    }
    return undefined;
  }

  #text(text: string, keep: Keep, room: Room): string {
    const data = bytesOf(text);
    return this.#window(data, createHash("sha256").update(data).digest("base64url"), keep, room);
  }

  #window(data: Uint8Array, id: string, keep: Keep, room: Room): string {
    this.cut.set(id, data);
    const inner = { bytesMax: room.bytesMax - MARKER.bytesMax, linesMax: room.linesMax - MARKER.linesMax };
    if (keep === "tail") {
      const start = tailStart(data, inner);
      const more = this.#source.isKept(id) ? TEXTS.readFromStart(`{"id":"${id}"}`) : TEXTS.notKept;
      const cut = TEXTS.headCut(start, linesIn(data, 0, start), data.length, linesIn(data), more);
      return `${cut}\n${textOf(data, start)}`;
    }
    const end = headEnd(data, 0, inner);
    const shown = textOf(data, 0, end);
    const isWhole = shown.endsWith("\n");
    const at = isWhole ? `"offset":${linesIn(data, 0, end) + 1}` : `"byte":${end}`;
    const more = this.#source.isKept(id) ? TEXTS.readOn(`{"id":"${id}",${at}}`) : TEXTS.notKept;
    const cut = TEXTS.tailCut(data.length - end, linesIn(data, end), data.length, linesIn(data), more);
    return `${shown}${isWhole ? "" : "\n"}${cut}`;
  }

  /** One line that names the parts which are not shown. */
  async named(parts: readonly ResultPart[]): Promise<TextPart> {
    const names: string[] = [];
    for (const part of parts.slice(0, NAMED_MAX)) names.push(await this.#name(part));
    if (parts.length > NAMED_MAX) names.push(TEXTS.others(parts.length - NAMED_MAX));
    const hint = this.cut.size > 0 ? ` ${TEXTS.readParts}` : "";
    return { kind: "text", text: `${TEXTS.partsCut(parts.length, names.join("; "))}${hint}]` };
  }

  async #name(part: ResultPart): Promise<string> {
    if (part.kind === "attachment") {
      const { hash, mediaType, bytes } = part;
      const data = isText(part) ? await this.#source.load(hash) : undefined;
      if (data !== undefined) this.cut.set(hash, data);
      return `${mediaType.slice(0, 64)} ${hash} (${bytes} bytes)`;
    }
    const data = bytesOf(part.text);
    const id = createHash("sha256").update(data).digest("base64url");
    this.cut.set(id, data);
    return `text ${id} (${data.length} bytes)`;
  }
}
