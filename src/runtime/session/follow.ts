// Connects a handle to a turn that this process did not start with that handle.
import { RuntimeError } from "../../model/errors.ts";
import type { TurnId } from "../../model/ids.ts";
import type { TurnHandle } from "../live-turn/handle.ts";
import { joinRunning } from "./accept.ts";
import { settle } from "./remote-turns.ts";
import type { LiveSession } from "./session.ts";

/** Gives the handle the previews that this process has of the turn, and its result, also if another process ends it. */
export function follow(session: LiveSession, turnId: TurnId, handle: TurnHandle): void {
  if (typeof turnId !== "string") return handle.failed(new RuntimeError("turn.unknown", { turnId: typeof turnId }));
  if (session.running?.turnId === turnId) joinRunning(session, session.running, handle);
  else {
    session.followers.join(turnId, handle);
    session.core.watcher.showOf(turnId)?.replayTo(handle); // Previews of a turn that was parked here.
  }
  const find = async (): Promise<void> => {
    session.core.watcher.follow(session.id, session.followers, turnId);
    if ((await settle(session, turnId)) === "over" || turnId === session.now) return;
    // With `recover: "manual"` this process does not resume a turn whose process died.
    if (session.core.recovers) session.queue.lookAgain();
  };
  find().catch((error: unknown) => session.fail(turnId, error));
}
