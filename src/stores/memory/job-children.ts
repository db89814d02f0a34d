import type { JobId, TurnId } from "../../model/ids.ts";
import type { JobRow } from "./rows.ts";

/** Jobs that are not over and are to end with their parent, by that: the latest, which leads to its siblings. */
export class JobChildren {
  readonly #ofTurns = new Map<TurnId, JobRow>();
  readonly #ofJobs = new Map<JobId, JobRow>();

  ofTurn(turn: TurnId): JobRow[] {
    return siblings(this.#ofTurns.get(turn));
  }

  ofJob({ job }: JobRow): JobRow[] {
    return siblings(this.#ofJobs.get(job.id));
  }

  add(row: JobRow): void {
    const { parent, onParentEnd } = row.job;
    if (parent === undefined || onParentEnd === "keep") return;
    if ("turnId" in parent) addTo(this.#ofTurns, parent.turnId, row);
    else addTo(this.#ofJobs, parent.jobId, row);
  }

  remove(row: JobRow): void {
    const { parent, onParentEnd } = row.job;
    if (parent === undefined || onParentEnd === "keep") return;
    if ("turnId" in parent) removeFrom(this.#ofTurns, parent.turnId, row);
    else removeFrom(this.#ofJobs, parent.jobId, row);
  }
}

/** In the order in which they were begun. */
function siblings(latest: JobRow | undefined): JobRow[] {
  const all: JobRow[] = [];
  for (let row = latest; row !== undefined; row = row.sibling) all.push(row);
  return all.reverse();
}

function addTo<Id>(children: Map<Id, JobRow>, parent: Id, row: JobRow): void {
  row.sibling = children.get(parent);
  children.set(parent, row);
}

function removeFrom<Id>(children: Map<Id, JobRow>, parent: Id, row: JobRow): void {
  const latest = children.get(parent);
  if (latest !== row) {
    let one = latest;
    while (one !== undefined && one.sibling !== row) one = one.sibling;
    if (one !== undefined) one.sibling = row.sibling;
  } else if (row.sibling === undefined) children.delete(parent);
  else children.set(parent, row.sibling);
  row.sibling = undefined;
}
