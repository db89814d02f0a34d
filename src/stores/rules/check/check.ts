import type { Awaitable } from "../../../model/awaitable.ts";
import type { Engine, Finding, Port } from "../port.ts";
import type { Rule } from "../rule.ts";
import { checkBlobs } from "./blobs.ts";
import { checkAwaits, checkJobs, checkOwners } from "./jobs.ts";
import { checkLines } from "./lines.ts";
import { guarded, Report } from "./report.ts";
import { checkSegments, Users } from "./segments.ts";
import { checkDeleted, checkProfiles, checkSessions } from "./sessions.ts";
import { checkTriggers } from "./triggers.ts";
import { checkNotes, checkOperations, checkTurns } from "./turns.ts";
import { checkWaits } from "./waits.ts";

export type { Finding };

export interface CheckOptions {
  /** Maximum number of findings. Default: 100. */
  readonly max?: number;
  /** Also runs slow checks: on SQLite each index is compared with its table. */
  readonly deep?: boolean;
}

/** Reads the whole store as of one moment and returns what is damaged. */
export const checkStore = (engine: Pick<Engine, "read">, options: CheckOptions = {}): Awaitable<readonly Finding[]> =>
  engine.read((db) => check(db, options));

/** Repairs nothing: a person must decide which data to trust. */
export function* check(db: Port, { max = 100, deep = false }: CheckOptions = {}): Rule<readonly Finding[]> {
  const report = new Report(max);
  const users = new Users();
  if (db.problems !== undefined)
    for (const { item, problem } of yield* db.problems(deep, max)) report.add(item, problem);
  yield* guarded(db, report, "The deleted sessions", checkDeleted(db, report));
  const hasHeads = yield* checkSessions(db, report, users);
  yield* checkSegments(db, report, users, hasHeads);
  yield* checkProfiles(db, report);
  const ofTurns = yield* checkTurns(db, report);
  const ofWaits = yield* checkWaits(db, report);
  yield* checkNotes(db, report);
  yield* checkOperations(db, report);
  const ofJobs = yield* checkJobs(db, report);
  yield* checkAwaits(db, report);
  yield* checkOwners(db, report);
  yield* checkLines(db, report);
  yield* checkTriggers(db, report);
  yield* guarded(db, report, "The numbers of rows", checkNumbers(db, report, Math.max(ofTurns, ofWaits), ofJobs));
  yield* checkBlobs(db, report);
  return report.findings;
}

/** Checks that the store does not use the number of a fact or of a change twice. */
function* checkNumbers(db: Port, report: Report, fact: number, change: number): Rule<void> {
  const problem = "a number that was used would be used again";
  if (fact > (yield* db.latestFact())) report.add("The order of facts", problem);
  if (change > (yield* db.latestChange())) report.add("The order of jobs", problem);
}
