import type { StoreLaw } from "../law.ts";
import { closingLaws } from "./triggers/closing.ts";
import { occurrenceLaws } from "./triggers/occurrences.ts";
import { scheduleLaws } from "./triggers/schedules.ts";
import { subscriptionLaws } from "./triggers/subscriptions.ts";

/** The promises of `Store.triggers`, and of other methods about triggers. */
export const triggerLaws: readonly StoreLaw[] = [
  ...subscriptionLaws,
  ...scheduleLaws,
  ...occurrenceLaws,
  ...closingLaws,
];
