// `runtime.usage`: adds up what turns have spent, by time, model, session and tool.
// Not its job: what one session has spent, which the store books (`sessions.usage`).
// usage-1: A report reads a bounded number of turns, the latest first, and rests between slices.
import { RuntimeError } from "../../model/errors.ts";
import type { SessionId } from "../../model/ids.ts";
import { defined } from "../../model/json.ts";
import type { Known } from "../../model/known.ts";
import type { TurnRecord } from "../../model/turn-record.ts";
import { addUsage, NO_USAGE, tokensIn, type Usage } from "../../model/usage.ts";
import type { StoredTurn } from "../../stores/store.ts";
import { checkedOwner, requireOptions } from "../checks.ts";
import type { Core } from "../core.ts";
import { resting } from "../resting.ts";
import { OLDER_MAX, readTimeline, recordOf, SLICE, timeOf } from "./turns.ts";

/** Which turns a report covers: those that started at `since` or later, and before `until`. */
export interface UsagePage {
  /** Milliseconds since 1970. Default: 24 hours before `until`. */
  readonly since?: number | undefined;
  /** Default: now. */
  readonly until?: number | undefined;
  /** Only turns of sessions with this owner. */
  readonly owner?: string | undefined;
}
const PAGE: Known<UsagePage> = { since: true, until: true, owner: true };

/** What turns have spent, in steps of time. Only ended turns count. */
export interface UsageReport {
  readonly since: number;
  readonly until: number;
  /** The length of a step: an hour, or a day when the time is longer than three days. Days begin at midnight in UTC. */
  readonly stepMs: number;
  /** A row for each step and model with turns, in the order of time. */
  readonly rows: readonly UsageRow[];
  /** The sessions that spent the most: at most 20. */
  readonly sessions: readonly (Spending & { readonly id: SessionId; readonly label?: string })[];
  /** Tool calls of the latest `toolTurns` turns whose journal is kept. Each attempt is a call. */
  readonly tools: readonly ToolSpending[];
  readonly toolTurns: number;
  /** There are more turns than one report reads: older ones are left out. */
  readonly isPartial: boolean;
}
interface ToolSpending {
  readonly name: string;
  readonly calls: number;
  readonly failed: number;
  /** How long all calls took. */
  readonly ms: number;
}
interface Spending {
  readonly turns: number;
  readonly usage: Usage;
  /** Omitted if a price is unknown. */
  readonly cost?: number;
}
export interface UsageRow extends Spending {
  /** The beginning of the step. */
  readonly at: number;
  /** The model of the turn. What its nested calls spent on other models is included. */
  readonly model: string;
  /** Turns that failed or were stopped. */
  readonly failed: number;
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
/** usage-1 */
const LOOKED_MAX = 20_000;
const TOOL_TURNS_MAX = 200;
const SESSIONS_MAX = 20;
/** An early version recorded no model. */
const UNKNOWN_MODEL = "unknown";

export async function usageOf(core: Core, page: UsagePage): Promise<UsageReport> {
  requireOptions("usage", page, PAGE);
  const { until = core.world.now() } = page;
  const { since = until - DAY_MS, owner } = page;
  const end = page.until ?? until + 1; // A turn that has started in this millisecond counts.
  for (const [option, value] of Object.entries({ since, until })) {
    const problem = "it must be a time in milliseconds";
    if (!Number.isFinite(value)) throw new RuntimeError("options.invalid", { option, problem });
  }
  if (owner !== undefined) checkedOwner(owner);
  const stepMs = until - since > 3 * DAY_MS ? DAY_MS : HOUR_MS;
  const rest = resting();
  const rows = new Map<string, Sum & Pick<UsageRow, "at" | "model">>();
  const sessions = new Map<SessionId, Sum>();
  const withJournal: StoredTurn[] = [];
  let [looked, older, isPartial] = [0, 0, false];
  for (let before: string | undefined; ; ) {
    const turns = await core.store.turns.list({ max: SLICE, ...timeOf(core), ...defined({ before }) });
    for (const stored of turns) {
      const record = recordOf(core, stored);
      const at = record.startedAt ?? record.endedAt;
      if (at === undefined) continue; // It has not ended.
      older = at < since ? older + 1 : 0;
      if (at < since || at >= end || (owner !== undefined && stored.owner !== owner)) continue;
      const { model = UNKNOWN_MODEL, sessionId } = record;
      const step = Math.floor(at / stepMs) * stepMs;
      const row = rows.get(`${step} ${model}`) ?? { ...newSum(), at: step, model };
      const session = sessions.get(sessionId) ?? newSum();
      rows.set(`${step} ${model}`, row);
      sessions.set(sessionId, session);
      for (const sum of [row, session]) add(sum, record);
      if (record.hasJournal && withJournal.length < TOOL_TURNS_MAX) withJournal.push(stored);
    }
    looked += turns.length;
    before = turns.at(-1)?.cursor;
    isPartial = looked >= LOOKED_MAX && turns.length === SLICE;
    if (isPartial || turns.length < SLICE || older >= OLDER_MAX) break;
    await rest();
  }
  return {
    ...{ since, until, stepMs, isPartial, ...(await toolsIn(core, withJournal, rest)) },
    rows: [...rows.values()]
      .sort((a, b) => a.at - b.at || (a.model < b.model ? -1 : 1))
      .map(({ at, model, failed, ...sum }) => ({ at, model, failed, ...spendingOf(sum) })),
    sessions: await topOf(core, sessions, rest),
  };
}

// ── Sums ────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Sum {
  turns: number;
  failed: number;
  usage: Usage;
  /** Undefined as soon as one price is unknown. */
  cost: number | undefined;
}
const newSum = (): Sum => ({ turns: 0, failed: 0, usage: NO_USAGE, cost: 0 });

function add(sum: Sum, { usage = NO_USAGE, cost, outcome }: TurnRecord): void {
  sum.turns += 1;
  if (outcome === "failed" || outcome === "stopped") sum.failed += 1;
  sum.usage = addUsage(sum.usage, usage);
  sum.cost = sum.cost === undefined || cost === undefined ? undefined : sum.cost + cost;
}

const spendingOf = ({ turns, usage, cost }: Omit<Sum, "failed">): Spending => ({ turns, usage, ...defined({ cost }) });

/** By their cost, or by their tokens if a price is unknown. */
async function topOf(
  core: Core,
  sessions: ReadonlyMap<SessionId, Sum>,
  rest: () => Promise<void>,
): Promise<UsageReport["sessions"]> {
  const all = [...sessions];
  const isPriced = all.every(([, { cost }]) => cost !== undefined);
  const sizeOf = ({ usage, cost = 0 }: Sum): number => (isPriced ? cost : tokensIn(usage));
  const top: UsageReport["sessions"][number][] = [];
  for (const [id, sum] of all.sort(([, a], [, b]) => sizeOf(b) - sizeOf(a)).slice(0, SESSIONS_MAX)) {
    await rest();
    const label = (await core.store.load(id))?.config.label;
    top.push({ id, ...defined({ label }), ...spendingOf(sum) });
  }
  return top;
}

// ── Tools ───────────────────────────────────────────────────────────────────────────────────────────────────────────

async function toolsIn(
  core: Core,
  turns: readonly StoredTurn[],
  rest: () => Promise<void>,
): Promise<Pick<UsageReport, "tools" | "toolTurns">> {
  const tools = new Map<string, { -readonly [K in keyof ToolSpending]: ToolSpending[K] }>();
  let toolTurns = 0;
  for (const stored of turns) {
    await rest();
    const { items, isExact } = (await readTimeline(core, stored)) ?? { items: [], isExact: false };
    if (!isExact) continue;
    toolTurns += 1;
    for (const item of items) {
      if (item.kind !== "tool") continue;
      const { name } = item.call;
      const tool = tools.get(name) ?? { name, calls: 0, failed: 0, ms: 0 };
      tools.set(name, tool);
      tool.calls += 1;
      if (item.error !== undefined || item.output?.kind === "failure") tool.failed += 1;
      tool.ms += Math.max(0, (item.endedAt ?? item.startedAt) - item.startedAt);
    }
  }
  return { tools: [...tools.values()].sort((a, b) => b.calls - a.calls || (a.name < b.name ? -1 : 1)), toolTurns };
}
