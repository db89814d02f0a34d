import { describeThrown } from "../model/json.ts";
import type { Core } from "./core.ts";

/** What a recovery did. */
export interface Recovered {
  /** Sessions with a turn that was left, or with inputs that waited, and nobody at them. */
  readonly sessions: number;
}

/** A session that is gone on with. */
export interface TakenUp {
  readonly done: Promise<void>;
}

const AT_ONCE = 8;
const PAGE = 64;
/** How often a runtime looks for what others left. */
export const RECOVER_MS = 10_000;
/** Sessions that are gone on with at the same time; the others have their turn when one of these is done. */
const UNDER_WAY_MAX = 100;

/**
 * Begins what was accepted and never ended, and does not wait for it: a turn may take days. What another worker is at
 * meanwhile is left to it. `takeUp` answers when the session is taken up, with what settles when it is done.
 */
export async function recover(
  core: Core,
  underWay: Set<Promise<void>>,
  takeUp: (id: string) => Promise<TakenUp | undefined>,
  /** Those that were looked at already. */
  seen: Set<string> = new Set(),
): Promise<Recovered> {
  let sessions = 0;
  const hasRoom = (): boolean => !core.door.isClosed && underWay.size < UNDER_WAY_MAX;
  const begin = async (id: string): Promise<void> => {
    const taken = await takeUp(id);
    if (taken === undefined) return;
    sessions++;
    const watched: Promise<void> = taken.done.catch(() => {}).then(() => void underWay.delete(watched));
    underWay.add(watched);
  };
  while (hasRoom()) {
    const found = (await core.store.runnable(core.world.now(), PAGE)).filter((id) => !seen.has(id));
    if (found.length === 0) break;
    const waiting = [...found];
    const worker = async (): Promise<void> => {
      for (let id = waiting.shift(); id !== undefined && hasRoom(); id = waiting.shift()) {
        seen.add(id);
        try {
          await begin(id);
        } catch (error) {
          core.trace("session.recover", { problem: describeThrown(error) }, { sessionId: id });
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }
  return { sessions };
}
