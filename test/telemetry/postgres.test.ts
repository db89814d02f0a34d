import { otel } from "bowline/otel";
import { postgres } from "bowline/stores/postgres";
import { expect, test } from "vitest";
import { describePostgres, freshSchema } from "../kit/shared-postgres.ts";
import { open } from "../kit/worlds.ts";
import { collector } from "./collector.ts";
import { INPUT, SECRET, search, searches, tellSecrets, traced } from "./kit.ts";

describePostgres("telemetry on Postgres", () => {
  test("E4 a turn has the same trace on Postgres, and store calls have spans", async () => {
    const { url, schema } = await freshSchema();
    const otel = traced({ stores: true });
    const store = postgres(url, { schema });
    const world = await open(searches(), { store, tools: [search], telemetry: otel.listener });
    await world.session.turn(INPUT).result();
    await world.runtime.close();
    expect(otel.tree().filter((name) => name !== "bowline.store")).toEqual([
      "invoke_agent agent",
      "  bowline.round",
      "    chat test",
      "    execute_tool search",
      "  bowline.round",
      "    chat test",
      "  bowline.commit",
    ]);
    const operations = otel.named("bowline.store").map(({ attributes }) => attributes["bowline.store.operation"]);
    expect(operations).toContain("commit");
  });

  test("E4 a collector receives no words of a session on Postgres", async () => {
    const { url, schema } = await freshSchema();
    await using server = await collector();
    await tellSecrets(otel({ tracerProvider: server.tracerProvider, stores: true }), postgres(url, { schema }));
    expect((await server.spans()).length).toBeGreaterThan(10);
    expect(server.bytes()).not.toContain(SECRET);
  });
});
