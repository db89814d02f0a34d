import { afterAll, beforeAll, test } from "vitest";
import { storeLaws } from "../../src/testing/store-laws.ts";
import { startPgbouncer } from "../kit/pgbouncer.ts";
import { describePgbouncer, freshDatabase } from "../kit/shared-postgres.ts";
import { SharedSchema } from "../postgres/schemas.ts";
import { capabilitiesOf } from "../stores/titles.ts";

describePgbouncer("all laws of stores on Postgres behind a pooler of transactions", () => {
  let schema: SharedSchema;
  beforeAll(async () => {
    const { url } = await startPgbouncer(await freshDatabase());
    schema = new SharedSchema(url, "laws");
  });
  afterAll(() => schema.end());

  for (const each of storeLaws)
    test(`E7 ${capabilitiesOf(each)} pgbouncer: ${each.law}`, async () => each.check(await schema.emptied()));
});
