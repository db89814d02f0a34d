import { describeThrown } from "../model/json.ts";
import type { Core } from "./core.ts";

/** What a recovery did. */
export interface Recovered {
  /** Sessions with a turn that was left, or with inputs that waited, and nobody at them. */
  readonly sessions: number;
}

const AT_ONCE = 8;
const PAGE = 64;
/** How often a runtime looks for what others left. */
export const RECOVER_MS = 10_000;

/** Takes up what was accepted and never ended. Those that another worker is at meanwhile are left to it. */
export async function recover(core: Core, takeUp: (id: string) => Promise<boolean>): Promise<Recovered> {
  const seen = new Set<string>();
  let sessions = 0;
  for (;;) {
    const found = (await core.store.runnable(core.world.now(), PAGE)).filter((id) => !seen.has(id));
    if (found.length === 0 || core.door.isClosed) return { sessions };
    const waiting = [...found];
    const worker = async (): Promise<void> => {
      for (let id = waiting.shift(); id !== undefined && !core.door.isClosed; id = waiting.shift()) {
        seen.add(id);
        try {
          if (await takeUp(id)) sessions++;
        } catch (error) {
          core.trace("session.recover", { problem: describeThrown(error) }, { sessionId: id });
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
  }
}
