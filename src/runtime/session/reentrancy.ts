import { AsyncLocalStorage } from "node:async_hooks";
import { passingFault, RuntimeError } from "../../model/errors.ts";
import type { OpenedTurn } from "../live-turn/run.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import type { LiveSession } from "./session.ts";

/** Work that uses a session exclusively, between turns. */
export interface Operation {
  /** `live`: the waiting turn inside which the operation runs, if there is one. */
  run(live?: LiveTurn): Promise<void>;
  refuse(): void;
  /** The code that queued the operation. */
  readonly asker?: EnclosingWork | undefined;
}

/** The turn or operation that the current code runs in (session-2 in `session.ts`). */
export interface EnclosingWork {
  readonly session: LiveSession;
  readonly work: OpenedTurn | Operation;
  /** The work whose code queued this work, possibly in another session. It is not the code that woke the queue. */
  readonly outer: EnclosingWork | undefined;
}
export const enclosing = new AsyncLocalStorage<EnclosingWork>();

/**
 * The chain without finished work. Otherwise sessions that send to each other repeatedly would make the chain grow for
 * ever.
 */
export function withoutFinished(at: EnclosingWork): EnclosingWork | undefined {
  const outer = at.outer && withoutFinished(at.outer);
  return at.session.queue.has !== at.work ? outer : outer === at.outer ? at : { ...at, outer };
}

/**
 * Runs while no turn has the session, in order with other operations. Code inside the session gets `operation.reentrant`
 * (session-2). A signal that aborts before the operation begins withdraws it.
 */
export function exclusive<T>(
  session: LiveSession,
  name: string,
  run: (live: LiveTurn | undefined) => Promise<T>,
  /** Whether the operation may run again after this fault ended the turn that it ran in. */
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
      asker: enclosing.getStore(),
      run: (live) => {
        signal?.removeEventListener("abort", withdraw);
        if (signal?.aborted === true) return Promise.resolve();
        return run(live).then(resolve, (error: unknown) => {
          const isLost = live !== undefined && passingFault(error, session.core.store) !== undefined;
          if (!isLost) return reject(error);
          if (mayRepeat(error)) session.queue.putOperation(operation);
          else reject(error);
          throw error; // The turn in which the operation ran must end as lost.
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
