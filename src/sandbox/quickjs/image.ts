// Heaps as chains of deltas. All fresh guests have the same memory, the baseline. An image says what to change in it,
// step by step, so that a turn that changed little adds little.
//
// A delta is a header and one zstd stream: which lines of memory changed, and then their bytes. A line that was touched
// here and there is kept as its exclusive or with the line before, which is mostly zeros. A line that was overwritten is
// kept as it is, so that zstd finds the copies of a text. Memory beyond the end of the base counts as zeros.

import { createHash } from "node:crypto";
import { constants, crc32, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { RuntimeError } from "../../model/errors.ts";

/** All that a QuickJS guest consists of. The length of its memory is a multiple of 64 KiB, and only grows. */
export interface Heap {
  readonly memory: Uint8Array;
  readonly stackPointer: number;
  readonly runtimePtr: number;
  readonly contextPtr: number;
}

/** The heap of an image. Throws `store.corrupt` when a delta is damaged, or was made against another heap. */
export function heapOf(baseline: Heap, deltas: readonly Uint8Array[]): Heap {
  const steps = deltas.map(readDelta);
  let { length } = baseline.memory;
  for (const step of steps) {
    if (step.length < length) throw damaged("it is smaller than the heap it was made against");
    length = step.length;
  }
  const memory = new Uint8Array(length);
  memory.set(baseline.memory);
  for (const step of steps) applyTo(memory, step);
  const last = steps.at(-1);
  if (last && crc32(memory) !== last.memorySum) throw damaged("it was made against another heap");
  const { stackPointer, runtimePtr, contextPtr } = last ?? baseline;
  return { memory, stackPointer, runtimePtr, contextPtr };
}

/** How to keep `now`: after the first `keeps` of `deltas`, those that `before` was made from. */
export function nextDelta(
  baseline: Heap,
  deltas: readonly Uint8Array[],
  before: Heap,
  now: Heap,
): { readonly keeps: number; readonly delta: Uint8Array } {
  const keeps = keptOf(baseline, deltas, now);
  const base = keeps === deltas.length ? before : heapOf(baseline, deltas.slice(0, keeps));
  return { keeps, delta: deltaOf(base.memory, now) };
}

/** Tells heaps apart: sha256, in hex. */
export const hashOfHeap = ({ memory, stackPointer, runtimePtr, contextPtr }: Heap): string =>
  createHash("sha256").update(memory).update(`${stackPointer} ${runtimePtr} ${contextPtr}`).digest("hex");

const CHAIN_MAX = 16;
/** A chain that is shorter in bytes than this is never worth a closer look. */
const SMALL_CHAIN_BYTES = 64 * 1024;

/**
 * How many deltas the next one comes after. All, unless the chain is long, or holds much that later deltas overwrote:
 * then the end of the chain is replaced by one delta. A delta stays that is far larger than all that follow it: to
 * write it again would cost more than what is saved.
 */
function keptOf(baseline: Heap, deltas: readonly Uint8Array[], now: Heap): number {
  const sizes = deltas.map((delta) => delta.length);
  const total = sum(sizes);
  const isWasteful = () =>
    total > SMALL_CHAIN_BYTES && total > 1.5 * Math.max(...sizes) && total > 1.5 * fullSize(baseline, deltas, now);
  if (deltas.length < CHAIN_MAX && !isWasteful()) return deltas.length;
  for (let keeps = Math.min(deltas.length - 1, CHAIN_MAX - 4); keeps > 0; keeps--)
    if (sizes[keeps - 1]! > 2 * sum(sizes.slice(keeps))) return keeps;
  return 0;
}

/** About how large a delta against the baseline would be, if it compresses as well as those of the chain. */
function fullSize(baseline: Heap, deltas: readonly Uint8Array[], now: Heap): number {
  const bytes = LINE * sum(changesOf(baseline.memory, now.memory).map(({ count }) => count));
  return (bytes * sum(deltas.map((delta) => delta.length))) / sum(deltas.map((delta) => readDelta(delta).bodyLength));
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

const LINE = 256;
const WORDS = LINE / 4;
const PAGE = 4096;
const NO_PAGE = new Int32Array(PAGE / 4);

/** Lines of memory, one after the other, that changed alike. */
interface Change {
  readonly line: number;
  count: number;
  readonly isWhole: boolean;
}

function changesOf(base: Uint8Array, now: Uint8Array): Change[] {
  const changes: Change[] = [];
  const [baseBytes, nowBytes] = [bytesOf(base), bytesOf(now)];
  const [baseWords, nowWords] = [wordsOf(base), wordsOf(now)];
  for (let at = 0; at < now.length; at += PAGE) {
    // Most pages are equal, and this finds out ten times as fast as a loop.
    if (at < base.length && nowBytes.compare(baseBytes, at, at + PAGE, at, at + PAGE) === 0) continue;
    const old = at < base.length ? baseWords.subarray(at / 4, (at + PAGE) / 4) : NO_PAGE;
    for (let start = 0; start < old.length; start += WORDS) {
      let differing = 0;
      for (let i = start; i < start + WORDS; i++) if (old[i] !== nowWords[at / 4 + i]) differing++;
      if (differing === 0) continue;
      const line = at / LINE + start / WORDS;
      const isWhole = differing > WORDS / 2;
      const last = changes.at(-1);
      if (last && last.isWhole === isWhole && last.line + last.count === line) last.count++;
      else changes.push({ line, count: 1, isWhole });
    }
  }
  return changes;
}

// The header, in little-endian words: MAGIC, VERSION, length of memory, stackPointer, runtimePtr, contextPtr, crc32 of
// memory, length of the body, crc32 of the delta without this word.
const MAGIC = 0x444c5742; // BWLD
const VERSION = 1;
const HEADER = 36;

// The body: number of changes; for each its line, and twice its count plus one if it is whole; then the lines.
const COMPRESSION = {
  params: {
    [constants.ZSTD_c_compressionLevel]: 1,
    // A delivered text leaves copies, as far apart as it is long: without these two zstd would not see them.
    [constants.ZSTD_c_enableLongDistanceMatching]: 1,
    [constants.ZSTD_c_windowLog]: 27,
  },
};

function deltaOf(base: Uint8Array, now: Heap): Uint8Array {
  const changes = changesOf(base, now.memory);
  const words = new Int32Array(1 + 2 * changes.length + WORDS * sum(changes.map(({ count }) => count)));
  const body = Buffer.from(words.buffer);
  const [baseWords, nowWords] = [wordsOf(base), wordsOf(now.memory)];
  body.writeUInt32LE(changes.length);
  let table = 4;
  let to = 1 + 2 * changes.length;
  for (const { line, count, isWhole } of changes) {
    body.writeUInt32LE(line, table);
    body.writeUInt32LE(2 * count + (isWhole ? 1 : 0), table + 4);
    table += 8;
    const from = line * WORDS;
    const size = count * WORDS;
    words.set(nowWords.subarray(from, from + size), to);
    if (!isWhole) for (let i = 0; i < size; i++) words[to + i]! ^= baseWords[from + i] ?? 0;
    to += size;
  }
  const head = Buffer.alloc(HEADER);
  const { memory, stackPointer, runtimePtr, contextPtr } = now;
  const fields = [MAGIC, VERSION, memory.length, stackPointer, runtimePtr, contextPtr, crc32(memory), body.length];
  for (const [i, field] of fields.entries()) head.writeUInt32LE(field, 4 * i);
  const delta = Buffer.concat([head, zstdCompressSync(body, COMPRESSION)]);
  delta.writeUInt32LE(sumOf(delta), HEADER - 4);
  return delta;
}

const sumOf = (delta: Buffer): number => crc32(delta.subarray(HEADER), crc32(delta.subarray(0, HEADER - 4)));

interface Delta extends Omit<Heap, "memory"> {
  readonly length: number;
  readonly memorySum: number;
  readonly bodyLength: number;
  readonly body: Buffer;
}

function readDelta(delta: Uint8Array): Delta {
  const bytes = bytesOf(delta);
  if (bytes.length < HEADER) throw damaged("it is cut off");
  const field = (index: number) => bytes.readUInt32LE(4 * index);
  if (field(0) !== MAGIC) throw damaged("it is something else");
  if (field(8) !== sumOf(bytes)) throw damaged("its checksum is wrong");
  if (field(1) !== VERSION) throw damaged(`it has the unknown version ${field(1)}`);
  return {
    length: field(2),
    stackPointer: field(3),
    runtimePtr: field(4),
    contextPtr: field(5),
    memorySum: field(6),
    bodyLength: field(7),
    body: bytes.subarray(HEADER),
  };
}

function applyTo(memory: Uint8Array, delta: Delta): void {
  const body = zstdDecompressSync(delta.body, { maxOutputLength: delta.bodyLength });
  const [words, to] = [wordsOf(body), wordsOf(memory)];
  const changes = body.readUInt32LE(0);
  let from = 1 + 2 * changes;
  for (let i = 0; i < changes; i++) {
    const at = body.readUInt32LE(4 + 8 * i) * WORDS;
    const kind = body.readUInt32LE(8 + 8 * i);
    const size = (kind >>> 1) * WORDS;
    if (kind % 2 === 1) to.set(words.subarray(from, from + size), at);
    else for (let j = 0; j < size; j++) to[at + j]! ^= words[from + j]!;
    from += size;
  }
}

const bytesOf = ({ buffer, byteOffset, length }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, length);

/** The same bytes as words, in the order of this machine: only for comparing and combining bytes in the same places. */
function wordsOf(bytes: Uint8Array): Int32Array {
  const aligned = bytes.byteOffset % 4 === 0 ? bytes : new Uint8Array(bytes);
  return new Int32Array(aligned.buffer, aligned.byteOffset, aligned.length >> 2);
}

const damaged = (problem: string) => new RuntimeError("store.corrupt", { item: "What the code keeps", problem });
