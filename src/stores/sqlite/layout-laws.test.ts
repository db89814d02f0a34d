import { describe, expect, test } from "vitest";
import { sample } from "../../../test/kit/size.ts";
import { findingsOf } from "../../../test/stores/sqlite-port.ts";
import { storeLaws } from "../../testing/store-laws.ts";
import { RuleStore } from "../rules/store.ts";
import { Connection } from "./connection.ts";
import { openFile } from "./database.ts";
import { SqliteEngine } from "./engine.ts";
import { setUp } from "./schema.ts";

// Without the fast ways, one of which knows who follows a turn, every write goes through the port: what it leaves must be what the check of a file expects.
describe("rules on the port of SQLite", () => {
  // A fourth of them in `npm test`: the rules are the same as on memory, which runs them all.
  const chosen = storeLaws.filter((_, at) => at % sample(4, 1) === 0);
  test.each(chosen.map(({ law, check }) => [law, check] as const))("%s", async (_, law) => {
    const db = new Connection(openFile(":memory:"), ":memory:", "process", 5_000, 30_000);
    db.setUp(() => setUp(db, false));
    let isClosed = false;
    const close = (): void => {
      isClosed = true;
      db.close();
    };
    await law(new RuleStore(Object.assign(new SqliteEngine(db, Date.now), { fast: {}, live: undefined, close })));
    if (isClosed) return;
    expect(findingsOf(db, {})).toEqual([]);
    db.close();
  });
});
