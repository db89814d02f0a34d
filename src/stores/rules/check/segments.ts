import { corrupt } from "../../rows/faults.ts";
import { attachmentsIn } from "../../rows/named-blobs.ts";
import { OPERATION, type OperationRow, SEGMENT, SESSION, type SegmentRow, TURN, type TurnRow } from "../../tables.ts";
import { entriesIn } from "../graph.ts";
import type { Port } from "../port.ts";
import { all, type Rule } from "../rule.ts";
import { eachPage, guarded, type Lookup, lookUp, type Report, RowList } from "./report.ts";

/**
 * Compares the counted users of each segment with those that exist. A segment is dropped from the map when its count
 * reaches zero, so the map stays about as long as the list of sessions, however long their histories are.
 */
export class Users {
  readonly #left = new Map<number, number>();

  count(segment: number, by: number): void {
    const left = (this.#left.get(segment) ?? 0) + by;
    if (left === 0) this.#left.delete(segment);
    else this.#left.set(segment, left);
  }

  report(report: Report): void {
    const listed = new RowList();
    for (const segment of this.#left.keys()) listed.add(segment);
    listed.report(report, "The segments", (segments) => `the users of ${segments} are miscounted`);
  }
}

/** Checks the graph of nodes. `users` contains the heads of all sessions if `hasHeads`. */
export function* checkSegments(db: Port, report: Report, users: Users, hasHeads: boolean): Rule<void> {
  const misnamed = new RowList();
  const isSound = yield* eachPage(db, report, SEGMENT, (rows) => checkPage(db, report, rows, users, misnamed), {
    isWhole: true,
    max: 50,
  });
  // A damaged row may use any segment, so the counts prove nothing.
  if (isSound && hasHeads) users.report(report);
  misnamed.report(report, "The segments", (segments) => `${segments} cannot be found by what made them`);
}

function* checkPage(
  db: Port,
  report: Report,
  rows: readonly SegmentRow[],
  users: Users,
  misnamed: RowList,
): Rule<void> {
  const numbers = rows.map(({ n }) => n);
  const [above, turns, operations] = yield* all([
    lookUp(
      db,
      SEGMENT,
      rows.map(({ parent }) => parent),
    ),
    lookUp(db, TURN, numbers),
    lookUp(db, OPERATION, numbers),
  ]);
  for (const row of rows) {
    users.count(row.n, row.users - (row.isBranch ? 1 : 0));
    if (row.parent !== null) users.count(row.parent, -1);
    report.look(`Segment ${row.n}`, () => {
      report.name(`Segment ${row.n}`, attachmentsIn(entriesIn(row)));
      return undefined;
    });
    report.look(`Segment ${row.n}`, () => placeProblem(row, above));
  }
  yield* guarded(db, report, "The segments", checkNames(db, rows, turns, operations, misnamed));
}

function placeProblem({ parent, parentIndex, depth }: SegmentRow, segments: Lookup<SegmentRow>): string | undefined {
  if (parent === null) return depth === 0 ? undefined : "it has no parent";
  if (!segments.has(parent)) throw corrupt(`Segment ${parent}`, "it is missing");
  const above = segments.row(parent);
  if (above === undefined) return undefined;
  if (parentIndex === null || parentIndex < 0 || parentIndex >= above.size) return "its parent is not a node";
  return depth === above.depth + 1 ? undefined : "its depth is wrong";
}

/**
 * Checks that the segment of a turn is found by its turn, and each other segment by its name. Segments of deleted
 * sessions are found by name too.
 */
function* checkNames(
  db: Port,
  rows: readonly SegmentRow[],
  turns: Lookup<TurnRow>,
  operations: Lookup<OperationRow>,
  misnamed: RowList,
): Rule<void> {
  const left = rows.filter(({ n }) => !turns.has(n) && !operations.has(n));
  const sessions = yield* lookUp(
    db,
    SESSION,
    left.map(({ session }) => session),
  );
  for (const row of left) if (sessions.has(row.session)) misnamed.add(row.n);
  for (const { n, isNamed, name } of rows) {
    const made = turns.row(n)?.id ?? operations.row(n)?.name ?? name;
    if (isNamed === turns.has(n) || name !== made) misnamed.add(n);
  }
}
