import { expect, test } from "vitest";
import { PATHS, pathOf } from "../bench/path.ts";

const budgeted = Object.values(PATHS).filter(({ functionsMax }) => functionsMax !== undefined);

test.for(budgeted)("no more functions than the budget are on the path of $about", async (turn) => {
  const path = await pathOf("src", turn);
  const list = path.map(({ file, line, name }) => `${file}:${line} ${name}`).join("\n");
  expect(path.length, `The budget is in bench/path.ts. On the path are:\n${list}\n`).toBeLessThanOrEqual(
    turn.functionsMax!,
  );
});
