// One VM, restored from a heap. Guest values are pointers here and are never inspected, because reading a property
// would run the guest's getters. The prelude makes texts of them.
//
// The library's `evalCode`, `callFunction` and `executePendingJobs` are not used: they read thrown values and run all
// jobs at once. This file calls the functions below them, which the library types as of 3.6.2.

import { EvalFlags, JSValueHandle, QuickJS } from "quickjs-wasi";
import type { Baseline } from "./baseline.ts";
import { type Callbacks, LIMITS, optionsOf } from "./engine.ts";
import { type Heap, heapOf } from "./image.ts";
import type { BRANDS, Entry } from "./prelude.ts";

/** The address of a guest value. */
export type Pointer = number;
/** A guest value that stays until it is released. */
export type ValueHandle = JSValueHandle;

export interface Host extends Callbacks {
  /** Handles a request of the prelude. Returns one of the baseline's numbers and never throws. */
  asks(values: readonly Pointer[]): number;
}

type Exports = ReturnType<QuickJS["_getExports"]>;

export class Vm {
  readonly #library: QuickJS;
  readonly #exports: Exports;
  readonly #baseline: Baseline;

  static async restore(baseline: Baseline, deltas: readonly Uint8Array[], host: Host): Promise<Vm> {
    const library = await QuickJS.restore({ ...baseline.heap, extensions: [] }, optionsOf(baseline.wasm, host));
    if (deltas.length > 0) fill(library._getExports(), baseline.heap, deltas);
    const numbers = baseline.numbers.map((pointer) => new JSValueHandle(library, pointer, true));
    library.registerHostCallback("host", (...values) => numbers[host.asks(values.map((each) => each.ptr))]!);
    return new Vm(library, baseline);
  }

  private constructor(library: QuickJS, baseline: Baseline) {
    this.#library = library;
    this.#exports = library._getExports();
    this.#baseline = baseline;
  }

  /** Linear memory. It never shrinks. */
  get bytes(): number {
    return this.#exports.memory.buffer.byteLength;
  }

  /** Returns a view, not a copy: valid until the VM runs again. */
  heap(): Heap {
    return {
      memory: new Uint8Array(this.#exports.memory.buffer),
      stackPointer: this.#exports.__stack_pointer.value as number,
      runtimePtr: this.#exports.qjs_get_runtime_ptr(),
      contextPtr: this.#exports.qjs_get_context_ptr(),
    };
  }

  /** Runs a script up to its first `await`. A later throw rejects the promise. */
  evaluate(js: string, file: string): { readonly promise: Pointer } | { readonly thrown: Pointer } {
    const code = this.#library._writeString(js);
    const name = this.#library._writeString(file);
    const result = this.#exports.qjs_eval(code.ptr, code.len, name.ptr, EvalFlags.ASYNC | EvalFlags.STRICT);
    this.#exports.wasm_free(code.ptr);
    this.#exports.wasm_free(name.ptr);
    if (this.#exports.qjs_is_exception(result) === 0) return { promise: result };
    this.free(result);
    return { thrown: this.#exports.qjs_get_exception() };
  }

  /** Runs one job. Returns false if there is none. */
  runJob(): boolean {
    if (this.#exports.qjs_is_job_pending() === 0) return false;
    if (this.#exports.qjs_execute_pending_job() < 0) this.#forgetException();
    return true;
  }

  /** Calls a function of the prelude with numbers and texts. */
  enter(entry: Entry, ...values: readonly (number | string)[]): void {
    const handles = values.map((each) =>
      typeof each === "number" ? this.#library.newNumber(each) : this.#library.newString(each),
    );
    const pointers = handles.map((each) => each.ptr);
    const result = this.#call(entry, pointers);
    if (result !== undefined) this.free(result);
    for (const each of handles) each.dispose();
  }

  /** Calls a function of the prelude with guest values. Returns its text; undefined if it returned none. */
  read(entry: Entry, ...values: readonly Pointer[]): string | undefined {
    const result = this.#call(entry, values);
    if (result === undefined) return undefined;
    const text = this.#exports.qjs_is_string(result) !== 0 ? this.text(result) : undefined;
    this.free(result);
    return text;
  }

  /** Returns undefined if it threw: it ran out of memory or stack, or was interrupted. */
  #call(entry: Entry, values: readonly Pointer[]): Pointer | undefined {
    const list = this.#exports.wasm_malloc(Math.max(1, values.length) * 4);
    const view = new DataView(this.#exports.memory.buffer);
    for (const [index, pointer] of values.entries()) view.setUint32(list + index * 4, pointer, true);
    const { entries, nothing } = this.#baseline;
    const result = this.#exports.qjs_call(entries[entry], nothing, values.length, list);
    this.#exports.wasm_free(list);
    if (this.#exports.qjs_is_exception(result) === 0) return result;
    this.free(result);
    this.#forgetException();
    return undefined;
  }

  #forgetException(): void {
    this.free(this.#exports.qjs_get_exception());
  }

  /**
   * Reads a string that the prelude made, which is well formed. Returns undefined if the guest has no memory left to
   * copy it.
   */
  text(pointer: Pointer): string | undefined {
    const length = this.#exports.wasm_malloc(4);
    const start = this.#exports.qjs_get_string_len(pointer, length);
    const bytes = new DataView(this.#exports.memory.buffer).getUint32(length, true);
    this.#exports.wasm_free(length);
    if (start === 0) {
      this.#forgetException();
      return undefined;
    }
    const text = Buffer.from(this.#exports.memory.buffer, start, bytes).toString("utf8");
    this.#exports.qjs_free_cstring(start);
    return text;
  }

  number(pointer: Pointer): number {
    return this.#exports.qjs_get_float64(pointer);
  }

  /** Returns the identity of an object, which does not depend on the pointer. */
  identity(pointer: Pointer): number {
    return this.#exports.qjs_get_value_ptr(pointer);
  }

  stateOf(promise: Pointer): "pending" | "fulfilled" | "rejected" {
    return (["pending", "fulfilled", "rejected"] as const)[this.#exports.qjs_promise_state(promise)]!;
  }

  resultOf(promise: Pointer): Pointer {
    return this.#exports.qjs_promise_result(promise);
  }

  brandOf(value: Pointer): (typeof BRANDS)[number] {
    for (const [brand, test] of TESTS) if (this.#exports[test](value) !== 0) return brand;
    return this.#exports.qjs_is_promise(value) === 0 ? "" : this.stateOf(value);
  }

  free(pointer: Pointer): void {
    this.#exports.qjs_free_value(pointer);
  }

  dispose(): void {
    this.#library.dispose();
  }
}

/** Builds the heap of an image in the memory of a VM with the baseline, so that a large one is not copied again. */
function fill(exports: Exports, baseline: Heap, deltas: readonly Uint8Array[]): void {
  const { memory } = exports;
  const heap = heapOf(baseline, deltas, (length) => {
    const missing = length - memory.buffer.byteLength;
    if (missing > 0) memory.grow(missing / WASM_PAGE);
    return new Uint8Array(memory.buffer);
  });
  // The steps of the library when it restores a heap, in its order, because each of them writes into the heap.
  exports.qjs_set_runtime_and_context(heap.runtimePtr, heap.contextPtr);
  exports.__stack_pointer.value = heap.stackPointer;
  exports.qjs_set_memory_limit(LIMITS.memoryLimit);
  exports.qjs_set_max_stack_size(LIMITS.maxStackSize);
  exports.qjs_set_interrupt_handler(1);
  exports.qjs_set_promise_rejection_handler(1);
}
const WASM_PAGE = 65_536;

const TESTS = [
  ["proxy", "qjs_is_proxy"],
  ["map", "qjs_is_map"],
  ["set", "qjs_is_set"],
  ["date", "qjs_is_date"],
  ["regexp", "qjs_is_regexp"],
  ["error", "qjs_is_error"],
] as const;
