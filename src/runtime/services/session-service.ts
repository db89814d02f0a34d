// The common base of the services for jobs, monitors and triggers.
import { unwaited } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import { hashOf } from "../../model/hash.ts";
import { asSessionId, type SessionId } from "../../model/ids.ts";
import type { StoredSession } from "../../stores/store.ts";
import type { Core } from "../core.ts";
import { lineOf, requireStored } from "./reading.ts";
import type { ServiceContext } from "./service-context.ts";

/** The caller of a service: the plugin, the turn, operation or job, and the session. */
export interface CallerPlace {
  readonly core: Core;
  /** The session that the service is for: that of `callContext`, or another one. */
  readonly sessionId: SessionId;
  /** The calling plugin. `app` for the app. */
  readonly plugin: string;
  /** Absent for calls of the app, which reach every session. */
  readonly callContext?: ServiceContext;
}

/**
 * The plugins, by id, that can use jobs and monitors of sessions other than their own and its descendants. `app` stands
 * for the tools of the app.
 */
export interface SessionAccess {
  /**
   * Plugins that can use all sessions of their tree: the root of their session and all its descendants. Default: none.
   */
  readonly tree?: readonly string[] | undefined;
  /** Plugins that can use every session. Default: none. */
  readonly all?: readonly string[] | undefined;
}

/** The same place, for another session. Throws `session.unknown` for an id that is not a string. */
export function placeFor(place: Omit<CallerPlace, "sessionId">, session: string): CallerPlace {
  if (typeof session !== "string") throw new RuntimeError("session.unknown", { id: typeof session });
  return { ...place, sessionId: asSessionId(session) };
}

/** Whether the service is for another session than the caller's. */
export const isOfOther = ({ callContext, sessionId }: CallerPlace): boolean =>
  callContext !== undefined && callContext.sessionId !== sessionId;

/** A new id. A rerun of a turn, a task or a named operation gets the same id. */
export function freshId({ core, callContext, plugin }: CallerPlace, prefix: string, kind: string, length = 26): string {
  const key = callContext?.nextKey(plugin, "background");
  return key === undefined ? core.world.id(prefix) : `${prefix}_${hashOf(`${kind}/${key}`).slice(0, length)}`;
}

/** Throws `session.unknown`, and `session.foreign` if `sessionAccess` does not allow the plugin to use the session. */
export async function requireAccess({ core, sessionId, plugin, callContext }: CallerPlace): Promise<void> {
  if (callContext === undefined || callContext.sessionId === sessionId) return;
  const { id } = await requireStored(core, sessionId);
  const { all, tree } = core.sessionAccess;
  if (all?.includes(plugin) === true) return;
  const { session } = callContext;
  const line = await lineOf(core, id);
  if (line.includes(session.id)) return;
  if (tree?.includes(plugin) === true && line.at(-1) === (session.ancestors.at(-1) ?? session.id)) return;
  throw new RuntimeError("session.foreign", { id, from: session.id, plugin });
}

export abstract class SessionService {
  protected readonly place: CallerPlace;

  constructor(place: CallerPlace) {
    this.place = place;
  }

  protected get core(): Core {
    return this.place.core;
  }
  protected get session(): SessionId {
    return this.place.sessionId;
  }

  /** Makes a call. A call for another session needs access first. */
  protected call<T>(run: () => Promise<T>): Promise<T> {
    if (!isOfOther(this.place)) return unwaited(run);
    return unwaited(async () => {
      await requireAccess(this.place);
      return run();
    });
  }

  protected requireStored(): Promise<StoredSession> {
    return requireStored(this.core, this.session);
  }
}
