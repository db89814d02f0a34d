import { RuntimeError } from "../../model/errors.ts";
import type { Subscription, TriggerSource } from "../../model/trigger.ts";

/** The values of `kind`: the source of a subscription. Schedules are last, so that one comparison selects them. */
const KINDS: readonly TriggerSource["kind"][] = ["event", "commits", "cron", "interval"];
export const COMMITS = 1;
export const SCHEDULE = 2;
export const kindOf = (kind: TriggerSource["kind"]): number => KINDS.indexOf(kind);

/** The fields of a subscription without a column. */
export type SubscriptionBody = Pick<Subscription, "label" | "on" | "starts" | "createdAt" | "changedAt">;

export const bodyOf = ({ label, on, starts, createdAt, changedAt }: Subscription): SubscriptionBody => ({
  ...{ label, on, starts, createdAt, changedAt },
});

/** The subscription has another revision than the one to change, or does not exist. */
export const triggerConflict = (id: string, found: { readonly revision: number } | undefined): RuntimeError =>
  new RuntimeError("trigger.conflict", found === undefined ? { id } : { id, revision: found.revision });
