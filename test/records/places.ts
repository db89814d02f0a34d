/** The stores that records are tested on, each as several processes see it. */
import { DatabaseSync } from "node:sqlite";
import type { Runtime, RuntimeOptions, Store } from "bowline";
import { createRuntime } from "bowline";
import type { Provider } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import pg from "pg";
import { onTestFinished, test } from "vitest";
import { postgres } from "../../src/stores/postgres.ts";
import { echo } from "../kit/models.ts";
import { describePostgres, freshSchema } from "../kit/shared-postgres.ts";
import { durable, file } from "../kit/stores.ts";

export type Options = Partial<Omit<RuntimeOptions, "model" | "models">> & {
  readonly model?: Provider;
  readonly models?: RuntimeOptions["models"];
};

export interface Place {
  readonly name: "memory" | "SQLite" | "Postgres";
  /** The file, if it is one. */
  readonly path?: string;
  /** Changes the data behind the back of all stores, if there is a way. */
  sql?(statement: string, ...values: readonly string[]): Promise<void>;
  /** Another connection to the same data, as another process has one. */
  store(): Store;
  /** A runtime on a connection of its own. It is closed at the end of the test. */
  open(options?: Options): Promise<Runtime>;
}

function placeOf(about: Pick<Place, "name" | "path" | "sql" | "store">): Place {
  return {
    ...about,
    open: async ({ model = echo(), models, ...options } = {}) => {
      const named = models === undefined ? {} : { models };
      const runtime = await createRuntime({ store: about.store(), ...options, ...named, model });
      onTestFinished(() => runtime.close());
      return runtime;
    },
  };
}

export function inMemory(): Place {
  const store = durable(memory());
  return placeOf({ name: "memory", store: () => store });
}

export function onFile(path = file()): Place {
  return placeOf({
    name: "SQLite",
    path,
    store: () => sqlite(path, { durability: "process" }),
    async sql(statement, ...values) {
      const db = new DatabaseSync(path);
      db.prepare(statement.replaceAll(/\$\d/g, "?")).run(...values);
      db.close();
    },
  });
}

async function onPostgres(): Promise<Place> {
  const { url, schema } = await freshSchema();
  return placeOf({
    name: "Postgres",
    store: () => postgres(url, { schema, clock: "caller" }), // Leases go by the clocks of the tests.
    async sql(statement, ...values) {
      const client = new pg.Client(url);
      await client.connect();
      await client.query(statement, [...values]);
      await client.end();
    },
  });
}

/** The same test on every store. */
export function onEveryStore(title: string, body: (place: Place) => Promise<void>): void {
  test(`${title}, in memory`, () => body(inMemory()));
  test(`${title}, in SQLite`, () => body(onFile()));
  describePostgres("on Postgres", () => test(title, async () => body(await onPostgres())));
}
