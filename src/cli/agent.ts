import type { Runtime, Session, SessionId, Store } from "../index.ts";
import type { Mode } from "./mode.ts";
import { called, holderOf, type Unfinished } from "./unfinished.ts";

export interface Agent {
  readonly session: Session;
  readonly waits: Runtime["waits"];
  /** Resumes the turn of another session here, also if the runtime recovers nothing by itself. */
  wake(session: string): Promise<void>;
  /** Resumes the turns of all sessions below this one that no process has, for example after an answer or a kill. */
  wakeBelow(): Promise<void>;
  /** Left out for an app, whose store is its own. */
  readonly store?: Store;
  /** What a user talks to, and where it is kept, for the greeting. */
  readonly about: string;
  readonly where?: string;
  /** Left out for an app, whose protocol is its own. */
  readonly mode?: Mode;
  /** The mode that was wanted, where a turn is finished first that began in another: open the agent again after it. */
  readonly wanted?: Mode;
  /** The conversation is gone when the agent is closed. */
  readonly isFleeting: boolean;
  /** Turns of this session that a killed process left unfinished, and that go on here. */
  readonly left: readonly Pick<Unfinished, "turnId" | "words">[];
  /** Turns that could not go on here: the reason, by the turn's id. */
  readonly lost: ReadonlyMap<string, string>;
  /** Issues of turns that were printed: a plugin that fails in every turn is reported once. */
  readonly reported: Set<string>;
  close(): Promise<void>;
}

/** How an agent resumes other sessions: opening one resumes its turn, which goes on when the handle is closed. */
export function waking(runtime: Runtime, { id: root }: Session): Pick<Agent, "wake" | "wakeBelow"> {
  const wake = async (id: string): Promise<void> => (await runtime.session(id)).close();
  const wakeBelow = async (parent: SessionId): Promise<void> => {
    for (let after: SessionId | undefined; ; ) {
      const page = await runtime.sessions.list({ parent, after });
      for (const { id, openTurn } of page) {
        // A session that cannot be opened here may have its plugins and its model in another process.
        if (openTurn !== undefined) await wake(id).catch(() => {});
        await wakeBelow(id);
      }
      after = page.at(-1)?.id;
      if (after === undefined) return;
    }
  };
  return { wake, wakeBelow: () => wakeBelow(root) };
}

/** The name of another process that works at a turn of this session; undefined when there is none. */
export async function busyElsewhere({ session, store }: Pick<Agent, "session" | "store">): Promise<string | undefined> {
  const holder = store === undefined ? undefined : await holderOf(store, session.id);
  return holder === undefined || holder.isUs ? undefined : called(holder);
}
