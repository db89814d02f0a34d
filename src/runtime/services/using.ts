// Calls of plugins to other sessions. A session is opened for a call, and it must not wait for itself.
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { asSessionId, type SessionId } from "../../model/ids.ts";
import type { Core } from "../core.ts";
import type { Session } from "../session/public-api.ts";
import { lineOf, requireStored } from "./reading.ts";

/** Opens a session for one call. Closing the handle afterwards does not stop its turns. */
export const using = <T>(core: Core, id: string, use: (session: Session) => Promise<T>): Promise<T> =>
  unlessClosed(core, async () => {
    await requireStored(core, id);
    const session = await core.sessions.handle(asSessionId(id));
    try {
      return await use(session);
    } finally {
      await session.close();
    }
  });

/**
 * Never settles if the runtime closed meanwhile: another process resumes the calling turn, and an error would be recorded
 * as the failure of its tool. With a store that is not durable the turn ends here, so the promise settles.
 */
export async function unlessClosed<T>({ door, store }: Core, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (door.isClosed && store.isDurable && hasCode(error, "runtime.closed")) return new Promise<never>(() => {});
    throw error;
  }
}

/** Refuses to wait for the calling session or an ancestor, because the two would wait for each other. */
export async function requireBelow(core: Core, asking: SessionId, id: string, name: string): Promise<void> {
  if ((await lineOf(core, asking)).includes(id as SessionId)) throw new RuntimeError("operation.reentrant", { name });
}
