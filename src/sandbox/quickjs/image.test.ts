import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import fc from "fast-check";
import { QuickJS } from "quickjs-wasi";
import { expect, test } from "vitest";
import { type Heap, hashOfHeap, heapOf, nextDelta } from "./image.ts";

const KIB = 1024;
const UNIT = 64 * KIB;
const CORRUPT = expect.objectContaining({ code: "code.damaged" });

const heap = (memory: Uint8Array, stackPointer = 1): Heap => ({ memory, stackPointer, runtimePtr: 2, contextPtr: 3 });
const BASELINE = heap(new Uint8Array(2 * UNIT).map((_, i) => i % 251));

/** The heap with other bytes in some places. */
function edited({ memory, stackPointer }: Heap, ...edits: readonly (readonly [at: number, bytes: Uint8Array])[]): Heap {
  const copy = new Uint8Array(memory);
  for (const [at, bytes] of edits) copy.set(bytes, at);
  return heap(copy, stackPointer + 1);
}
function grown({ memory, stackPointer }: Heap, length: number): Heap {
  const copy = new Uint8Array(length);
  copy.set(memory);
  return heap(copy, stackPointer);
}

/** An image that is kept commit by commit, as a store would. */
class SavedHeap {
  readonly baseline: Heap;
  deltas: readonly Uint8Array[] = [];
  heap: Heap;
  constructor(baseline: Heap) {
    this.baseline = baseline;
    this.heap = baseline;
  }
  /** How many bytes are added. */
  commit(now: Heap): number {
    const { keeps, delta } = nextDelta(this.baseline, this.deltas, this.heap, now);
    this.deltas = [...this.deltas.slice(0, keeps), delta];
    this.heap = now;
    return delta.length;
  }
  get bytes(): number {
    return this.deltas.reduce((total, delta) => total + delta.length, 0);
  }
}

const bytes = fc.oneof(
  fc.uint8Array({ minLength: 1, maxLength: 600 }),
  fc.integer({ min: 1, max: 3000 }).map((length) => new Uint8Array(length)),
  fc.tuple(fc.nat(255), fc.integer({ min: 1, max: 3000 })).map(([byte, length]) => new Uint8Array(length).fill(byte)),
);
const commit = fc.record({
  growth: fc.constantFrom(0, 0, 0, 1, 2),
  edits: fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), bytes), { maxLength: 5 }),
});

test("P8 an image restores every heap, over any changes, growth and chains", () => {
  fc.assert(
    fc.property(fc.array(commit, { minLength: 1, maxLength: 40 }), (commits) => {
      const before = hashOfHeap(BASELINE);
      const kept = new SavedHeap(BASELINE);
      for (const { growth, edits } of commits) {
        const larger = grown(kept.heap, Math.min(kept.heap.memory.length + growth * UNIT, 8 * UNIT));
        const room = larger.memory.length - 3000;
        kept.commit(edited(larger, ...edits.map(([at, bytes]) => [Math.floor(at * room), bytes] as const)));
        expect(hashOfHeap(heapOf(BASELINE, kept.deltas))).toBe(hashOfHeap(kept.heap));
        expect(kept.deltas.length).toBeLessThanOrEqual(16);
      }
      expect(hashOfHeap(BASELINE)).toBe(before);
    }),
    { numRuns: 50 },
  );
});

test("P8 the image of a fresh guest is empty, and a copy of the baseline", () => {
  const fresh = heapOf(BASELINE, []);
  expect(hashOfHeap(fresh)).toBe(hashOfHeap(BASELINE));
  expect(fresh.memory.buffer).not.toBe(BASELINE.memory.buffer);
});

test("P8 a heap differs from every other heap by its memory and by its numbers", () => {
  const { memory, stackPointer, runtimePtr, contextPtr } = BASELINE;
  const others = [
    edited(BASELINE, [7, new Uint8Array(1)]),
    { memory, stackPointer: stackPointer + 1, runtimePtr, contextPtr },
    { memory, stackPointer, runtimePtr: contextPtr, contextPtr: runtimePtr },
    { memory, stackPointer, runtimePtr, contextPtr: 0 },
  ];
  expect(new Set([BASELINE, ...others].map(hashOfHeap)).size).toBe(5);
});

/** A chain of three, where the last one has lines of both kinds. */
function chainOfThree(): SavedHeap {
  const kept = new SavedHeap(BASELINE);
  kept.commit(edited(kept.heap, [100, randomBytes(2000)]));
  kept.commit(edited(grown(kept.heap, 3 * UNIT), [2 * UNIT + 5, randomBytes(50)]));
  kept.commit(edited(kept.heap, [500, randomBytes(600)], [9000, new Uint8Array(3)]));
  expect(kept.deltas).toHaveLength(3);
  return kept;
}

test("P8 a delta with any wrong bit is refused, wherever it is", () => {
  const { deltas } = chainOfThree();
  for (const [index, delta] of deltas.entries())
    for (let at = 0; at < delta.length; at++) {
      const wrong = new Uint8Array(delta);
      wrong[at]! ^= 1 << (at % 8);
      expect(() => heapOf(BASELINE, deltas.with(index, wrong)), `delta ${index}, byte ${at}`).toThrow(CORRUPT);
    }
});

test("P8 a delta that lost or gained bytes is refused", () => {
  const { deltas } = chainOfThree();
  const last = deltas.at(-1)!;
  for (let length = 0; length < last.length; length++)
    expect(() => heapOf(BASELINE, deltas.with(-1, last.subarray(0, length))), `${length} bytes`).toThrow(CORRUPT);
  expect(() => heapOf(BASELINE, deltas.with(-1, Buffer.concat([last, Buffer.from([0])])))).toThrow(CORRUPT);
});

test("P8 deltas are refused that were made against something else", () => {
  const { deltas } = chainOfThree();
  const [first, second, third] = deltas as [Uint8Array, Uint8Array, Uint8Array];
  const others = edited(BASELINE, [UNIT, new Uint8Array([1, 2, 3])]);
  for (const [baseline, chain] of [
    [others, deltas],
    [grown(BASELINE, 4 * UNIT), deltas],
    [BASELINE, [second, third]],
    [BASELINE, [first, third]],
    [BASELINE, [third]],
    [BASELINE, [second, first]],
    [BASELINE, [...deltas, second]],
    [BASELINE, chainOfThree().deltas.with(0, first)],
  ] as const)
    expect(() => heapOf(baseline, chain)).toThrow(CORRUPT);
});

test("P8 memory at any offset of a buffer gives the same image", () => {
  const odd = new Uint8Array(new ArrayBuffer(2 * UNIT + 1), 1);
  odd.set(edited(BASELINE, [3, randomBytes(900)]).memory);
  const kept = new SavedHeap(BASELINE);
  kept.commit(heap(odd));
  expect(hashOfHeap(heapOf(BASELINE, kept.deltas))).toBe(hashOfHeap(heap(odd)));
});

test("P8 a large text is kept once, however many copies of it are in memory and whatever was there before", () => {
  const text = () => Buffer.from(randomBytes(1536 * KIB).toString("base64"));
  const kept = new SavedHeap(BASELINE);
  let now = grown(BASELINE, 8192 * KIB);
  for (let i = 0; i < 3; i++) {
    const content = text();
    now = edited(now, [UNIT + 1, content], [UNIT + 2111 * KIB + 2, content], [UNIT + 4333 * KIB + 3, content]);
    expect(kept.commit(now)).toBeLessThan(content.length);
  }
  expect(hashOfHeap(heapOf(BASELINE, kept.deltas))).toBe(hashOfHeap(now));
});

test("P8 a long chain becomes shorter without its large deltas being kept again", () => {
  const kept = new SavedHeap(BASELINE);
  kept.commit(edited(BASELINE, [10, randomBytes(200)]));
  kept.commit(edited(grown(kept.heap, 32 * UNIT), [3 * UNIT, randomBytes(1024 * KIB)]));
  for (let i = 0; i < 60; i++) {
    const added = kept.commit(edited(kept.heap, [(i % 20) * 300, randomBytes(100)]));
    expect(added).toBeLessThan(16 * KIB);
    expect(kept.deltas.length).toBeLessThanOrEqual(16);
  }
  expect(hashOfHeap(heapOf(BASELINE, kept.deltas))).toBe(hashOfHeap(kept.heap));
});

test("P8 a heap that is overwritten again and again does not make its image grow", () => {
  const kept = new SavedHeap(BASELINE);
  for (let i = 0; i < 40; i++) {
    const content = randomBytes(512 * KIB);
    expect(kept.commit(edited(grown(kept.heap, 12 * UNIT), [UNIT, content]))).toBeLessThan(1.1 * content.length);
    expect(kept.bytes).toBeLessThan(3 * content.length);
  }
});

test("P8 a small cell adds less than 16 KiB to a real heap, and a large text about its own size", async () => {
  const wasm = readFileSync(createRequire(import.meta.url).resolve("quickjs-wasi/quickjs.wasm"));
  using vm = await QuickJS.create(wasm);
  const kept = new SavedHeap(vm.snapshot());
  const bytesOf = (code: string) => {
    vm.evalCode(code).dispose();
    return kept.commit(vm.snapshot());
  };
  expect(bytesOf("var a = 1")).toBeLessThan(16 * KIB);
  expect(bytesOf("class K { #x = 1; get x() { return this.#x } }; var make = (n) => () => ++n")).toBeLessThan(16 * KIB);
  const rows =
    "Array.from({ length: 1000 }, (_, id) => ({ id, name: 'name ' + id, score: id * 1.5, tags: ['a', 'b'] }))";
  const forRows = bytesOf(`var rows = ${rows}`);
  const rowsLength = vm.evalCode("JSON.stringify(rows).length").consume((length) => length.toNumber());
  expect(forRows).toBeLessThan(3 * rowsLength + 16 * KIB);
  expect(bytesOf("rows.filter((row) => row.score > 700).length")).toBeLessThan(16 * KIB);

  // A guest is given results as JSON, which is then there three times: as bytes, as a string, and as its value.
  const content = randomBytes(2304 * KIB).toString("base64");
  vm.newString(JSON.stringify(content)).consume((json) => vm.setProp(vm.global, "json", json));
  expect(bytesOf("var text = JSON.parse(json); delete globalThis.json")).toBeLessThan(content.length);

  const { memory, ...numbers } = heapOf(kept.baseline, kept.deltas);
  using restored = await QuickJS.restore({ ...numbers, memory, extensions: [] }, wasm);
  expect(restored.evalCode("make(rows.length)() + new K().x + text.length").consume((sum) => sum.toNumber())).toBe(
    1001 + 1 + content.length,
  );
});
