import { attachmentsIn } from "../../rows/named-blobs.ts";
import { COMMITS, kindOf, SCHEDULE } from "../../rows/trigger.ts";
import {
  DELIVERY,
  type DeliveryRow,
  OCCURRENCE,
  type OccurrenceRow,
  SESSION,
  SUBSCRIPTION,
  type SubscriptionRow,
} from "../../tables.ts";
import type { Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";
import { eachPage, guarded, lookUp, type Report, RowList } from "./report.ts";
import { MissingSessions } from "./sessions.ts";

/** Checks subscriptions, occurrences and deliveries. */
export function* checkTriggers(db: Port, report: Report): Rule<void> {
  const missing = new MissingSessions();
  yield* eachPage(db, report, SUBSCRIPTION, function* (rows) {
    for (const row of rows) {
      const item = `The subscription ${row.id}`;
      report.look(item, () => {
        report.name(item, attachmentsIn(row.body.starts));
        return subscriptionProblem(row);
      });
    }
    yield* missing.look(db, rows);
  });
  missing.report(report, SUBSCRIPTION);
  yield* checkOccurrences(db, report);
}

function subscriptionProblem({ kind, event, source, next, after, body: { on } }: SubscriptionRow): string | undefined {
  const [name, from = null] = on.kind === "event" ? [on.event, on.source] : [null];
  if (kind !== kindOf(on.kind) || event !== name || source !== from) return "it is found by what it does not wait for";
  if (next !== null && kind < SCHEDULE) return "it has a next time and is not a schedule";
  return after !== null && kind !== COMMITS
    ? "it has a place among the commits and does not wait for commits"
    : undefined;
}

function* checkOccurrences(db: Port, report: Report): Rule<void> {
  yield* eachPage(db, report, OCCURRENCE, function* (rows) {
    for (const row of rows) report.name(itemOf(row), attachmentsIn(row.payload));
    yield* all(rows.map((row) => guarded(db, report, itemOf(row), checkDeliveries(db, report, row))));
  });
  const [unowned, missing] = [new RowList(), new MissingSessions()];
  yield* eachPage(db, report, DELIVERY, function* (rows) {
    const [occurrences] = yield* all([
      lookUp(
        db,
        OCCURRENCE,
        rows.map(({ occurrence }) => occurrence),
      ),
      missing.look(db, rows),
    ]);
    for (const { occurrence } of rows) if (!occurrences.has(occurrence)) unowned.add(occurrence);
  });
  unowned.report(report, "The table delivery", (occurrences) => `the occurrences ${occurrences} are missing`);
  missing.report(report, DELIVERY);
}

const itemOf = ({ id }: OccurrenceRow): string => `The occurrence ${id}`;

function* checkDeliveries(db: Port, report: Report, row: OccurrenceRow): Rule<void> {
  const damage: unknown[] = [];
  const found: readonly DeliveryRow[] = yield* db.scan(DELIVERY, "occurrence", [row.n], { damage });
  for (const error of damage) report.thrown(itemOf(row), error);
  const count = found.length + damage.length;
  if ((row.deliveries ?? count) !== count) report.add(itemOf(row), "some of its deliveries are missing");
  const sessions = yield* lookUp(
    db,
    SESSION,
    found.map(({ session }) => session),
  );
  if (!found.every(({ session }) => sessions.has(session)))
    report.add(itemOf(row), "the session of a delivery is missing");
}
