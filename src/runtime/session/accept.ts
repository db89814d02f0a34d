// How an input comes into a session: stored, then run or queued; and who waits for the turn that it opens.
// S1 to S3 are in `session.ts`, Q3 in `queue.ts`.
import { type Awaitable, isThenable } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { TurnId } from "../../model/ids.ts";
import type { NewInput } from "../../stores/store.ts";
import type { Validate } from "../../tools/validator.ts";
import type { TurnHandle } from "../live-turn/handle.ts";
import { heardInput, whileSwept } from "../live-turn/input.ts";
import type { LiveTurn } from "../live-turn/turn.ts";
import { settle } from "./elsewhere.ts";
import { inside } from "./inside.ts";
import type { LiveSession } from "./session.ts";

/**
 * Accepts an input and runs the turn it opens, or queues it behind the one that runs. `attach` stores its attachments
 * again, if a sweep was quicker than the acceptance.
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
  const asker = inside.getStore();
  let input = isThenable(given) ? await entered(session, given) : given;
  if (session.options !== session.kept.stored.options) session.useStored();
  let hearNext: (() => void) | undefined;
  if (session.composition.hooks.has.input)
    [input, hearNext] = await entered(
      session,
      hear(session, () => heardInput(session, input)),
    );
  queue.accepting();
  try {
    if (core.door.isClosed) throw new RuntimeError("runtime.closed", {});
    if (output !== undefined) followers.expect(input.turnId, output);
    // Q3: without an opening the store queues the input and begins no turn.
    const opening = queue.doing === "operation" || !core.runs ? undefined : session.opening;
    const take = () => core.store.accept(input, core.owner, opening, core.limits.pendingInputsMax);
    const accepted = attach === undefined ? take() : whileSwept(take, attach);
    const receipt = isThenable(accepted) ? await accepted : accepted;
    const { turnId } = receipt;
    if (session.running !== undefined) session.inputCame();
    if (turnId !== input.turnId) followers.expectNot(input.turnId);
    else core.readers.moved(session);
    if (handle !== undefined) {
      if (session.running?.turnId === turnId) joinRunning(session, session.running, handle);
      else followers.join(turnId, handle);
    }
    if (receipt.kind === "known") await rejoin(session, turnId);
    else {
      const cancelled = isCancelled?.();
      const before = cancelled === undefined ? undefined : session.cancel(turnId, cancelled);
      if (receipt.kind === "queued") {
        if (asker !== undefined) (session.askers ??= new Map()).set(turnId, asker);
        if (handle !== undefined) core.watch.follow(session.id, followers, turnId);
        queue.lookAgain();
      } else {
        const { lease } = receipt;
        // From when the input was made, which is the time that the store was given.
        const opened = { lease, until: input.at + lease.heldMs, journal: [receipt.opened], asker };
        queue.putTurn(before === undefined ? opened : { ...opened, before });
      }
    }
    return turnId;
  } finally {
    queue.accepted();
    hearNext?.();
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
 * Runs `input` hooks in `run`, for one input after the other: they stay in their order. The next input is heard when the
 * caller has kept this one and calls the function that comes with it, so that a repeat of its key finds the key known.
 */
export async function hear<Heard>(session: LiveSession, run: () => Promise<Heard>): Promise<[Heard, () => void]> {
  const before = session.hearing;
  const { promise, resolve: hearNext } = Promise.withResolvers<void>();
  session.hearing = promise;
  await before;
  try {
    return [await run(), hearNext];
  } catch (error) {
    hearNext();
    throw error;
  }
}

/** A handle that joins late gets what the turn has shown so far. */
export function joinRunning({ followers }: LiveSession, { turnId, handles, show }: LiveTurn, handle: TurnHandle): void {
  followers.join(turnId, handle, handles);
  show.tellAll(handle);
}

/** The key was accepted before: its turn has ended, runs or waits. */
async function rejoin(session: LiveSession, turnId: TurnId): Promise<void> {
  if ((await settle(session, turnId)) === "over" || turnId === session.now) return;
  session.core.watch.follow(session.id, session.followers, turnId);
  session.queue.lookAgain();
}
