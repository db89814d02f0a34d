import { attachmentsIn } from "../rows/named-blobs.ts";
import type { Look } from "./check-jobs.ts";
import type { Connection } from "./connection.ts";
import { deliveriesOf, type OccurrenceRow, payloadIn } from "./occurrences.ts";
import { type FoundRow, requireSubscription, rowProblem, subscriptionOf } from "./trigger-row.ts";

const LOWEST = Number.MIN_SAFE_INTEGER;

/** The subscriptions, what has happened, and what that started. */
export function checkTriggers(db: Connection, look: Look): void {
  look.each<FoundRow>(
    "subscription",
    `SELECT u.*, (SELECT id FROM session WHERE n = u.session) AS sessionId FROM subscription u
       WHERE u.n > ? ORDER BY u.n`,
    [LOWEST],
    ({ n }) => [n],
    (row) => {
      const item = `The subscription ${row.id}`;
      look.at(item, () => void requireSubscription(row));
      look.at(item, () => {
        look.name(item, attachmentsIn(subscriptionOf(row).starts));
        return rowProblem(row);
      });
    },
  );
  look.each<OccurrenceRow>(
    "occurrence",
    "SELECT * FROM occurrence WHERE n > ? ORDER BY n",
    [LOWEST],
    ({ n }) => [n],
    (row) => {
      const item = `The occurrence ${row.id}`;
      look.at(item, () => look.name(item, attachmentsIn(payloadIn(row))));
      look.at(item, () => void deliveriesOf(db, row));
    },
  );
  look.none(
    "The table delivery",
    "SELECT DISTINCT occurrence AS n FROM delivery WHERE occurrence NOT IN (SELECT n FROM occurrence)",
    (occurrences) => `the occurrences ${occurrences} are missing`,
  );
}
