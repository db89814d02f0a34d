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
import { parsed } from "./text.ts";

/** What the indexes over subscriptions are for; a query that is to use one has the same words. */
export const IS_DUE = `is_enabled AND kind >= ${SCHEDULE} AND next IS NOT NULL`;
export const IS_COMMITS = `is_enabled AND kind = ${COMMITS}`;

/** A subscription's row: what finds it and what moves on. The rest is in `body`. */
export interface SubscriptionRow extends SourceColumns {
  readonly n: number;
  readonly session: number;
  readonly id: string;
  readonly incarnation: string;
  readonly revision: number;
  readonly is_enabled: boolean;
  readonly next: number | null;
  readonly after: string | null;
  readonly body: string;
}
export interface FoundRow extends SubscriptionRow {
  readonly sessionId: SessionId;
}

/** What is written of a subscription, whichever number it has. */
export const columnsOf = (subscription: Subscription): Omit<SubscriptionRow, "n" | "session"> => {
  const { id, incarnation, revision, isEnabled, on, next, after } = subscription;
  return {
    ...{ id: keyText(id), incarnation: keyText(incarnation), revision, is_enabled: isEnabled },
    ...sourceColumns(on),
    ...{ next: next ?? null, after: after ?? null, body: JSON.stringify(bodyOf(subscription)) },
  };
};

export function subscriptionOf(row: FoundRow): Subscription {
  return toSubscription(row, row.is_enabled, parsed<SubscriptionBody>(row.body, `The subscription ${row.id}`));
}
