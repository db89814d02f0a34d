import assert from "node:assert/strict";
import { sqlite } from "bowline/stores/sqlite";
import { storeLaws } from "bowline/testing";
import { test } from "vitest";
import { file } from "../kit/stores.ts";

for (const durability of ["process", "power", "power-all"] as const)
  test(`D5 sqlite: every law holds with durability ${durability}, and leaves a sound file`, async () => {
    for (const { law, check } of storeLaws) {
      const path = file();
      const store = sqlite(path, { durability });
      await check(store);
      await store.close();
      const again = sqlite(path);
      assert.deepEqual(await again.check({ deep: true }), [], law);
      await again.close();
    }
  });
