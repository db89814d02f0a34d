import type { Allowance, Budget } from "../../model/config.ts";
import { describe, RuntimeError } from "../../model/errors.ts";
import type { SessionId } from "../../model/ids.ts";
import { costOf, NO_USAGE, type PriceTable, type Spent, tokensIn, totalOf, type Usage } from "../../model/usage.ts";
import type { Failure } from "../../turn/event.ts";
import type { Core } from "../core.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import type { LiveSession } from "../session/session.ts";

interface Overdrawn {
  readonly of: string;
  readonly spent: number;
  readonly max: number;
}
export type Over = Failure &
  (
    | { readonly code: "limit.tokens" | "limit.money"; readonly details: Overdrawn }
    | { readonly code: "limit.usage-unknown"; readonly details: { readonly calls: number } }
  );

/** Checks the allowance of the turn, then of every tree that the session is in. Returns the first that is used up. */
export async function overBudget(
  core: Core,
  session: LiveSession,
  budget: Budget | undefined,
  /** The model of the next call. Undefined if none is chosen yet. */
  model: string | undefined,
  turn?: LiveTurn,
  /** What failed attempts at the call may have cost. They are booked with the answer of the call. */
  failed: Usage = NO_USAGE,
): Promise<Over | undefined> {
  const attempted =
    model === undefined || tokensIn(failed) === 0 ? [] : [{ source: "", model, usage: failed, calls: 0 }];
  const ofTurn =
    budget?.turn && turn && overdrawn("turn", budget.turn, [...turn.spending.total, ...attempted], core.prices, model);
  if (ofTurn !== undefined) return ofTurn;
  const own = session.ancestors.length === 0 ? budget : await ownBudget(core, session.id);
  const budgets = [[session.id, own] as const, ...(await above(core, session))];
  const unknownCalls = (turn?.spending.unknownCalls ?? 0) + failed.unknownCalls;
  if (unknownCalls > 0 && [budget, ...budgets.map(([, each]) => each)].some((each) => each?.unknown === "stop"))
    return unknownUsage(unknownCalls);
  for (const [id, each] of budgets) {
    if (each?.tree === undefined) continue;
    const over = overdrawn("tree", each.tree, [...(await spentUnder(core, id)), ...attempted], core.prices, model);
    if (over !== undefined) return over;
  }
  return undefined;
}

/** The budget of each ancestor. Only the root falls back to the runtime's. */
async function above(
  core: Core,
  { ancestors }: LiveSession,
): Promise<readonly (readonly [SessionId, Budget | undefined])[]> {
  const found: (readonly [SessionId, Budget | undefined])[] = [];
  for (const [index, id] of ancestors.entries()) {
    const isRoot = index === ancestors.length - 1;
    found.push([id, (await ownBudget(core, id)) ?? (isRoot ? core.config.budget : undefined)]);
  }
  return found;
}

const ownBudget = async ({ store }: Core, id: SessionId): Promise<Budget | undefined> =>
  (await store.load(id))?.config.budget;

/** A tree's spending: its ledgers, plus what turns that run here have not committed yet. */
async function spentUnder({ store, spenders }: Core, id: SessionId): Promise<readonly Spent[]> {
  const isUnder = ({ session }: LiveTurn): boolean => session.id === id || session.ancestors.includes(id);
  const booked = await store.booked(id);
  return [...booked, ...[...spenders].filter(isUnder).flatMap((turn) => turn.spending.total)];
}

function overdrawn(
  of: "turn" | "tree",
  { tokens, cost }: Allowance,
  spent: readonly Spent[],
  prices: PriceTable,
  model: string | undefined,
): Over | undefined {
  if (tokens !== undefined) {
    const used = tokensIn(totalOf(spent));
    if (used >= tokens) return limit("limit.tokens", { of, spent: used, max: tokens });
  }
  if (cost === undefined) return undefined;
  const models = [...(model === undefined ? [] : [model]), ...spent.map((each) => each.model)];
  const unpriced = models.find((each) => !Object.hasOwn(prices, each));
  if (unpriced !== undefined) throw new RuntimeError("price.unknown", { model: unpriced });
  const used = costOf(spent, prices) ?? 0;
  return used >= cost ? limit("limit.money", { of, spent: used, max: cost }) : undefined;
}

function unknownUsage(calls: number): Over {
  const { message, hint } = describe("limit.usage-unknown", { calls });
  // An outcome has no field for a hint.
  return { class: "limit", code: "limit.usage-unknown", message: `${message} ${hint}`, details: { calls } };
}

const limit = (code: "limit.tokens" | "limit.money", details: Overdrawn): Over => ({
  class: "limit",
  code,
  message: describe(code, details).message,
  details,
});
