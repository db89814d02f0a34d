// Other sessions, as plugins use them: opened for a call, and never waited for by themselves.
import { hasCode, RuntimeError } from "../../model/errors.ts";
import { asSessionId, type SessionId } from "../../model/ids.ts";
import type { Core } from "../core.ts";
import type { Session } from "../session/handle.ts";
import { requireStored } from "./reading.ts";

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
 * Never settles when the runtime has closed meanwhile: the asking turn will be resumed elsewhere, and an error would be
 * recorded as its tool's failure. On a store that keeps nothing the turn ends here, and must not wait for ever.
 */
export async function unlessClosed<T>({ door, store }: Core, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (door.isClosed && store.isDurable && hasCode(error, "runtime.closed")) return new Promise<never>(() => {});
    throw error;
  }
}

/** Refuses to wait for the asking session or one above it: they would wait for each other for ever. */
export async function requireBelow({ store }: Core, asking: SessionId, id: string, name: string): Promise<void> {
  for (let above: SessionId | undefined = asking; above !== undefined; above = (await store.load(above))?.parentId)
    if (above === id) throw new RuntimeError("operation.reentrant", { name });
}
