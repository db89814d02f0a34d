import { expect, test } from "vitest";
import { file } from "../kit/stores.ts";
import { sample, sweep } from "./damage.ts";

test("D8 of 120 files with a flipped byte or a changed row none is read wrong without a word of the check", async () => {
  const { broken, ...seen } = await sweep(await sample(file()), 0, 120);
  expect(broken).toEqual([]);
  expect(seen.same + seen.refused + seen.told).toBe(120);
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(10); // Each of the ways is met.
}, 60_000);
