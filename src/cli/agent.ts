import type { Runtime, Session, SessionId, Store } from "../index.ts";
import type { Mode } from "./mode.ts";
import { called, holderOf, type Unfinished } from "./unfinished.ts";

export interface Agent {
  readonly session: Session;
  readonly waits: Runtime["waits"];
  /** Resumes the turn of another session here, even if the runtime does not recover turns by itself. */
  wake(session: string): Promise<void>;
  /** Resumes the turns of all sessions below this one that no process has, for example after an answer or a kill. */
  wakeBelow(): Promise<void>;
  /** Omitted for an app, because an app has its own store. */
  readonly store?: Store;
  /** Describes the agent and its store, for the greeting. */
  readonly about: string;
  readonly where?: string;
  /** Omitted for an app, because an app has its own protocol. */
  readonly mode?: Mode;
  /** The mode that the user asked for, if an open turn of another mode must end first. Then open the agent again. */
  readonly wanted?: Mode;
  /** The conversation is lost when the agent closes. */
  readonly isFleeting: boolean;
  /** Turns of this session that a killed process left unfinished, and that resume here. */
  readonly left: readonly Pick<Unfinished, "turnId" | "words">[];
  /** Turns that could not resume here, by id, with the reason. */
  readonly lost: ReadonlyMap<string, string>;
  /** Issues of turns that were printed: a plugin that fails in every turn is reported once. */
  readonly reported: Set<string>;
  close(): Promise<void>;
}

/**
 * How an agent resumes other sessions: it opens each session, which resumes its turn. The turn continues after the
 * handle is closed.
 */
export function waking(runtime: Runtime, { id: root }: Session): Pick<Agent, "wake" | "wakeBelow"> {
  const wake = async (id: string): Promise<void> => (await runtime.session(id)).close();
  const wakeBelow = async (parent: SessionId): Promise<void> => {
    for (let after: SessionId | undefined; ; ) {
      const page = await runtime.sessions.list({ parent, after });
      for (const { id, openTurn } of page) {
        // This process may lack the plugins or the model of the session. Another process can have them.
        if (openTurn !== undefined) await wake(id).catch(() => {});
        await wakeBelow(id);
      }
      after = page.at(-1)?.id;
      if (after === undefined) return;
    }
  };
  return { wake, wakeBelow: () => wakeBelow(root) };
}

/** The name of another process that runs a turn of this session; undefined if there is none. */
export async function busyElsewhere({ session, store }: Pick<Agent, "session" | "store">): Promise<string | undefined> {
  const holder = store === undefined ? undefined : await holderOf(store, session.id);
  return holder === undefined || holder.isUs ? undefined : called(holder);
}
