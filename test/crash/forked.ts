import { hasCode, type Runtime, type Session } from "bowline";

/** A fork of the session. The one that is there already, from an earlier life, is the one meant. */
export async function forked(runtime: Runtime, session: Session, id: string): Promise<Session> {
  try {
    return await session.fork({ id });
  } catch (error) {
    if (!hasCode(error, "session.exists")) throw error;
    return runtime.session(id);
  }
}
