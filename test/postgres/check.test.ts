import assert from "node:assert/strict";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { type PostgresStore, postgres } from "../../src/stores/postgres.ts";
import { storeLaws } from "../../src/testing/store-laws.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { sample } from "../kit/size.ts";
import { blobOf, fillTables, NAMED } from "../stores/every-table.ts";
import { SharedSchema } from "./schemas.ts";

/** What is done to one row, and what the check says of it, without the numbers of rows. */
const DAMAGE: { readonly [what: string]: readonly [sql: string, ...findings: string[]] } = {
  // Texts that cannot be read.
  "a segment is no JSON": [
    "UPDATE segment SET entries = '[' WHERE name = 'turn-two'",
    "The segment of turn-two: it is not JSON",
  ],
  "an input is no JSON": ["UPDATE turn SET input = 'x' WHERE id = 'turn-next'", "The input input-next: it is not JSON"],
  "an end is no JSON": ["UPDATE turn SET ended = '' WHERE id = 'turn-one'", "The end of turn turn-one: it is not JSON"],
  "a journal is no JSON": [
    "UPDATE journal SET events = 'x' WHERE seq = 1 AND session = (SELECT n FROM session WHERE id = 'busy')",
    "The journal of turn ? at N: it is not JSON",
  ],
  "a configuration is no JSON": [
    "UPDATE profile SET config = 'x' WHERE parent_id = 'busy'",
    "The configuration of session N: it is not JSON",
  ],
  "a job is no JSON": [
    "UPDATE job SET moves = 'x' WHERE id = 'job-failed'",
    "The record of job job-failed: it is not JSON",
  ],
  "a payload is no JSON": [
    "UPDATE occurrence SET payload = '{' WHERE id = 'occurrence-tick'",
    "The occurrence occurrence-tick: it is not JSON",
  ],
  // What rows say of each other.
  "a head is missing": [
    "DELETE FROM segment WHERE name = 'turn-after'",
    "Segment N: it is missing",
    "The segments: the users of N, N are miscounted",
  ],
  "users are miscounted": [
    "UPDATE segment SET users = 9 WHERE name = 'turn-one'",
    "The segments: the users of N are miscounted",
  ],
  "a configuration is missing": [
    "DELETE FROM profile WHERE parent_id = 'busy'",
    "The configuration of session asleep: it is missing",
  ],
  "a journal has lost its end": [
    "DELETE FROM journal WHERE seq = 3",
    "Session busy: the journal of its open turn has N events, not N",
    "The journal of turn N: events at its end are missing",
  ],
  "a journal has a gap": [
    "DELETE FROM journal WHERE seq = 1 AND session = (SELECT n FROM session WHERE id = 'busy')",
    "The journal of turn N at N: events before it are missing",
  ],
  "a lease ends too late": [
    "UPDATE session SET until = 1e15 WHERE id = 'busy'",
    "Session busy: its lease ends too late",
  ],
  "a turn has half an end": ["UPDATE turn SET ended = NULL WHERE id = 'turn-one'", "Turn turn-one: it has half an end"],
  "a note is of no open turn": ["UPDATE note SET turn = 1", "The table note: N: not open"],
  "a wait has no key": [
    "UPDATE wait SET key = NULL WHERE key = 'w2'",
    "The wait W: its key does not tell whether it is still open",
  ],
  "an event of a job is gone": [
    "DELETE FROM job_event WHERE key = 'step/b'",
    "The events of job job-done: some of them are missing",
  ],
  "an owner is gone": [
    "DELETE FROM job_owner",
    ...["running", "bound", "moved"].map((name) => `Job job-${name}: its owner ann is missing`),
  ],
  "nothing leads to a job that awaits": ["DELETE FROM job_await", "Job job-waits: what it awaits does not lead to it"],
  "a line is gone": ["DELETE FROM job_line WHERE n = 2", "What job N has said: there are N lines, not N"],
  "a subscription waits for another event": [
    "UPDATE subscription SET event = 'x' WHERE id = 'watch'",
    "The subscription watch: it is found by what it does not wait for",
  ],
  "an occurrence is gone": [
    "DELETE FROM occurrence WHERE id = 'occurrence-tick'",
    "The table delivery: the occurrences N are missing",
  ],
  "a deleted session is forgotten": ["DELETE FROM gone", "The deleted sessions: there are N, not N"],
  "a blob is another": [
    `UPDATE blob SET data = 'x' WHERE hash = '${blobOf("a node")}'`,
    `The blob ${blobOf("a node")}: its content has another hash`,
  ],
  // Columns and tables that only this store has.
  "what waits is miscounted": [
    "UPDATE session SET waiting = 7 WHERE id = 'busy'",
    "Session busy: N inputs and appends wait, not N",
  ],
  "a journal is longer than its session says": [
    "UPDATE session SET length = 2 WHERE id = 'busy'",
    "Session busy: the journal of its open turn has N events, not N",
  ],
  "an open turn would leave something": [
    "UPDATE session SET has_more = false WHERE id = 'busy'",
    "Session busy: it does not tell that its open turn has more than its journal",
  ],
  "an open turn would not end": [
    "UPDATE session SET is_cancelled = false WHERE id = 'busy'",
    "Session busy: it does not tell whether its open turn was asked to end",
  ],
  "the order of facts begins anew": [
    "UPDATE counter SET value = 3 WHERE name = 'fact'",
    "The order of facts: a number that was used would be used again",
  ],
  "the order of jobs begins anew": [
    "UPDATE counter SET value = 1 WHERE name = 'job'",
    "The order of jobs: a number that was used would be used again",
  ],
  "a counter is gone": ["DELETE FROM counter WHERE name = 'job'", "The counter job: it is missing"],
  "the numbers of rows begin anew": [
    "SELECT setval('number', 1)",
    "The numbers of rows: a number that was used would be used again",
  ],
  "a fact tells of nothing": ["INSERT INTO fact VALUES (-1, 1, 0, -1)", "The facts: what -N tell of is missing"],
  "a turn has ended and no fact tells of it": [
    "DELETE FROM fact WHERE n = (SELECT done FROM turn WHERE id = 'turn-one')",
    "Turn turn-one: a fact of it is missing",
  ],
  "a withdrawal is told as the end of a turn": [
    "UPDATE fact SET kind = 1 WHERE n = (SELECT done FROM turn WHERE state = 2)",
    "The facts: what N tell of is missing",
  ],
  "an end is told as a withdrawal": [
    "UPDATE fact SET kind = 5 WHERE n = (SELECT done FROM turn WHERE id = 'turn-one')",
    "The facts: what N tell of is missing",
  ],
  "a question has no fact": [
    "DELETE FROM fact WHERE n = (SELECT asked FROM wait WHERE key = 'w2')",
    "The wait W: a fact of it is missing",
  ],
  "a job is not in the order of changes": [
    "DELETE FROM job_change WHERE n = (SELECT changed FROM job WHERE id = 'job-done')",
    "Job job-done: its latest change is not in the order of all changes",
  ],
  "a change is of no job": [
    "INSERT INTO job_change VALUES (0, -1)",
    "The order of jobs: N are not the latest changes of any job",
  ],
};

describePostgres("the check of a database", () => {
  let schema: SharedSchema;
  beforeAll(async () => {
    const url = new URL(await freshDatabase());
    url.searchParams.set("options", "-c search_path=checked");
    schema = new SharedSchema(url.href, "checked");
  });
  afterAll(() => schema.end());

  afterEach(() => schema.pool.query("INSERT INTO counter VALUES ('job', 0) ON CONFLICT DO NOTHING"));

  async function filled(): Promise<PostgresStore> {
    const store = await schema.emptied();
    await fillTables(store);
    return store;
  }

  const found = async (store: PostgresStore): Promise<readonly string[]> =>
    (await store.check({ deep: true })).map(({ item, problem }) =>
      `${item}: ${problem}`.replaceAll(/\b\d+\b/g, "N").replaceAll(/wai_[\w-]+/g, "W"),
    );

  test("D8 postgres: the check finds nothing where nothing is damaged", async () => {
    expect(await found(await filled())).toEqual([]);
  });

  for (const [what, [sql, ...findings]] of Object.entries(DAMAGE))
    test(`D8 postgres: the check finds that ${what}`, async () => {
      const store = await filled();
      const { rowCount } = await schema.pool.query(sql);
      assert.ok(rowCount! > 0);
      expect(await found(store)).toEqual(findings);
    });

  test("D8 postgres: the check finds that a blob is missing, wherever it is named", async () => {
    const store = await filled();
    for (const words of NAMED) {
      await schema.pool.query("DELETE FROM blob WHERE hash = $1", [blobOf(words)]);
      const problems = (await store.check()).map(({ problem }) => problem);
      expect(problems).toContain(`the blob ${blobOf(words)} is missing`);
    }
    expect(await store.check({ max: 3 })).toHaveLength(3);
  });

  /** The full run checks after every law. */
  const NTH = sample(20, 1);
  for (const { law, check } of storeLaws.filter((_, at) => at % NTH === 0))
    test(`D8 postgres: the check finds nothing after the law: ${law}`, async () => {
      const store = await schema.emptied();
      await check(store);
      await store.close();
      const again = postgres(schema.pool, { clock: "caller", schema: "checked" });
      expect(await again.check({ deep: true })).toEqual([]);
    });
});
