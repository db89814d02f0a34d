import { globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
// Compiled by `npm run check`, and not run: it calls a real model.
import type {} from "./refund-agent.ts";

test("each page for people who move from another system shows the same agent, a program that compiles", () => {
  const program = readFileSync("test/docs/refund-agent.ts", "utf8");
  const pages = globSync("docs/from-*.md").sort();
  const ours = pages.map((page) => /^```ts\n(.*?)^```$/ms.exec(readFileSync(page, "utf8"))?.[1]);
  expect(ours).toEqual([program, program, program]);
});
