import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, expect, test } from "vitest";
import { copyOf, dumpOf, findingsOf, given, openPort, rowsOf } from "../../../test/stores/sqlite-port.ts";
import type { Subscription } from "../../model/trigger.ts";
import { alice, bob, NOW } from "../../testing/cast.ts";
import { agenda } from "../rules/agenda.ts";
import { headOf, view } from "../rules/graph.ts";
import type { Port } from "../rules/port.ts";
import { type Rule, runNow } from "../rules/rule.ts";
import { statesOf } from "../rules/sessions.ts";
import { listSubscriptions } from "../rules/triggers.ts";
import { listWaits } from "../rules/waits.ts";
import { type SubscriptionRow, TABLES } from "../tables.ts";
import type { SqlitePort } from "./port.ts";

const folder = mkdtempSync(join(tmpdir(), "bowline-layouts-"));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;

/** A file as the code of a schema left it. */
function ofVersion(version: number): string {
  const path = join(folder, `${++files}.db`);
  const db = new DatabaseSync(path);
  db.exec(readFileSync(new URL(`../../../test/stores/v${version}.sql`, import.meta.url), "utf8"));
  db.close();
  return path;
}

test.each([1, 5, 6, 7, 8, 9, 10])("D8 sqlite port: a file of schema %i is read whole, and written whole", (version) => {
  const from = openPort(ofVersion(version));
  const damage: unknown[] = [];
  const rows = TABLES.map((table) => rowsOf(from, table, damage));
  expect(damage).toEqual([]);
  const to = copyOf(from);
  expect(TABLES.map((table) => rowsOf(to, table))).toEqual(rows);
  expect(findingsOf(to.db, { deep: true })).toEqual([]);
});

test("D8 sqlite port: what the port writes is what the file had, to the last checksum", () => {
  const from = openPort(ofVersion(10));
  expect(dumpOf(copyOf(from))).toEqual(dumpOf(from));
});

/** The port without the methods that it could do without. */
const bare = (port: SqlitePort): Port =>
  new Proxy(port, {
    get(target, name) {
      if (FASTER.includes(name)) return undefined;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
const FASTER: readonly unknown[] = ["agenda", "waits", "subscriptions", "path", "states", "sessionIds"];

test("D8 sqlite port: what one statement reads is what the rules would read by many", () => {
  const { port, db } = openPort(ofVersion(10));
  const same = <T>(rule: (db: Port) => Rule<T>): T =>
    db.readAll(() => {
      port.begin();
      const found = runNow(rule(port));
      expect(found).toEqual(runNow(rule(bare(port))));
      return found;
    }) as T;
  const sessions = [alice, bob, "carol" as typeof alice];
  for (const page of [{}, ...sessions.flatMap((id) => [{ session: id }, { tree: id }])])
    for (const max of [1, 9]) {
      const listed = same((its) => listWaits(its, { ...page, max }));
      for (const { id } of listed) same((its) => listWaits(its, { ...page, after: id, max }));
    }
  expect(same((its) => listWaits(its, { max: 9 }))).toHaveLength(3);
  // The rules sort by the names, and the file by the texts that it has for them.
  const sorted = (found: readonly Subscription[]) => found.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  const event = { name: "mail.arrived" };
  for (const page of [{}, { session: alice }, { event }, { kinds: ["commits", "interval"] as const }])
    same(function* (its) {
      return sorted(yield* listSubscriptions(its, { ...page, max: 9 }));
    });
  const all = db.readAll(() => given(port.subscriptions({ max: 9 }))) as readonly SubscriptionRow[];
  const after = { session: alice, id: all[0]!.id };
  expect(db.readAll(() => given(port.subscriptions({ after, max: 1 })))).toEqual(all.slice(1, 2));
  for (const time of [0, NOW, NOW + 9, NOW + 15, NOW + 100_000])
    for (const tasks of [undefined, [], ["notes.index"]]) same((its) => agenda(its, time, 9, tasks));
  for (const id of sessions)
    same(function* (its) {
      const session = (yield* its.session(id))!;
      const states = [0, 1, 2, 3].map((revision) => statesOf(its, session.n, revision));
      return [yield* view(its, headOf(session), Infinity, false), ...states.map((each) => runNow(each))];
    });
});
