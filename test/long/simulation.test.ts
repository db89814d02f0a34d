import { expect, test } from "vitest";
import { stories } from "../durability/simulation.ts";

const PER_TEST = 100;

test.each(Array.from({ length: 6 }, (_, index) => 1 + index * PER_TEST))(
  "D1 D2 I1 I2 I4 a hundred stories from number %i on: nothing is lost, nothing on record is done twice",
  async (from) => {
    const { broken } = await stories(from, PER_TEST);
    expect(broken).toEqual([]);
  },
);
