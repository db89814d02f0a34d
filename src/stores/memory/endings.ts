import type { Committed, EndedTurn } from "../store.ts";
import { cursorOf } from "./facts.ts";
import type { End, Place, TurnRow } from "./rows.ts";

/** What is answered to the commit of a turn, and when it is sent again. */

/** The receipt of a turn that has just been kept, on the path or up to `branch` beside it. */
export function committedOf(turn: TurnRow, fact: number, branch?: Place): Committed {
  const cursor = cursorOf(fact);
  const { revision, head } = turn.session;
  if (branch === undefined && head !== undefined) return { kind: "committed", revision, head: head.id, cursor };
  return {
    kind: "committed",
    revision,
    ...(head === undefined ? {} : { head: head.id }),
    cursor,
    ...(branch === undefined ? {} : { branch: branch.id }),
  };
}

/** Whether a commit is a retry. `at` is not compared: a retry has another clock. */
export const isSame = ({ turn, ...kept }: End, sent: EndedTurn): boolean =>
  endingOf({ ...kept, entries: turn.segment?.entries ?? [] }) === endingOf(sent);
const endingOf = ({ outcome, entries, plugins, usage, inputs }: Omit<EndedTurn, "turnId" | "at" | "spent">): string =>
  JSON.stringify([outcome, entries, plugins, usage, inputs]);
