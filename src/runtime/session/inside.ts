import { AsyncLocalStorage } from "node:async_hooks";
import { passingFault, RuntimeError } from "../../model/errors.ts";
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

/**
 * Runs when no turn does, in order with other operations. From inside the session it is refused (S2). A signal that
 * aborts before it began withdraws it.
 */
export function exclusive<T>(
  session: LiveSession,
  name: string,
  run: (live: LiveTurn | undefined) => Promise<T>,
  /** Whether it may be worked out again when this ended a turn in which it ran. */
  mayRepeat: (fault: unknown) => boolean,
  signal?: AbortSignal,
): Promise<T> {
  if (session.isInside) return Promise.reject(new RuntimeError("operation.reentrant", { name }));
  return new Promise((resolve, reject) => {
    const withdraw = (): void =>
      reject(new RuntimeError("operation.cancelled", { name }, { cause: signal?.reason as unknown }));
    if (signal?.aborted === true) return withdraw();
    signal?.addEventListener("abort", withdraw, { once: true });
    const operation: Operation = {
      asker: inside.getStore(),
      run: (live) => {
        signal?.removeEventListener("abort", withdraw);
        if (signal?.aborted === true) return Promise.resolve();
        return run(live).then(resolve, (error: unknown) => {
          const isLost = live !== undefined && passingFault(error, session.core.store) !== undefined;
          if (!isLost) return reject(error);
          if (mayRepeat(error)) session.queue.putOperation(operation);
          else reject(error);
          throw error; // The turn in which it ran is lost, and must hear of it.
        });
      },
      refuse: () => {
        signal?.removeEventListener("abort", withdraw);
        reject(new RuntimeError("runtime.closed", {}));
      },
    };
    session.putOperation(operation);
  });
}
