// Removes the kept journals of ended turns when they are too old, too many for their session, or too large in all.
//
// journals-1 A kept journal is only for people: no turn, resume or repeat reads it. So it can be removed at any time.
// journals-2 A sweep reads and removes pages and pauses between them, so that no running turn waits for it.
import type { TurnId } from "../../model/ids.ts";
import type { StoredTurn } from "../../stores/store.ts";
import type { Core } from "../core.ts";

const DAY_MS = 86_400_000;
const PAGE = 200;
const PAUSE_MS = 20;
/** After this many turns in a row without a journal, the older turns most likely have none. */
const NONE_MAX = 1_000;

/** Returns how many journals were removed. `isWhole`: looks at all turns, also behind many without a journal. */
export async function sweepJournals(
  { store, world, keepsJournals, door }: Core,
  isWhole: boolean = false,
): Promise<number> {
  if (keepsJournals === undefined) return 0;
  const { days, perSession, bytes } = keepsJournals;
  const oldest = world.now() - days * DAY_MS;
  const ofSession = new Map<string, number>();
  let size = 0;
  let isFull = false;
  let removed = 0;
  let without = 0;
  for (let before: string | undefined; (isWhole || without < NONE_MAX) && !door.isClosed; ) {
    const page = await store.turns.list({ max: PAGE, ...(before === undefined ? {} : { before }) });
    const expired: TurnId[] = [];
    for (const { turnId, sessionId, end } of page) {
      without = hasJournal(end) ? 0 : without + 1;
      if (!hasJournal(end)) continue;
      const nth = (ofSession.get(sessionId) ?? 0) + 1;
      ofSession.set(sessionId, nth);
      const isOver = end.at < oldest || nth > perSession;
      isFull ||= !isOver && size + end.journalBytes > bytes;
      if (isOver || isFull) expired.push(turnId);
      else size += end.journalBytes;
    }
    if (expired.length > 0 && !door.isClosed) removed += await store.turns.forget(expired);
    before = page.at(-1)?.cursor;
    if (page.length < PAGE) break;
    await world.rest(PAUSE_MS, NEVER);
  }
  return removed;
}
const NEVER = new AbortController().signal;

type WithJournal = NonNullable<StoredTurn["end"]> & { readonly journalBytes: number };
const hasJournal = (end: StoredTurn["end"]): end is WithJournal => end?.journalBytes !== undefined;
