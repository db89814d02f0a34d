// What the host and a worker say to each other: one request at a time, and one answer to each. JSON crosses as text, which
// is faster than a copy of its objects and keeps every key as it is.

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

/** What a worker is given when it starts. */
export interface Given {
  readonly wasm: WasmModule;
  /** One number, which both sides see at once: the guest that nobody wants any more, while it computes; else -1. */
  readonly unwanted: Int32Array<SharedArrayBuffer>;
}

export type Request = { readonly guest: number } & (
  | { readonly kind: "open"; readonly deltas: readonly Uint8Array[]; readonly bounds: CellBounds }
  | { readonly kind: "start"; readonly cell: SentCell }
  | { readonly kind: "deliver"; readonly delivery: SentDelivery }
  | { readonly kind: "image" }
  | { readonly kind: "close" }
);

/** A cell, with its surroundings and its surface as JSON text; no surroundings are an empty text. */
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

/** `bytes` is what the guest holds then. After an answer that `isLast` the worker must be replaced. */
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
