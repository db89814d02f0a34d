import type { SessionId } from "../../model/ids.ts";
import type { Subscription } from "../../model/trigger.ts";
import { keyText } from "../rows/codec.ts";
import {
  bodyOf,
  COMMITS,
  SCHEDULE,
  type SourceColumns,
  type SubscriptionBody,
  sourceColumns,
  toSubscription,
} from "../rows/trigger.ts";
import { requireFit, seal, sumIn, sumOf, unseal } from "./checksum.ts";

/** What the indexes over subscriptions are for; a query that is to use one has the same words. */
export const IS_DUE = `is_enabled = 1 AND kind >= ${SCHEDULE} AND next IS NOT NULL`;
export const IS_COMMITS = `is_enabled = 1 AND kind = ${COMMITS}`;

/** A subscription's row: what finds it and what moves on. The rest is in `body`. The checksum is over all columns. */
export interface SubscriptionRow extends SourceColumns {
  readonly n: number;
  readonly session: number;
  readonly id: string;
  readonly incarnation: string;
  readonly revision: number;
  readonly is_enabled: number;
  readonly next: number | null;
  readonly after: string | null;
  readonly body: string;
  readonly seal: number;
}
export interface FoundRow extends SubscriptionRow {
  readonly sessionId: SessionId;
}

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
  return withSeal({
    n,
    session,
    id: keyText(id),
    incarnation: keyText(incarnation),
    revision,
    is_enabled: isEnabled ? 1 : 0,
    ...sourceColumns(on),
    next: next ?? null,
    after: after ?? null,
    body: seal(bodyOf(subscription), n),
  });
}

export function requireSubscription<Row extends SubscriptionRow>(row: Row): Row {
  requireFit(row.seal, columnsOf(row), itemOf(row));
  return row;
}

export function subscriptionOf(row: FoundRow): Subscription {
  const { is_enabled, body, n } = requireSubscription(row);
  return toSubscription(row, is_enabled === 1, unseal<SubscriptionBody>(body, n, itemOf(row)));
}

/** What is wrong with a row that can be read. */
export function rowProblem(row: FoundRow): string | undefined {
  const { on, next, after } = subscriptionOf(row);
  const right = sourceColumns(on);
  if (row.kind !== right.kind || row.event !== right.event || row.source !== right.source)
    return "it is found by what it does not wait for";
  if (next !== undefined && row.kind < SCHEDULE) return "it has a next time and is no schedule";
  return after !== undefined && row.kind !== COMMITS ? "it is told of commits that it does not wait for" : undefined;
}
