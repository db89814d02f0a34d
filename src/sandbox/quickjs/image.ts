// Stand-in until the real one is merged: deltas are whole heaps.
import { createHash } from "node:crypto";

export interface Heap {
  readonly memory: Uint8Array;
  readonly stackPointer: number;
  readonly runtimePtr: number;
  readonly contextPtr: number;
}
export function heapOf(baseline: Heap, deltas: readonly Uint8Array[]): Heap {
  const last = deltas.at(-1);
  if (last === undefined) return baseline;
  const view = new DataView(last.buffer, last.byteOffset);
  return {
    memory: last.subarray(12),
    stackPointer: view.getUint32(0),
    runtimePtr: view.getUint32(4),
    contextPtr: view.getUint32(8),
  };
}
export function nextDelta(
  _baseline: Heap,
  _deltas: readonly Uint8Array[],
  _before: Heap,
  now: Heap,
): { readonly keeps: number; readonly delta: Uint8Array } {
  const delta = new Uint8Array(12 + now.memory.length);
  const view = new DataView(delta.buffer);
  view.setUint32(0, now.stackPointer);
  view.setUint32(4, now.runtimePtr);
  view.setUint32(8, now.contextPtr);
  delta.set(now.memory, 12);
  return { keeps: 0, delta };
}
export const hashOfHeap = (heap: Heap): string => createHash("sha256").update(heap.memory).digest("hex");
