// Accepts an input into a session: stores it, runs or queues its turn, and joins the handle that waits for the turn.
import { type Awaitable, isThenable } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { TurnId } from "../../model/ids.ts";
import type { NewInput } from "../../stores/store.ts";
import type { Validate } from "../../tools/validator.ts";
import type { TurnHandle } from "../live-turn/handle.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import { whileSwept } from "../services/parts.ts";
import { cancelTurn } from "./cancel.ts";
import { applyInputHooks } from "./input.ts";
import { enclosing } from "./reentrancy.ts";
import { settle } from "./remote-turns.ts";
import type { LiveSession } from "./session.ts";

/**
 * Accepts an input and runs the turn that it opens, or queues it behind the running turn. `attach` stores the attachments
 * again if a sweep removed them before the acceptance.
 */
export async function accept(
  session: LiveSession,
  given: Awaitable<NewInput>,
  attach?: () => Promise<unknown>,
  handle?: TurnHandle,
  output?: Validate,
  isCancelled?: () => string | undefined,
): Promise<TurnId> {
  const { core, queue, followers } = session;
  const asker = enclosing.getStore();
  let input = isThenable(given) ? await entered(session, given) : given;
  if (session.options !== session.snapshot.stored.options) session.useStored();
  let admitNext: (() => void) | undefined;
  if (session.composition.hooks.has.input)
    [input, admitNext] = await entered(
      session,
      inInputOrder(session, () => applyInputHooks(session, input)),
    );
  queue.accepting();
  try {
    if (core.door.isClosed) throw new RuntimeError("runtime.closed", {});
    if (output !== undefined) followers.expect(input.turnId, output);
    // queue-3: without `opening` the store queues the input and opens no turn.
    const opening = queue.doing === "operation" || !core.runs ? undefined : session.opening;
    const max = core.limits.pendingInputsMax;
    const accepted =
      attach === undefined
        ? core.store.accept(input, core.owner, opening, max)
        : whileSwept(() => core.store.accept(input, core.owner, opening, max), attach);
    const receipt = isThenable(accepted) ? await accepted : accepted;
    const { turnId } = receipt;
    if (session.running !== undefined) session.inputAccepted();
    if (turnId !== input.turnId) followers.expectNot(input.turnId);
    else core.readers.moved(session);
    if (handle !== undefined) {
      if (session.running?.turnId === turnId) joinRunning(session, session.running, handle);
      else followers.join(turnId, handle);
    }
    if (receipt.kind === "known") await rejoin(session, turnId);
    else {
      const cancelled = isCancelled?.();
      const before = cancelled === undefined ? undefined : cancelTurn(session, turnId, cancelled);
      if (receipt.kind === "queued") {
        if (asker !== undefined) (session.askers ??= new Map()).set(turnId, asker);
        if (handle !== undefined) core.watcher.follow(session.id, followers, turnId);
        queue.lookAgain();
      } else {
        const { lease } = receipt;
        // The lease began at `input.at`, because that is the time in the call of the store.
        const opened = { lease, until: input.at + lease.heldMs, journal: [receipt.opened], asker };
        queue.putTurn(before === undefined ? opened : { ...opened, before });
      }
    }
    return turnId;
  } finally {
    queue.accepted();
    admitNext?.();
  }
}

async function entered<T>(session: LiveSession, given: PromiseLike<T>): Promise<T> {
  session.entering ??= new Set();
  session.entering.add(given);
  try {
    return await given;
  } finally {
    session.entering.delete(given);
  }
}

/**
 * Runs `input` hooks in `run`, for one input after the other, so that inputs keep their order. The caller stores this input
 * and then calls the returned function, which admits the next one. A repeat of the key then finds the stored key.
 */
export async function inInputOrder<Heard>(
  session: LiveSession,
  run: () => Promise<Heard>,
): Promise<[Heard, () => void]> {
  const before = session.inputHooks;
  const { promise, resolve: admitNext } = Promise.withResolvers<void>();
  session.inputHooks = promise;
  await before;
  try {
    return [await run(), admitNext];
  } catch (error) {
    admitNext();
    throw error;
  }
}

/** A handle that joins late gets the previews so far. */
export function joinRunning({ followers }: LiveSession, { turnId, handles, show }: LiveTurn, handle: TurnHandle): void {
  followers.join(turnId, handle, handles);
  show.replayTo(handle);
}

/** The key was accepted before: its turn has ended, runs or waits. */
async function rejoin(session: LiveSession, turnId: TurnId): Promise<void> {
  if ((await settle(session, turnId)) === "over" || turnId === session.now) return;
  session.core.watcher.follow(session.id, session.followers, turnId);
  session.queue.lookAgain();
}
