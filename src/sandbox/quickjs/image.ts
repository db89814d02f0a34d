// Heaps as chains of deltas. All new guests have the same memory, the baseline. An image contains what to change in it,
// step by step, so that a turn with few changes adds little.
//
// A delta is a header and one zstd stream: the numbers of the changed memory lines, then their bytes. A line with
// scattered changes is stored as its exclusive or with the old line, which is mostly zeros. An overwritten line is
// stored unchanged, so that zstd finds copies of a text. Memory beyond the end of the base counts as zeros.

import { createHash } from "node:crypto";
import { constants, crc32, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { RuntimeError } from "../../model/errors.ts";

/** All parts of a QuickJS guest. The length of its memory is a multiple of 64 KiB and only grows. */
export interface Heap {
  readonly memory: Uint8Array;
  readonly stackPointer: number;
  readonly runtimePtr: number;
  readonly contextPtr: number;
}

/**
 * Returns the heap of an image, in new memory or in that of `memoryOf`, which must be zeros beyond the baseline. Throws
 * `code.damaged` if a delta is damaged or belongs to another heap.
 */
export function heapOf(
  baseline: Heap,
  deltas: readonly Uint8Array[],
  memoryOf: (length: number) => Uint8Array = (length) => new Uint8Array(length),
): Heap {
  const headers = deltas.map((delta) => headerOf(unharmed(delta)));
  let { length } = baseline.memory;
  let sum = deltas.length === 0 ? 0 : sumOfBaseline(baseline);
  for (const header of headers) {
    if (header.baseSum !== sum || header.length < length) throw damaged("it was made against another heap");
    ({ length, memorySum: sum } = header);
  }
  const memory = memoryOf(length);
  memory.set(baseline.memory);
  for (const delta of deltas) apply(delta, memory);
  const last = headers.at(-1);
  const { stackPointer, runtimePtr, contextPtr } = last ?? baseline;
  return { memory, stackPointer, runtimePtr, contextPtr };
}

/** Returns how to store `now`: a delta after the first `keeps` of `deltas`, from which `before` was made. */
export function nextDelta(
  baseline: Heap,
  deltas: readonly Uint8Array[],
  before: Heap,
  now: Heap,
): { readonly keeps: number; readonly delta: Uint8Array } {
  const changes = changesOf(before.memory, now.memory);
  if (deltas.length < CHAIN_MAX && !isWasteful(baseline, deltas, now, changes))
    return { keeps: deltas.length, delta: deltaOf(before, sumAfter(baseline, deltas), now, changes) };
  const keeps = deltasToKeep(deltas.map((delta) => delta.length));
  const remaining = deltas.slice(0, keeps);
  const base = heapOf(baseline, remaining);
  return { keeps, delta: deltaOf(base, sumAfter(baseline, remaining), now, changesOf(base.memory, now.memory)) };
}

/** Returns the crc32 of the memory that a chain leads to. */
function sumAfter(baseline: Heap, deltas: readonly Uint8Array[]): number {
  const last = deltas.at(-1);
  return last === undefined ? sumOfBaseline(baseline) : headerOf(last).memorySum;
}

/** Cached: a thread has one baseline, which never changes. */
function sumOfBaseline({ memory }: Heap): number {
  let sum = SUMS.get(memory);
  if (sum === undefined) {
    sum = crc32(memory);
    SUMS.set(memory, sum);
  }
  return sum;
}
const SUMS = new WeakMap<Uint8Array, number>();

/** Returns the sha256 of a heap in hex. */
export const hashOfHeap = ({ memory, stackPointer, runtimePtr, contextPtr }: Heap): string =>
  createHash("sha256").update(memory).update(`${stackPointer} ${runtimePtr} ${contextPtr}`).digest("hex");

const CHAIN_MAX = 16;

/**
 * Returns whether a chain contains much data that was overwritten later: more than half as much again as a single
 * delta. False if little changed now, because a single delta would be large.
 */
function isWasteful(baseline: Heap, deltas: readonly Uint8Array[], now: Heap, changes: readonly Change[]): boolean {
  const bodies = deltas.map((delta) => headerOf(delta).bodyLength);
  const largest = 4 * bytesIn(changes);
  if (bodies.length < 2 || Math.max(...bodies) > largest) return false; // Cheap pre-check: a full comparison takes longer.
  const all = bytesIn(changesOf(baseline.memory, now.memory));
  return all < largest && sum(bodies) > 1.5 * all;
}

/**
 * Returns how many deltas to keep when one replaces the others. A delta that is large compared to all later ones stays,
 * because storing its bytes again would cost more than it saves. At least a quarter is replaced, because otherwise the
 * next replacement would follow soon.
 */
function deltasToKeep(sizes: readonly number[]): number {
  for (let keeps = Math.floor(sizes.length * 0.75); keeps > 0; keeps--)
    if (sizes[keeps - 1]! > sum(sizes.slice(keeps)) / 2) return keeps;
  return 0;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

const LINE = 256;
const PAGE = 4096;
const WORDS = LINE / 4;
const ZEROS = new Int32Array(PAGE / 4);

/** Consecutive lines of memory with the same kind of change. */
interface Change {
  readonly line: number;
  count: number;
  /** Stored unchanged, not as a difference. */
  readonly isWhole: boolean;
}

const bytesIn = (changes: readonly Change[]): number => LINE * sum(changes.map(({ count }) => count));

function changesOf(base: Uint8Array, now: Uint8Array): Change[] {
  const changes: Change[] = [];
  const [baseBytes, nowBytes] = [bytesOf(base), bytesOf(now)];
  const [baseWords, nowWords] = [wordsOf(base), wordsOf(now)];
  for (let at = 0; at < now.length; at += PAGE) {
    // Most pages are equal, and native code finds that much faster than the loop below.
    if (at < base.length && nowBytes.compare(baseBytes, at, at + PAGE, at, at + PAGE) === 0) continue;
    const old = at < base.length ? baseWords.subarray(at / 4, (at + PAGE) / 4) : ZEROS;
    for (let start = 0; start < old.length; start += WORDS) {
      let differing = 0;
      for (let i = start; i < start + WORDS; i++) if (old[i] !== nowWords[at / 4 + i]) differing++;
      if (differing > 0) note(at / LINE + start / WORDS, differing > WORDS / 2);
    }
  }
  return changes;

  function note(line: number, isWhole: boolean): void {
    const last = changes.at(-1);
    if (last && last.isWhole === isWhole && last.line + last.count === line) last.count++;
    else changes.push({ line, count: 1, isWhole });
  }
}

// A delta begins with little-endian words: magic, length of memory, stackPointer, runtimePtr, contextPtr, crc32 of
// memory, crc32 of the base memory, length of the uncompressed body, crc32 of the rest of the delta. The checksums
// allow to verify a chain without reading all of its memory. The compressed body follows: the number of changes; for
// each its first line, and twice the number of lines, plus one if they are whole; the lines.
const MAGIC = 0x32444842; // BHD2, where 2 is the version.
const HEADER = 36;
const SUM_AT = HEADER - 4;

const COMPRESSION = {
  params: {
    [constants.ZSTD_c_compressionLevel]: 1,
    // A delivered text leaves copies as far apart as it is long. zstd needs these options to search that far.
    [constants.ZSTD_c_enableLongDistanceMatching]: 1,
    [constants.ZSTD_c_windowLog]: 27,
  },
};

function deltaOf(base: Heap, baseSum: number, now: Heap, changes: readonly Change[]): Uint8Array {
  const words = new Int32Array(1 + 2 * changes.length + bytesIn(changes) / 4);
  const body = bytesOf(words);
  const [baseWords, nowWords] = [wordsOf(base.memory), wordsOf(now.memory)];
  body.writeUInt32LE(changes.length);
  let to = 1 + 2 * changes.length;
  for (const [i, { line, count, isWhole }] of changes.entries()) {
    body.writeUInt32LE(line, 4 + 8 * i);
    body.writeUInt32LE(2 * count + (isWhole ? 1 : 0), 8 + 8 * i);
    const [from, end] = [line * WORDS, (line + count) * WORDS];
    words.set(nowWords.subarray(from, end), to);
    if (!isWhole) combine(words, to, baseWords.subarray(from, end));
    to += end - from;
  }
  const { memory, stackPointer, runtimePtr, contextPtr } = now;
  const sums = [crc32(memory), baseSum];
  const fields = [MAGIC, memory.length, stackPointer, runtimePtr, contextPtr, ...sums, body.length];
  const header = Buffer.alloc(HEADER);
  for (const [i, field] of fields.entries()) header.writeUInt32LE(field, 4 * i);
  const delta = Buffer.concat([header, zstdCompressSync(body, { ...COMPRESSION, chunkSize: chunkFor(body.length) })]);
  delta.writeUInt32LE(sumOf(delta), SUM_AT);
  return delta;
}

interface Header extends Omit<Heap, "memory"> {
  readonly length: number;
  readonly memorySum: number;
  readonly baseSum: number;
  readonly bodyLength: number;
}

/** Detects damage before a number of the header is used: a wrong bit could ask for gigabytes. */
function unharmed(delta: Uint8Array): Uint8Array {
  const bytes = bytesOf(delta);
  if (bytes.length < HEADER) throw damaged("it is too short");
  if (bytes.readUInt32LE() !== MAGIC) throw damaged("it is something else, or of another version");
  if (bytes.readUInt32LE(SUM_AT) !== sumOf(bytes)) throw damaged("its checksum is wrong");
  return delta;
}

function headerOf(delta: Uint8Array): Header {
  const bytes = bytesOf(delta);
  const word = (index: number) => bytes.readUInt32LE(4 * index);
  const [length, stackPointer, runtimePtr, contextPtr] = [word(1), word(2), word(3), word(4)];
  const [memorySum, baseSum, bodyLength] = [word(5), word(6), word(7)];
  return { length, stackPointer, runtimePtr, contextPtr, memorySum, baseSum, bodyLength };
}

function apply(delta: Uint8Array, memory: Uint8Array): void {
  const body = zstdDecompressSync(delta.subarray(HEADER), { chunkSize: chunkFor(headerOf(delta).bodyLength) });
  const [words, memoryWords] = [wordsOf(body), wordsOf(memory)];
  const changes = body.readUInt32LE(0);
  let from = 1 + 2 * changes;
  for (let i = 0; i < changes; i++) {
    const at = body.readUInt32LE(4 + 8 * i) * WORDS;
    const kind = body.readUInt32LE(8 + 8 * i);
    const lines = words.subarray(from, from + (kind >>> 1) * WORDS);
    if (kind % 2 === 1) memoryWords.set(lines, at);
    else combine(memoryWords, at, lines);
    from += lines.length;
  }
}

/** Applies the exclusive or of other words. */
function combine(words: Int32Array, at: number, others: Int32Array): void {
  for (let i = 0; i < others.length; i++) words[at + i]! ^= others[i]!;
}

const sumOf = (delta: Buffer): number => crc32(delta.subarray(HEADER), crc32(delta.subarray(0, SUM_AT)));

/** The chunk size of zlib's output. A smaller one would copy the output once more. */
const chunkFor = (length: number): number => length + 1024;

const bytesOf = ({ buffer, byteOffset, byteLength }: Uint8Array | Int32Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** Returns bytes as words in the machine's order: only to compare or combine equal positions. */
function wordsOf(bytes: Uint8Array): Int32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes);
  return new Int32Array(aligned.buffer, aligned.byteOffset, aligned.length / 4);
}

const damaged = (problem: string) => new RuntimeError("code.damaged", { problem });
