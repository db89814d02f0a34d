import { describe, test } from "vitest";
import { storeLaws } from "../../testing/store-laws.ts";
import { MemoryEngine } from "../memory/engine.ts";
import { RuleStore } from "./store.ts";

// The other tests run the laws on stores as they are. Here every operation is done by its rule.
describe("rules without faster ways", () => {
  test.each(storeLaws.map(({ law, check }) => [law, check] as const))("%s", async (_, check) => {
    await check(new RuleStore(Object.assign(new MemoryEngine(), { fast: {} })));
  });
});
