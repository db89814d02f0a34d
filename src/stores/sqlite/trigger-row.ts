import { asCursor, type SessionId } from "../../model/ids.ts";
import type { Subscription, TriggerSource } from "../../model/trigger.ts";
import { fromKeyText, keyText } from "../rows/codec.ts";
import { requireFit, seal, sumIn, sumOf, unseal } from "./checksum.ts";

/** What a subscription waits for, as `kind` has it: schedules come last, so that one comparison tells them. */
const KINDS: readonly TriggerSource["kind"][] = ["event", "commits", "cron", "interval"];
const COMMITS = 1;
const SCHEDULE = 2;
export const kindOf = (kind: TriggerSource["kind"]): number => KINDS.indexOf(kind);

/** What the indexes over subscriptions are for; a query that is to use one has the same words. */
export const IS_DUE = `is_enabled = 1 AND kind >= ${SCHEDULE} AND next IS NOT NULL`;
export const IS_COMMITS = `is_enabled = 1 AND kind = ${COMMITS}`;

/** A subscription's row: what finds it and what moves on. The rest is in `body`. The checksum is over all columns. */
export interface SubscriptionRow {
  readonly n: number;
  readonly session: number;
  readonly id: string;
  readonly incarnation: string;
  readonly revision: number;
  readonly is_enabled: number;
  readonly kind: number;
  /** Of an event: its name, and the only source that it is to come from. */
  readonly event: string | null;
  readonly source: string | null;
  readonly next: number | null;
  readonly after: string | null;
  readonly body: string;
  readonly seal: number;
}
export interface FoundRow extends SubscriptionRow {
  readonly sessionId: SessionId;
}
type Body = Pick<Subscription, "label" | "on" | "starts" | "createdAt" | "changedAt">;

const columnsOf = (row: Omit<SubscriptionRow, "seal">) => [
  ...[row.n, row.session, row.id, row.incarnation, row.revision, row.is_enabled, row.kind],
  ...[row.event, row.source, row.next, row.after, sumIn(row.body)],
];

const itemOf = ({ id }: Pick<SubscriptionRow, "id">): string => `The subscription ${id}`;

export const withSeal = (row: Omit<SubscriptionRow, "seal">): SubscriptionRow => ({
  ...row,
  seal: sumOf(columnsOf(row)),
});

export function rowOf(n: number, session: number, subscription: Subscription): SubscriptionRow {
  const { id, incarnation, revision, isEnabled, on, next, after } = subscription;
  const { label, starts, createdAt, changedAt } = subscription;
  const body: Body = { label, on, starts, createdAt, changedAt };
  return withSeal({
    n,
    session,
    id: keyText(id),
    incarnation: keyText(incarnation),
    revision,
    is_enabled: isEnabled ? 1 : 0,
    ...sourceOf(on),
    next: next ?? null,
    after: after ?? null,
    body: seal(body, n),
  });
}

const sourceOf = (on: TriggerSource): Pick<SubscriptionRow, "kind" | "event" | "source"> => ({
  kind: kindOf(on.kind),
  event: on.kind === "event" ? keyText(on.event) : null,
  source: on.kind === "event" && on.source !== undefined ? keyText(on.source) : null,
});

export function requireSubscription<Row extends SubscriptionRow>(row: Row): Row {
  requireFit(row.seal, columnsOf(row), itemOf(row));
  return row;
}

export function subscriptionOf(row: FoundRow): Subscription {
  const { sessionId, revision, next, after } = requireSubscription(row);
  const { label, on, starts, createdAt, changedAt } = unseal<Body>(row.body, row.n, itemOf(row));
  return {
    ...{ id: fromKeyText(row.id), sessionId, revision, incarnation: fromKeyText(row.incarnation), label, on, starts },
    ...{ isEnabled: row.is_enabled === 1, createdAt, changedAt },
    ...(next === null ? {} : { next }),
    ...(after === null ? {} : { after: asCursor(after) }),
  };
}

/** What is wrong with a row that can be read. */
export function rowProblem(row: FoundRow): string | undefined {
  const { on, next, after } = subscriptionOf(row);
  const right = sourceOf(on);
  if (row.kind !== right.kind || row.event !== right.event || row.source !== right.source)
    return "it is found by what it does not wait for";
  if (next !== undefined && row.kind < SCHEDULE) return "it has a next time and is no schedule";
  return after !== undefined && row.kind !== COMMITS ? "it is told of commits that it does not wait for" : undefined;
}
