// The rows of a tree of sessions.
import type { Failure } from "../../server.ts";
import type { SessionSummary } from "../../types.ts";

export interface Branch {
  readonly session: SessionSummary;
  readonly isOpen: boolean;
  /** The latest first. Undefined until they were read. */
  readonly children?: readonly string[];
  readonly hasMore?: boolean;
  readonly failure?: Failure;
}
export type Branches = ReadonlyMap<string, Branch>;

export interface TreeRow {
  readonly id: string;
  readonly depth: number;
  readonly kind: "session" | "more";
  /** For each level above: whether its line continues below this row. */
  readonly lines: readonly boolean[];
  readonly position: number;
  readonly size: number;
}

/** The rows in sight, from the root on. */
export function treeRows(branches: Branches, root: string): readonly TreeRow[] {
  const rows: TreeRow[] = [];
  const add = (id: string, depth: number, lines: readonly boolean[], position: number, size: number): void => {
    rows.push({ id, depth, kind: "session", lines, position, size });
    const branch = branches.get(id);
    if (branch?.isOpen !== true) return;
    const { children = [], hasMore = false } = branch;
    const all = children.length + (hasMore ? 1 : 0);
    for (const [nth, child] of children.entries()) add(child, depth + 1, [...lines, nth < all - 1], nth + 1, all);
    if (hasMore) rows.push({ id, depth: depth + 1, kind: "more", lines: [...lines, false], position: all, size: all });
  };
  if (branches.has(root)) add(root, 0, [], 1, 1);
  return rows;
}
