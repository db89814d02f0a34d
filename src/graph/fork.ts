import { RuntimeError } from "../model/errors.ts";
import { type NodeId, nodeId } from "../model/ids.ts";
import type { Message } from "../model/message.ts";
import type { Entry } from "../model/node.ts";
import { hasOpenCalls } from "../model/pairing.ts";

/**
 * Throws `fork.unpaired` if a path that ends at this node of a commit would contain a call without its result. The
 * error names the nearest nodes where a fork may begin. `last` is the index of the commit's last node on the path;
 * `parent` returns the node before its first.
 */
export function requireLegalEnd(
  { commit, entries }: { readonly commit: string; readonly entries: readonly Entry[] },
  index: number,
  last: number,
  parent: () => NodeId | undefined,
): void {
  const legal = legalEnds(entries);
  if (legal[index]) return;
  const before = legal.lastIndexOf(true, index);
  const after = legal.indexOf(true, index);
  const nearest: string[] = [];
  const above = before >= 0 ? nodeId(commit, before) : parent();
  if (above !== undefined) nearest.push(above);
  if (after >= 0 && after <= last) nearest.push(nodeId(commit, after));
  throw new RuntimeError("fork.unpaired", { node: nodeId(commit, index), legal: nearest });
}

/** Returns for each entry whether a path may end there. */
function legalEnds(entries: readonly Entry[]): readonly boolean[] {
  let last: Message | undefined;
  return entries.map((entry) => {
    if (entry.kind === "message") last = entry.message;
    return !hasOpenCalls(last);
  });
}
