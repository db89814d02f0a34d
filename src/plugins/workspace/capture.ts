import { TEXTS } from "./texts.ts";

/** Keeps the beginning and the end of a stream in bounded memory, and counts the bytes between them. */
export class Capture {
  readonly #head: Buffer;
  readonly #tail: Buffer;
  #headBytes = 0;
  #total = 0;

  constructor(bytesMax: number) {
    this.#head = Buffer.allocUnsafe(Math.ceil(bytesMax / 2));
    this.#tail = Buffer.allocUnsafe(Math.floor(bytesMax / 2));
  }

  add(chunk: Buffer): void {
    this.#total += chunk.length;
    const taken = Math.min(chunk.length, this.#head.length - this.#headBytes);
    chunk.copy(this.#head, this.#headBytes, 0, taken);
    this.#headBytes += taken;
    // The tail is a ring: byte `n` after the head is at `n % size`.
    const size = this.#tail.length;
    const rest = chunk.subarray(Math.max(taken, chunk.length - size));
    const at = (this.#total - rest.length - this.#headBytes) % size;
    const before = Math.min(rest.length, size - at);
    rest.copy(this.#tail, at, 0, before);
    rest.copy(this.#tail, 0, before);
  }

  text(): string {
    const size = this.#tail.length;
    const after = this.#total - this.#headBytes;
    if (after <= size)
      return Buffer.concat([this.#head.subarray(0, this.#headBytes), this.#tail.subarray(0, after)]).toString();
    const at = after % size;
    const tail = Buffer.concat([this.#tail.subarray(at), this.#tail.subarray(0, at)]);
    const [head, end] = [wholeEnd(this.#head), wholeStart(tail)];
    const cut = this.#total - head.length - end.length;
    return `${head.toString()}\n${TEXTS.outputCut(cut)}\n${end.toString()}`;
  }
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

/** Drops an incomplete last character. */
function wholeEnd(bytes: Buffer): Buffer {
  let lead = bytes.length - 1;
  while (lead > bytes.length - 4 && isContinuation(bytes[lead])) lead--;
  const first = bytes[lead] ?? 0;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return lead + length > bytes.length ? bytes.subarray(0, lead) : bytes;
}

function wholeStart(bytes: Buffer): Buffer {
  let start = 0;
  while (start < 3 && isContinuation(bytes[start])) start++;
  return bytes.subarray(start);
}
