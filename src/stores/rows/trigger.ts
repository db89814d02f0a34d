import { RuntimeError } from "../../model/errors.ts";
import { asCursor, asJobId, asTurnId, type SessionId } from "../../model/ids.ts";
import type { Delivery, Subscription, TriggerSource } from "../../model/trigger.ts";
import { fromKeyText, keyText } from "./codec.ts";

/** What rows say of subscriptions and of what has happened, in every store of rows. */

/** What a subscription waits for, as `kind` has it: schedules come last, so that one comparison tells them. */
const KINDS: readonly TriggerSource["kind"][] = ["event", "commits", "cron", "interval"];
export const COMMITS = 1;
export const SCHEDULE = 2;
export const kindOf = (kind: TriggerSource["kind"]): number => KINDS.indexOf(kind);

/** What a subscription is found by. `event` and `source` are of an event: its name, and the only source it may come from. */
export interface SourceColumns {
  readonly kind: number;
  readonly event: string | null;
  readonly source: string | null;
}

export const sourceColumns = (on: TriggerSource): SourceColumns => ({
  kind: kindOf(on.kind),
  event: on.kind === "event" ? keyText(on.event) : null,
  source: on.kind === "event" && on.source !== undefined ? keyText(on.source) : null,
});

/** What of a subscription has no column of its own. */
export type SubscriptionBody = Pick<Subscription, "label" | "on" | "starts" | "createdAt" | "changedAt">;

export const bodyOf = ({ label, on, starts, createdAt, changedAt }: Subscription): SubscriptionBody => ({
  ...{ label, on, starts, createdAt, changedAt },
});

interface SubscriptionColumns {
  readonly id: string;
  readonly sessionId: SessionId;
  readonly incarnation: string;
  readonly revision: number;
  readonly next: number | null;
  readonly after: string | null;
}

export function toSubscription(row: SubscriptionColumns, isEnabled: boolean, body: SubscriptionBody): Subscription {
  const { sessionId, revision, next, after } = row;
  const { label, on, starts, createdAt, changedAt } = body;
  return {
    ...{ id: fromKeyText(row.id), sessionId, revision, incarnation: fromKeyText(row.incarnation), label, on, starts },
    ...{ isEnabled, createdAt, changedAt },
    ...(next === null ? {} : { next }),
    ...(after === null ? {} : { after: asCursor(after) }),
  };
}

/** Those of the rows that can be read. If none can, the first says why: what is damaged must not keep others waiting. */
export function readable<Row>(rows: readonly Row[], read: (row: Row) => Subscription): readonly Subscription[] {
  const damage: unknown[] = [];
  const found = rows.flatMap((row): readonly Subscription[] => {
    try {
      return [read(row)];
    } catch (error) {
      if (!(error instanceof RuntimeError && error.code === "store.corrupt")) throw error;
      damage.push(error);
      return [];
    }
  });
  if (found.length === 0 && damage.length > 0) throw damage[0];
  return found;
}

/** The subscription of this id, if there is one, is at another revision than the one that was to be changed. */
export const triggerConflict = (id: string, found: { readonly revision: number } | undefined): RuntimeError =>
  new RuntimeError("trigger.conflict", found === undefined ? { id } : { id, revision: found.revision });

// ── What has happened ───────────────────────────────────────────────────────────────────────────────────────────────

/** What begins the source of everything that only one subscription waits for. */
const OWN = "subscription:";

/** The source, as it is kept, of what only the subscription of this kept incarnation waits for. */
export const ownSource = (incarnation: string): string => keyText(OWN + fromKeyText(incarnation));

/** Whether only one subscription waits for what comes from this kept source. */
export const isOwn = (source: string): boolean => fromKeyText(source).startsWith(OWN);

interface DeliveryColumns {
  readonly sessionId: SessionId;
  readonly subscription: string;
  readonly revision: number;
  readonly job: string | null;
  readonly turn: string | null;
}

export const toDelivery = (row: DeliveryColumns, isLost: boolean): Delivery => ({
  ...{ sessionId: row.sessionId, subscription: fromKeyText(row.subscription), revision: row.revision },
  ...(row.job === null ? {} : { jobId: asJobId(fromKeyText(row.job)) }),
  ...(row.turn === null ? {} : { turnId: asTurnId(fromKeyText(row.turn)) }),
  ...(isLost ? { lost: "full" } : {}),
});
