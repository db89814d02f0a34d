import type { Committed, EndedTurn, Lease } from "../../stores/store.ts";
import type { LiveTurn } from "./turn.ts";

export interface CommittedTurn {
  readonly kind: "committed";
  readonly live: LiveTurn;
  readonly turn: EndedTurn;
  readonly committed: Committed;
  /** The entries are not those of the live state. */
  readonly isSalvaged?: true;
}

/** How a turn releases its session. */
export type Release =
  | CommittedTurn
  | { readonly kind: "parked"; readonly live: LiveTurn }
  /** The run ended without a commit. The turn stays as recorded and can be resumed. */
  | { readonly kind: "lost"; readonly lease: Lease; readonly error: unknown };
