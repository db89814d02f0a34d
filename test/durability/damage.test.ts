import { expect, test } from "vitest";
import { sample } from "../kit/size.ts";
import { file } from "../kit/stores.ts";
import { soundFile, sweep } from "./damage.ts";

const FILES = sample(48, 240);

test("D8 of files with a flipped byte or a changed row none is read wrong without a word of the check", async () => {
  const { broken, ...seen } = await sweep(await soundFile(file()), 0, FILES);
  expect(broken).toEqual([]);
  expect(seen.same + seen.refused + seen.told).toBe(FILES);
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0); // Each of the ways is met.
}, 60_000);
