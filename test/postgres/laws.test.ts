import { afterAll, beforeAll, test } from "vitest";
import { storeLaws } from "../../src/testing/store-laws.ts";
import { startPgbouncer } from "../kit/pgbouncer.ts";
import { describePgbouncer, describePostgres, freshDatabase } from "../kit/shared-postgres.ts";
import { sample } from "../kit/size.ts";
import { capabilitiesOf } from "../stores/titles.ts";
import { SharedSchema } from "./schemas.ts";

describePostgres("the laws of stores on Postgres", () => {
  let schema: SharedSchema;
  beforeAll(async () => {
    schema = new SharedSchema(await freshDatabase(), "laws");
  });
  afterAll(() => schema.end());

  for (const each of storeLaws)
    test(`E7 ${capabilitiesOf(each)} postgres: ${each.law}`, async () => each.check(await schema.emptied()));
});

/** The full run has all laws behind the pooler. */
const NTH = sample(20, 1);

describePgbouncer("the laws of stores on Postgres behind a pooler of transactions", () => {
  let schema: SharedSchema;
  beforeAll(async () => {
    const { url } = await startPgbouncer(await freshDatabase());
    schema = new SharedSchema(url, "laws");
  });
  afterAll(() => schema.end());

  for (const each of storeLaws.filter((_, index) => index % NTH === 0))
    test(`E7 ${capabilitiesOf(each)} pgbouncer: ${each.law}`, async () => each.check(await schema.emptied()));
});
