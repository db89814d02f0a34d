import { Subscription } from "../../model/trigger.js";
/** The fields of a subscription without a column. */
type SubscriptionBody = Pick<Subscription, "label" | "on" | "starts" | "createdAt" | "changedAt">;
export { SubscriptionBody };
