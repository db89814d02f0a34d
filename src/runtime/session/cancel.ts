// Withdraws inputs that no turn has taken yet, and cancels turns.
import { RuntimeError } from "../../model/errors.ts";
import type { TurnId } from "../../model/ids.ts";
import type { CancelAnswer, InputRef, Withdrawal } from "../../stores/store.ts";
import { requireWords } from "../checks.ts";
import type { LiveSession } from "./session.ts";

/** Withdraws inputs that no turn has taken; their handles fail with `input.withdrawn`. */
export async function withdrawInputs(session: LiveSession, which: InputRef): Promise<readonly Withdrawal[]> {
  await session.snapshot.requireThere();
  const found = await session.core.store.inputs.withdraw(session.id, which);
  session.core.readers.moved(session);
  for (const { turnId, answer } of found)
    if (answer === "withdrawn" && turnId !== undefined)
      session.fail(turnId, new RuntimeError("input.withdrawn", { turnId }));
  return found;
}

/** Asks a turn to end, in whichever process it runs. */
export async function cancelTurn(
  session: LiveSession,
  turnId: TurnId,
  reason = "It was cancelled.",
  requestId?: string,
): Promise<CancelAnswer> {
  const { core } = session;
  requireWords("reason", reason);
  if (requestId !== undefined) requireWords("requestId", requestId, 256);
  if (typeof turnId !== "string") return { kind: "unknown" };
  const request = { requestId: requestId ?? core.world.id("can"), reason, at: core.world.now() };
  const answer = await core.store.cancel(turnId, request, session.id);
  // The running turn may have taken the input of that turn. A parked turn resumes, so that the cancel can end it.
  if (answer.kind === "requested") core.watcher.wake(session.id);
  return answer;
}
