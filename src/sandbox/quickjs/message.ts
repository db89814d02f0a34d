// Messages between the host and a worker: one request at a time, with one answer each. JSON is sent as text, which is
// faster than copying objects and keeps every key unchanged.

import type { Code } from "../../model/errors.ts";
import type {
  Bound,
  CellBounds,
  CellProblem,
  Delivery,
  Ended,
  GuestCall,
  GuestCell,
  GuestError,
  GuestSleep,
  Surroundings,
} from "../sandbox.ts";
import type { WasmModule } from "./engine.ts";

/** What a worker receives at its start. */
export interface WorkerInput {
  readonly wasm: WasmModule;
  /** A number in shared memory: the computing guest that is no longer wanted; otherwise -1. */
  readonly unwanted: Int32Array<SharedArrayBuffer>;
}

export type Request = { readonly guest: number } & (
  | { readonly kind: "open"; readonly deltas: readonly Uint8Array[]; readonly bounds: CellBounds }
  | { readonly kind: "start"; readonly cell: SentCell }
  | { readonly kind: "deliver"; readonly delivery: SentDelivery }
  | { readonly kind: "image" }
  | { readonly kind: "close" }
);

/** A cell, with its surroundings and its surface as JSON text. Empty text: no surroundings. */
export type SentCell = Omit<GuestCell, keyof Surroundings | "surface"> & {
  readonly around: string;
  readonly surface?: string;
};

/** A delivery, with its value as JSON text. */
export type SentDelivery = Delivery extends infer Each
  ? Each extends { readonly value: unknown }
    ? Omit<Each, "value"> & { readonly json: string }
    : Each
  : never;

/** `bytes` is the guest's memory after the request. After an answer with `isLast` the worker must be replaced. */
export type Answer = { readonly isLast?: true } & (
  | { readonly kind: "ready" }
  | { readonly kind: "opened"; readonly bytes: number }
  | { readonly kind: "progress"; readonly progress: SentProgress; readonly bytes: number }
  | { readonly kind: "image"; readonly keeps: number; readonly delta: Uint8Array }
  | { readonly kind: "closed" }
  | { readonly kind: "failed"; readonly code?: Code; readonly details?: unknown; readonly message: string }
);

export type SentCall = Omit<GuestCall, "input"> & { readonly input: string };

/** A `Progress`, with its JSON as text. */
export type SentProgress = {
  readonly calls: readonly SentCall[];
  readonly sleeps: readonly GuestSleep[];
  readonly printed: string;
  readonly steps: number;
} & ({ readonly state: "waiting" } | { readonly state: "stopped"; readonly bound: Bound } | (SentEnd & Ended));

export type SentEnd =
  | { readonly state: "done"; readonly value?: string; readonly finish?: string; readonly continues?: string }
  | { readonly state: "threw"; readonly error: GuestError }
  | { readonly state: "stalled" }
  | { readonly state: "refused"; readonly problems: readonly CellProblem[] };
