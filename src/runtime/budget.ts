import type { Allowance } from "../model/config.ts";
import { describe, RuntimeError } from "../model/errors.ts";
import type { SessionId } from "../model/ids.ts";
import { costOf, type PriceTable, type Spent, tokensIn, totalOf } from "../model/usage.ts";
import type { Store } from "../stores/store.ts";
import type { Failure } from "../turn/event.ts";

/** A turn that spends. */
export interface Spender {
  /** Its own so far; nothing of it is committed. */
  spentSoFar(): readonly Spent[];
}

/** Turns under way in this process, by the root of their session's tree: what they have spent counts before it is kept. */
export type Spenders = Map<SessionId, Set<Spender>>;

/** Why a model call may not be made: what its turn, or its tree, may spend is spent. */
export function overdrawn(
  of: "turn" | "tree",
  { tokens, cost }: Allowance,
  spent: readonly Spent[],
  prices: PriceTable,
  model: string,
): Failure | undefined {
  if (tokens !== undefined) {
    const used = tokensIn(totalOf(spent));
    if (used >= tokens) return limit("limit.tokens", { of, spent: used, max: tokens });
  }
  if (cost === undefined) return undefined;
  const unpriced = [model, ...spent.map((each) => each.model)].find((each) => !Object.hasOwn(prices, each));
  if (unpriced !== undefined) throw new RuntimeError("price.unknown", { model: unpriced });
  const used = costOf(spent, prices) ?? 0;
  return used >= cost ? limit("limit.money", { of, spent: used, max: cost }) : undefined;
}

const limit = (
  code: "limit.tokens" | "limit.money",
  details: { readonly of: string; readonly spent: number; readonly max: number },
): Failure => ({ class: "limit", code, message: describe(code, details).message });

/** What the tree has spent: what is kept, and what its turns here have spent since. */
export async function spentInTree(store: Store, spenders: Spenders, root: SessionId): Promise<readonly Spent[]> {
  const running = [...(spenders.get(root) ?? [])].flatMap((turn) => turn.spentSoFar());
  return [...(await store.booked(root)), ...running];
}
