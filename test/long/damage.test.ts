import { expect, test } from "vitest";
import { type Sample, soundFile, sweep } from "../durability/damage.ts";
import { file } from "../kit/stores.ts";

const PER_TEST = 1_000;
let made: Promise<Sample> | undefined;

test.each(Array.from({ length: 10 }, (_, index) => index * PER_TEST))(
  "D8 a thousand files from number %i on, each with a flipped byte or a changed row: none is read wrong without a word of the check",
  async (from) => {
    made ??= soundFile(file());
    const { broken } = await sweep(await made, from, PER_TEST);
    expect(broken).toEqual([]);
  },
);
