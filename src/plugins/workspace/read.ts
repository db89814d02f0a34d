import { createHash } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { type Attachable, attach } from "../../plugin.ts";
import { Refusal, shown } from "./refusal.ts";
import { withFile } from "./resolve.ts";
import { LINE_CHARS_MAX, LINES_SHOWN, TEXTS } from "./texts.ts";

const CHUNK_BYTES = 65_536;

export interface ReadInput {
  readonly path: string;
  readonly offset?: number;
  readonly limit?: number;
}
interface ReadOptions {
  readonly root: string;
  readonly bytesMax: number;
  readonly fileBytesMax: number;
}

/** Returns numbered lines and a last line in brackets about the file. An image is attached. */
export function readFile(
  { path, offset = 1, limit = LINES_SHOWN }: ReadInput,
  { root, bytesMax, fileBytesMax }: ReadOptions,
  signal: AbortSignal,
): Promise<string | Attachable> {
  return withFile(root, path, async (file, { size }) => {
    const first = await chunkAt(file, 0, size);
    const mediaType = imageType(first);
    if (mediaType !== undefined) {
      if (size > fileBytesMax) throw tooLarge(path, size, fileBytesMax);
      const data = await readWhole(file, path, fileBytesMax);
      return attach(data, { mediaType, name: path.split("/").at(-1) ?? path });
    }
    const lines = new Lines(offset, limit, bytesMax);
    const hash = createHash("sha256");
    const readsAll = size <= fileBytesMax;
    let at = 0;
    for (let chunk = first; chunk.length > 0; chunk = await chunkAt(file, at, size)) {
      signal.throwIfAborted();
      if (chunk.includes(0)) throw new Refusal("workspace.kind", TEXTS.binaryFile(shown(path)));
      at += chunk.length;
      if (readsAll) hash.update(chunk);
      lines.add(chunk);
      if (lines.isFull && !readsAll) break;
    }
    return lines.end(at >= size, readsAll ? short(hash.digest("hex")) : undefined);
  });
}

/** Reads up to the size at the start, because a growing file could have no end. */
async function chunkAt(file: FileHandle, at: number, size: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(Math.max(0, Math.min(CHUNK_BYTES, size - at)));
  if (buffer.length === 0) return buffer;
  const { bytesRead } = await file.read(buffer, 0, buffer.length, at);
  return buffer.subarray(0, bytesRead);
}

/** The whole file, in a separate buffer, which can be transferred to another thread. */
export async function readWhole(file: FileHandle, path: string, bytesMax: number): Promise<Uint8Array<ArrayBuffer>> {
  const { size } = await file.stat();
  if (size > bytesMax) throw tooLarge(path, size, bytesMax);
  const whole = new Uint8Array(size);
  let at = 0;
  while (at < size) {
    const { bytesRead } = await file.read(whole, at, size - at, at);
    if (bytesRead === 0) break;
    at += bytesRead;
  }
  return at === size ? whole : whole.slice(0, at);
}

export const tooLarge = (path: string, bytes: number, bytesMax: number): Refusal =>
  new Refusal("workspace.limit", TEXTS.tooLarge(shown(path), bytes, bytesMax));

/** 16 digits are enough to detect a change, and short enough for a model to repeat. */
const short = (hash: string): string => hash.slice(0, 16);
export const hashOf = (data: Uint8Array | string): string => short(createHash("sha256").update(data).digest("hex"));

const MAGIC: readonly (readonly [mediaType: string, begins: RegExp])[] = [
  ["image/png", /^\x89PNG\r\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF[\s\S]{4}WEBP/],
];
function imageType(data: Buffer): string | undefined {
  const start = data.toString("latin1", 0, 16);
  return MAGIC.find(([, begins]) => begins.test(start))?.[0];
}

/** Collects a window of lines from a stream of bytes, and keeps only that window in memory. */
class Lines {
  readonly #decoder = new TextDecoder("utf-8");
  readonly #offset: number;
  readonly #limit: number;
  readonly #bytesMax: number;
  readonly #lines: string[] = [];
  #bytes = 0;
  /** Lines that have ended so far. */
  #count = 0;
  #line = "";
  #lineChars = 0;
  #isOpen = false;
  #hasCrlf = false;
  #isClosed = false;

  constructor(offset: number, limit: number, bytesMax: number) {
    this.#offset = offset;
    this.#limit = limit;
    this.#bytesMax = bytesMax;
  }

  get isFull(): boolean {
    return this.#isClosed;
  }

  add(chunk: Uint8Array): void {
    this.#take(this.#decoder.decode(chunk, { stream: true }));
  }

  end(isWhole: boolean, hash: string | undefined): string {
    this.#take(this.#decoder.decode());
    if (this.#isOpen && isWhole) this.#close();
    const last = this.#offset + this.#lines.length - 1;
    const total = isWhole ? `${this.#count}` : TEXTS.manyLines;
    const facts = [
      this.#lines.length === 0 ? TEXTS.noLines(this.#offset, total) : TEXTS.linesOf(this.#offset, last, total),
      ...(this.#lines.length > 0 && (!isWhole || last < this.#count) ? [TEXTS.goOnAt(last + 1)] : []),
      ...(this.#hasCrlf ? [TEXTS.crlf] : []),
      ...(hash === undefined ? [] : [TEXTS.hash(hash)]),
    ];
    return [...this.#lines, `[${facts.join("; ")}]`].join("\n");
  }

  #take(text: string): void {
    let from = 0;
    for (let to = text.indexOf("\n"); to !== -1; to = text.indexOf("\n", from)) {
      this.#append(text, from, to);
      this.#close();
      from = to + 1;
    }
    if (from < text.length) this.#append(text, from, text.length);
  }

  #append(text: string, from: number, to: number): void {
    this.#isOpen = true;
    this.#lineChars += to - from;
    const room = LINE_CHARS_MAX + 1 - this.#line.length; // One more character, for a carriage return.
    if (!this.#isClosed && this.#count + 1 >= this.#offset && room > 0)
      this.#line += text.slice(from, Math.min(to, from + room));
  }

  #close(): void {
    this.#count++;
    const [raw, chars] = [this.#line, this.#lineChars];
    [this.#line, this.#lineChars, this.#isOpen] = ["", 0, false];
    if (this.#isClosed || this.#count < this.#offset) return;
    const endsInReturn = raw.endsWith("\r") && raw.length === chars;
    if (endsInReturn) this.#hasCrlf = true;
    const cut = chars - LINE_CHARS_MAX - (endsInReturn ? 1 : 0);
    const text = cut > 0 ? raw.slice(0, LINE_CHARS_MAX) + TEXTS.lineCut(cut) : raw.replace(/\r$/, "");
    const line = `${this.#count}\t${text}`;
    this.#bytes += Buffer.byteLength(line) + 1;
    // The first line is shown even if it is too long; otherwise the next page would begin with it again.
    if (this.#lines.length > 0 && this.#bytes > this.#bytesMax) this.#isClosed = true;
    else this.#lines.push(line);
    if (this.#lines.length >= this.#limit) this.#isClosed = true;
  }
}
