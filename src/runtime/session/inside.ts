import { AsyncLocalStorage } from "node:async_hooks";
import type { OpenedTurn } from "../live-turn/run.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import type { LiveSession } from "./session.ts";

/** Work that has a session to itself, between turns. */
export interface Operation {
  /** `live`: a turn that only waits, in which it runs. */
  run(live?: LiveTurn): Promise<void>;
  refuse(): void;
  /** The code that asked for it. */
  readonly asker?: Inside | undefined;
}

/** The turn or operation that the current code runs in (S2 in `session.ts`). */
export interface Inside {
  readonly session: LiveSession;
  readonly work: OpenedTurn | Operation;
  /** The work whose code asked for this one, perhaps in another session; not who woke the queue that it runs in. */
  readonly outer: Inside | undefined;
}
export const inside = new AsyncLocalStorage<Inside>();

/** Without work that is over: sessions that send to each other in turns would lengthen the chain for ever. */
export function underWay(at: Inside): Inside | undefined {
  const outer = at.outer && underWay(at.outer);
  return at.session.queue.has !== at.work ? outer : outer === at.outer ? at : { ...at, outer };
}
