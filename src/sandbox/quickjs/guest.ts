// One guest: a VM, and the cells that run in it.
//
// guest-1: The heap's bytes follow from the restored heap and the segments. So a segment treats the VM the same way
// live and on replay. Bounds are checked from outside and can only end the guest.
// guest-2: No callback throws into the guest, because the library would copy a host stack into it.
// guest-3: A guest that was stopped, or whose VM failed, is gone.

import { createHash } from "node:crypto";
import { RuntimeError } from "../../model/errors.ts";
import type { Bound, CellBounds, Ended, GuestError, GuestRead, GuestVariable } from "../sandbox.ts";
import type { Baseline } from "./baseline.ts";
import { Cell } from "./cell.ts";
import { compileCell } from "./compile.ts";
import { hashOfHeap, heapOf, nextDelta } from "./image.ts";
import type { SentCall, SentCell, SentDelivery, SentEnd, SentProgress } from "./message.ts";
import { ASK, BRANDS, REPLY } from "./prelude.ts";
import { withoutPrelude } from "./stack.ts";
import { namesIn } from "./surface.ts";
import { type Pointer, type ValueHandle, Vm } from "./vm.ts";

const INPUT_BYTES_MAX = 1024 * 1024;
const DEPTH_MAX = 500;
const RESULT_CHARS_MAX = 16 * 1024 * 1024;
const VALUE_BYTES_MAX = 4096;
const HASHED_BYTES_MAX = 8 * 1024 * 1024;
const UNHANDLED_MAX = 10;

type Ending = SentEnd & Ended;

const NOTHING = { calls: [], sleeps: [], printed: "", steps: 0 } as const;

export class GuestVm {
  readonly #baseline: Baseline;
  readonly #deltas: readonly Uint8Array[];
  readonly #bounds: CellBounds;
  /** Returns false if nothing waits for the result. */
  readonly #isWanted: () => boolean;
  /** Undefined before the VM is restored, and after the guest has ended. */
  #vm: Vm | undefined;
  #cell: Cell | undefined;
  #now = 0;
  #deadline = 0;
  #isReplay = false;
  #stopped: Bound | undefined;

  static async open(
    baseline: Baseline,
    deltas: readonly Uint8Array[],
    bounds: CellBounds,
    isWanted: () => boolean,
  ): Promise<GuestVm> {
    const guest = new GuestVm(baseline, deltas, bounds, isWanted);
    guest.#vm = await Vm.restore(baseline, deltas, {
      now: () => guest.#now,
      tick: () => guest.#tick(),
      rejected: (promise, reason, isHandled) => guest.#rejected(promise, reason, isHandled),
      asks: (values) => guest.#asked(values),
    });
    return guest;
  }

  private constructor(baseline: Baseline, deltas: readonly Uint8Array[], bounds: CellBounds, isWanted: () => boolean) {
    this.#isWanted = isWanted;
    this.#baseline = baseline;
    this.#deltas = deltas;
    this.#bounds = bounds;
  }

  /** The guest's memory. */
  get bytes(): number {
    return this.#vm?.bytes ?? 0;
  }

  start(cell: SentCell): SentProgress {
    const vm = this.#between();
    const compiled = compileCell(cell.code, cell.surface === undefined ? undefined : namesIn(cell.surface));
    if ("problems" in compiled)
      return { ...NOTHING, state: "refused", problems: compiled.problems, ...this.#hashed(vm) };
    this.#cell = new Cell(cell.file, cell.code);
    return this.#segment(vm, this.#cell, cell, (running) => {
      const seed = createHash("sha256").update(cell.seed).digest();
      const numbers = [0, 4, 8, 12].map((at) => seed.readInt32LE(at));
      vm.enter("begin", ...numbers, cell.acceptFinish ? 1 : 0, cell.around);
      running.code = vm.evaluate(compiled.js, cell.file);
    });
  }

  deliver(delivery: SentDelivery): SentProgress {
    const vm = this.#require();
    const { id } = delivery;
    const cell = this.#cell;
    if (cell?.answer(id, "slept" in delivery) !== true)
      throw new Error(`Nothing in this guest waits for a delivery to ${id}.`);
    return this.#segment(vm, cell, delivery, () => {
      if ("slept" in delivery) vm.enter("wake", id);
      else if ("error" in delivery) vm.enter("fail", id, delivery.error.code, delivery.error.message);
      else if (delivery.json.length > RESULT_CHARS_MAX) vm.enter("fail", id, "result.size", "The result is too long.");
      else vm.enter("deliver", id, delivery.json);
    });
  }

  image(): { readonly keeps: number; readonly delta: Uint8Array } {
    const vm = this.#between();
    const { heap } = this.#baseline;
    return nextDelta(heap, this.#deltas, heapOf(heap, this.#deltas), vm.heap());
  }

  close(): void {
    this.#vm?.dispose();
    this.#vm = undefined;
    this.#cell = undefined;
  }

  #require(): Vm {
    if (this.#vm === undefined) throw new RuntimeError("code.lost", {});
    return this.#vm;
  }

  #between(): Vm {
    const vm = this.#require();
    if (this.#cell !== undefined) throw new Error("A cell of this guest has not ended.");
    return vm;
  }

  #segment(
    vm: Vm,
    cell: Cell,
    { at, isReplay }: { readonly at: number; readonly isReplay?: true | undefined },
    act: (cell: Cell) => void,
  ): SentProgress {
    this.#now = at;
    this.#isReplay = isReplay === true;
    this.#deadline = performance.now() + this.#bounds.segmentMs;
    let ending: Ending | undefined;
    try {
      act(cell);
      this.#drain(vm);
      if (this.#stopped === undefined) ending = this.#end(vm, cell);
      this.#checkBounds();
    } catch {
      // Without a bound from a tick, WASM trapped or the VM is broken.
      this.#stopped ??= "engine";
    }
    const { calls, sleeps, printed } = cell.take();
    const { steps } = cell;
    if (this.#stopped !== undefined) {
      this.close();
      return { ...NOTHING, printed, steps, state: "stopped", bound: this.#stopped };
    }
    return { calls, sleeps, printed, steps, ...(ending ?? { state: "waiting" }) };
  }

  /** Runs one job at a time: a flood of jobs ticks too rarely for ticks alone to stop it. */
  #drain(vm: Vm): void {
    while (this.#stopped === undefined && vm.runJob()) this.#checkBounds();
  }

  /** Ends the cell if nothing that it waits for can come any more. */
  #end(vm: Vm, cell: Cell): Ending | undefined {
    const { code } = cell;
    const state = "thrown" in code ? "rejected" : vm.stateOf(code.promise);
    // Started calls are awaited even after a finish, because nobody would notice a call that was not made.
    const isOver = cell.openCalls === 0 && (cell.over !== undefined || state !== "pending" || !cell.isWaiting);
    if (!isOver) return undefined;
    vm.enter("end");
    const end = this.#outcome(vm, cell, state);
    const unhandled = this.#unhandled(vm, cell);
    this.#drain(vm); // Getters of the thrown value may have queued jobs. They belong to this cell.
    const variables = variablesOf(vm);
    vm.free("thrown" in code ? code.thrown : code.promise);
    this.#cell = undefined;
    const report = { ...(unhandled.length > 0 && { unhandled }), ...(variables.length > 0 && { variables }) };
    return { ...end, ...report, ...this.#hashed(vm) };
  }

  #outcome(vm: Vm, cell: Cell, state: "pending" | "fulfilled" | "rejected"): SentEnd {
    const { code, over } = cell;
    if (over !== undefined) return { state: "done", ...over };
    if ("thrown" in code) return { state: "threw", error: describe(vm, code.thrown, cell) };
    if (state === "pending") return { state: "stalled" };
    const result = vm.resultOf(code.promise);
    const end: SentEnd =
      state === "rejected"
        ? { state: "threw", error: describe(vm, result, cell) }
        : { state: "done", ...this.#value(vm, result) };
    vm.free(result);
    return end;
  }

  #value(vm: Vm, completion: Pointer): { readonly value?: string } {
    const text = vm.read("value", completion);
    if (text === undefined) return {};
    const value = cutBytes(text, VALUE_BYTES_MAX);
    this.#count(value);
    return { value };
  }

  #unhandled(vm: Vm, cell: Cell): readonly GuestError[] {
    // A throw after `finish` or `continueAs` is not the outcome of the cell, so it is reported here.
    if (cell.over === undefined && "promise" in cell.code) cell.rejections.handled(vm.identity(cell.code.promise));
    return cell.rejections.take(UNHANDLED_MAX, (reason) => describe(vm, reason.ptr, cell));
  }

  #hashed(vm: Vm): { readonly heap?: string } {
    return vm.bytes > HASHED_BYTES_MAX ? {} : { heap: hashOfHeap(vm.heap()) };
  }

  #rejected(promise: ValueHandle, reason: ValueHandle, isHandled: boolean): void {
    if (isHandled) this.#cell?.rejections.handled(promise.identity);
    else this.#cell?.rejections.add(promise, reason);
  }

  /** Handles a request of the prelude (guest-2). */
  #asked([ask, ...values]: readonly Pointer[]): number {
    try {
      const vm = this.#require();
      const kind = vm.number(ask!);
      if (kind === ASK.brand) return BRANDS.indexOf(vm.brandOf(values[0]!));
      if (this.#stopped === undefined) return this.#answerAsk(vm, this.#cell!, kind, values);
    } catch {
      this.#stopped ??= "engine";
    }
    return REPLY.stop;
  }

  #answerAsk(vm: Vm, cell: Cell, kind: number, values: readonly Pointer[]): number {
    const [first, second, third] = values as [Pointer, Pointer, Pointer];
    const text = vm.text(first);
    if (text === undefined) return REPLY.noMemory;
    if (kind === ASK.call && Buffer.byteLength(text) > INPUT_BYTES_MAX) return REPLY.tooLong;
    if ((kind === ASK.call || kind === ASK.finish || kind === ASK.continues) && isTooDeep(text)) return REPLY.tooDeep;
    this.#count(text);
    this.#checkBounds();
    if (this.#stopped !== undefined) return REPLY.stop;
    switch (kind) {
      case ASK.call: {
        const call = callOf(vm, cell, text, second, third);
        if (typeof call === "number") return call;
        this.#count(call.tool);
        cell.call(call);
        break;
      }
      case ASK.sleep:
        cell.sleep(vm.number(second));
        break;
      case ASK.clear:
        cell.forget(vm.number(second));
        break;
      case ASK.print:
        cell.printed += text;
        break;
      case ASK.read:
        cell.read(JSON.parse(text) as GuestRead);
        break;
      case ASK.finish:
        cell.over ??= { finish: text };
        break;
      case ASK.continues:
        cell.over ??= { continues: text };
    }
    if (cell.announced > this.#bounds.callsMax) this.#stop("calls");
    return this.#stopped === undefined ? REPLY.done : REPLY.stop;
  }

  #count(text: string): void {
    const cell = this.#cell!;
    cell.outputBytes += Buffer.byteLength(text);
    if (cell.outputBytes > this.#bounds.outputBytesMax) this.#stop("output");
  }

  #tick(): void {
    if (this.#cell !== undefined && ++this.#cell.steps > this.#bounds.stepsMax) this.#stop("steps");
    this.#checkBounds();
    if (!this.#isWanted()) this.#stopped ??= "time";
    if (this.#stopped !== undefined) throw new Error("The guest is to be stopped.");
  }

  #checkBounds(): void {
    if (performance.now() > this.#deadline) this.#stop("time");
    if (this.bytes > this.#bounds.memoryBytesMax) this.#stop("memory");
  }

  #stop(bound: Bound): void {
    if (!this.#isReplay) this.#stopped ??= bound;
  }
}

function callOf(vm: Vm, cell: Cell, input: string, name: Pointer, stack: Pointer): Omit<SentCall, "id"> | number {
  const tool = vm.text(name);
  const frames = vm.text(stack);
  if (tool === undefined || frames === undefined) return REPLY.noMemory;
  const { line, column } = cell.placeIn(frames) ?? { line: 0, column: 0 };
  return { tool, input, line, column };
}

function variablesOf(vm: Vm): readonly GuestVariable[] {
  const json = vm.read("variables");
  const found = json === undefined ? [] : (JSON.parse(json) as readonly (readonly [string, string])[]);
  return found.map(([name, shown]) => ({ name, shown }));
}

/** Returns whether JSON is nested too deeply for its later readers. */
function isTooDeep(json: string): boolean {
  if (json.length < 2 * DEPTH_MAX) return false;
  let depth = 0;
  for (const [token] of json.matchAll(/"(?:[^"\\]|\\.)*"|[[{]|[\]}]/g)) {
    if (token === "[" || token === "{") depth++;
    else if (token === "]" || token === "}") depth--;
    if (depth > DEPTH_MAX) return true;
  }
  return false;
}

function describe(vm: Vm, thrown: Pointer, cell: Cell): GuestError {
  const json = vm.read("describe", thrown);
  if (json === undefined)
    return { name: "Error", message: "There was no memory or stack left to say what was thrown." };
  const { stack, ...error } = JSON.parse(json) as GuestError;
  if (stack === undefined) return error;
  const frames = withoutPrelude(stack);
  return { ...error, ...cell.placeIn(stack), ...(frames !== "" && { stack: frames }) };
}

function cutBytes(text: string, max: number): string {
  if (Buffer.byteLength(text) <= max) return text;
  const bytes = Buffer.from(text);
  let end = max - Buffer.byteLength("…");
  while ((bytes[end]! & 0xc0) === 0x80) end--; // Never splits a character.
  return `${bytes.subarray(0, end).toString("utf8")}…`;
}
