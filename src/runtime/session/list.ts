// `runtime.sessions.list`: finds sessions by owner, tag, state or origin, without opening one.
import { RuntimeError } from "../../model/errors.ts";
import { asSessionId, type NodeId, type SessionId, type TurnId } from "../../model/ids.ts";
import { defined } from "../../model/json.ts";
import type { Known } from "../../model/known.ts";
import { costOf, type PriceTable, type Usage } from "../../model/usage.ts";
import type { ListedSession, SessionState, Store } from "../../stores/store.ts";
import { checkedOwner, checkedTag, requireOptions } from "../checks.ts";
import type { Core } from "../core.ts";

export interface SessionsPage {
  /** Only sessions of this user or tenant. */
  readonly owner?: string | undefined;
  readonly tag?: string | undefined;
  /** `waiting`: the turn is parked. `interrupted`: no process runs the open turn, and any process can resume it. */
  readonly state?: SessionState | undefined;
  /** Only the children of this session. */
  readonly parent?: string | undefined;
  /** Only the forks of this session. */
  readonly origin?: string | undefined;
  /** `activity` and `created` begin with the latest, `id` with the lowest. Default: `id`. */
  readonly order?: "activity" | "created" | "id" | undefined;
  /** With the order `id`: only ids after this one, the last of the previous page. */
  readonly after?: string | undefined;
  /** With the other orders: the `cursor` of the last session of the previous page. */
  readonly before?: string | undefined;
  /** Default: no bound. */
  readonly max?: number | undefined;
}

export interface SessionSummary {
  readonly id: SessionId;
  readonly owner?: string;
  readonly tags?: readonly string[];
  readonly label?: string;
  readonly parentId?: SessionId;
  /** The session from which this one was forked, and the node of the fork. */
  readonly origin?: { readonly sessionId: SessionId; readonly at?: NodeId };
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** When a turn was last opened or a commit last made. */
  readonly activeAt: number;
  readonly state: SessionState;
  /** The beginning of the last text of its latest turn. */
  readonly lastWords?: string;
  readonly turns: number;
  readonly usage: Usage;
  /** In the currency of `prices`; omitted if a price is unknown. */
  readonly cost?: number;
  /** The open turn, in this process or another. */
  readonly openTurn?: TurnId;
  /** The position in the list, for `before`. */
  readonly cursor: string;
}

const PAGE: Known<SessionsPage> = {
  ...{ owner: true, tag: true, state: true, parent: true, origin: true, order: true, after: true, before: true },
  max: true,
};
const STATES: readonly unknown[] = ["idle", "running", "waiting", "interrupted"] satisfies SessionState[];
const ORDERS: readonly unknown[] = ["activity", "created", "id"] satisfies SessionsPage["order"][];

/** The time by which a lease has lapsed. No process but this one uses a store in memory, so none lapses there. */
const timeOf = ({ store, world }: Core): { readonly now?: number } => (store.isDurable ? { now: world.now() } : {});

export async function listSessions(core: Core, page: SessionsPage): Promise<readonly SessionSummary[]> {
  const found = await core.store.list({ ...checkedPage(page), ...timeOf(core) });
  return found.map((session) => summaryOf(session, core.prices));
}

export async function findSession(core: Core, id: string): Promise<SessionSummary | undefined> {
  if (typeof id !== "string") return undefined;
  const [session] = await core.store.list({ id: asSessionId(id), ...timeOf(core) });
  return session && summaryOf(session, core.prices);
}

function checkedPage(page: SessionsPage): NonNullable<Parameters<Store["list"]>[0]> {
  requireOptions("sessions.list", page, PAGE);
  const { owner, tag, state, parent, origin, order = "id", after, before, max } = page;
  const invalid = (option: string, problem: string): never => {
    throw new RuntimeError("options.invalid", { option, problem });
  };
  for (const [option, value] of Object.entries({ after, parent, origin }))
    if (value !== undefined && typeof value !== "string") invalid(option, "it must be an id");
  if (max !== undefined && !(typeof max === "number" && max >= 1 && (max === Infinity || Number.isInteger(max))))
    invalid("max", "it must be a number above 0");
  if (state !== undefined && !STATES.includes(state)) invalid("state", `it must be one of ${STATES.join(", ")}`);
  if (!ORDERS.includes(order)) invalid("order", `it must be one of ${ORDERS.join(", ")}`);
  if (after !== undefined && order !== "id") invalid("after", `the order ${order} takes \`before\``);
  if (before !== undefined && order === "id") invalid("before", "the order id takes `after`");
  if (before !== undefined && typeof before !== "string") invalid("before", "it must be a cursor");
  if (owner !== undefined) checkedOwner(owner);
  if (tag !== undefined) checkedTag(tag);
  return defined({ owner, tag, state, parent, origin, order, after, before, max }) as never;
}

function summaryOf(session: ListedSession, prices: PriceTable): SessionSummary {
  const { id, owner, tags, parentId, origin, createdAt, activeAt, state, words, turns, usage, openTurn, cursor } =
    session;
  const { label } = session.config;
  return defined({
    ...{ id, owner, tags, label, parentId, origin, createdAt, activeAt, state, lastWords: words, turns, usage },
    cost: costOf(session.ledger, prices),
    openTurn,
    cursor,
  });
}
