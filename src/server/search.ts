// Finds sessions by words and by their place in a tree, which no index of a store has.
import { defined } from "../model/json.ts";
import { resting } from "../runtime/resting.ts";
import type { Runtime } from "../runtime/runtime.ts";
import type { SessionSummary, SessionsPage } from "../runtime/session/list.ts";

export interface Wanted {
  readonly search?: string | undefined;
  readonly isRoot?: boolean | undefined;
}

const SLICE = 200;
/** The most sessions that one request looks at. */
const LOOKED_MAX = 20_000;

/** Reads pages of the list until enough sessions match. Their order and their cursors are those of the list. */
export async function searchSessions(
  { sessions }: Runtime,
  { max, ...page }: SessionsPage & { readonly max: number },
  { search = "", isRoot = false }: Wanted,
  signal: AbortSignal,
): Promise<readonly SessionSummary[]> {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0 && !isRoot) return sessions.list({ ...page, max });
  const isWanted = (session: SessionSummary): boolean =>
    !(isRoot && session.parentId !== undefined) && hasAll(session, words);
  const rest = resting();
  const found: SessionSummary[] = [];
  let next = page;
  for (let looked = 0; looked < LOOKED_MAX && !signal.aborted; looked += SLICE) {
    const slice = await sessions.list({ ...next, max: SLICE });
    found.push(...slice.filter(isWanted));
    const last = slice.at(-1);
    if (found.length >= max || slice.length < SLICE || last === undefined) break;
    const isById = (page.order ?? "id") === "id";
    next = { ...page, ...(isById ? { after: last.id } : { before: last.cursor }) };
    await rest();
  }
  return found.slice(0, max);
}

/** Whether each word is somewhere in what a list shows of the session. */
function hasAll({ id, label, owner, tags, lastWords }: SessionSummary, words: readonly string[]): boolean {
  const text = Object.values(defined({ id, label, owner, tags: tags?.join("\n"), lastWords }))
    .join("\n")
    .toLowerCase();
  return words.every((word) => text.includes(word));
}
