import { expect, test } from "vitest";
import type { SessionSummary } from "../../types.ts";
import { type Branch, treeRows } from "./rows.ts";

const branch = (id: string, isOpen: boolean, children?: readonly string[], hasMore = false): [string, Branch] => [
  id,
  { session: { id } as SessionSummary, isOpen, hasMore, ...(children === undefined ? {} : { children }) },
];

test("E6 the rows of a tree are its open branches, with a line to each later sibling", () => {
  const branches = new Map([
    branch("root", true, ["a", "b"]),
    branch("a", true, ["c"]),
    branch("b", false, ["d"]),
    branch("c", true, []),
    branch("d", false),
  ]);
  expect(treeRows(branches, "root").map(({ id, depth, lines }) => [id, depth, ...lines])).toEqual([
    ["root", 0],
    ["a", 1, true],
    ["c", 2, true, false],
    ["b", 1, false],
  ]);
});

test("E6 a page of children that is full ends with a row for more of them", () => {
  const branches = new Map([branch("root", true, ["a"], true), branch("a", false)]);
  expect(
    treeRows(branches, "root").map(({ id, kind, depth, position, size }) => [id, kind, depth, position, size]),
  ).toEqual([
    ["root", "session", 0, 1, 1],
    ["a", "session", 1, 1, 2],
    ["root", "more", 1, 2, 2],
  ]);
});
