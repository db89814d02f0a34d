// What `runtime.sessions` does with a session that need not be open in this process: read it, observe it, send to it and
// follow its turns. Not its job: running turns. An input waits for a process that runs them.
import { HISTORY, type HistoryPage, type Node } from "../../graph/history.ts";
import { Transcript } from "../../graph/transcript.ts";
import type { SavedStates } from "../../kernel/created.ts";
import type { Permissions } from "../../kernel/session-requests.ts";
import { isThenable } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { SessionEvent } from "../../model/event.ts";
import { asSessionId, asTurnId, type SessionId, type TurnId } from "../../model/ids.ts";
import type { Input } from "../../model/input.ts";
import { defined, type Json } from "../../model/json.ts";
import type { SessionView } from "../../model/view.ts";
import { requireOptions } from "../checks.ts";
import type { Core } from "../core.ts";
import { type Turn, TurnHandle } from "../live-turn/handle.ts";
import { DONE } from "../readers/feed.ts";
import { Followers } from "../readers/followers.ts";
import { OBSERVE, type ObserveOptions } from "../readers/readers.ts";
import { whileSwept } from "../services/parts.ts";
import { historyIn, ofProtocol, requireStored, restrictionsOf, savedStates } from "../services/reading.ts";
import { accept } from "./accept.ts";
import { follow } from "./follow.ts";
import { sendingOf } from "./handle.ts";
import { attaching, newInput } from "./input.ts";
import { composed } from "./options.ts";
import type { SendOptions } from "./public-api.ts";
import { failHandles, settle } from "./remote-turns.ts";
import { type Viewed, viewOf } from "./view.ts";

/** A session as `session.read()` shows it, with what it was created with. */
export interface SessionDetails extends SessionView {
  /** What the protocol records for the session, if it records something. */
  readonly protocolOptions?: Json;
  /** Omitted if there are no restrictions. */
  readonly permissions?: Permissions;
}

/** The session that is open here, or a reading of one that is not. */
function viewed(core: Core, id: SessionId): Viewed {
  const open = core.sessions.find(id);
  if (open !== undefined) return open;
  return {
    core,
    id,
    running: undefined,
    snapshot: {
      requireThere: () => requireStored(core, id),
      asStored: async () => {
        const stored = await requireStored(core, id);
        const segments = stored.head === undefined ? [] : await core.store.view(id, { toFrame: true });
        return { stored, transcript: Transcript.from(segments) };
      },
    },
  };
}

export async function readSession(core: Core, given: string): Promise<SessionDetails> {
  const stored = await requireStored(core, given);
  const protocolOptions = ofProtocol(stored.plugins)?.options;
  return defined({ ...(await viewOf(viewed(core, stored.id))), protocolOptions, ...restrictionsOf(stored) });
}

export async function historyOfSession(core: Core, id: string, page: HistoryPage): Promise<readonly Node[]> {
  requireOptions("sessions.history", page, HISTORY);
  return historyIn(core.store, (await requireStored(core, id)).id, page);
}

export async function statesOfSession(core: Core, id: string): Promise<SavedStates> {
  return savedStates(await requireStored(core, id));
}

export function observeSession(
  core: Core,
  given: string,
  options: ObserveOptions,
): AsyncIterableIterator<SessionEvent> {
  requireOptions("sessions.observe", options, OBSERVE);
  const opening = requireStored(core, given).then(({ id }) =>
    core.readers.observe({ id }, () => viewOf(viewed(core, id)), options),
  );
  opening.catch(() => {}); // `next()` rejects with the error.
  return {
    next: async () => (await opening).next(),
    return: async () => {
      const reader = await opening.catch(() => undefined);
      return (await reader?.return?.()) ?? DONE;
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/**
 * Accepts an input. It opens no turn: a process that runs turns takes it, which can be this one. If a plugin has
 * an `input` hook, the session is opened for the hook.
 */
export async function sendToSession(
  core: Core,
  given: string,
  input: Input,
  options: SendOptions,
): Promise<{ readonly turnId: TurnId }> {
  const { key, place } = sendingOf("sessions.send", options);
  const stored = await requireStored(core, given);
  const { id } = stored;
  const make = async () => newInput(core, id, input, key, place, undefined, options.metadata);
  const made = await make();
  const attach = typeof input === "string" ? undefined : attaching(core, input);
  const { hooks } = core.bare ?? composed(core, stored, stored.options, true).composition;
  if (hooks.has.input) return core.sessions.using(id, async (open) => ({ turnId: await accept(open, made, attach) }));
  if (core.door.isClosed) throw new RuntimeError("runtime.closed", {});
  const { turnId } = await whileSwept(
    () => core.store.accept(made, core.owner, undefined, core.limits.pendingInputsMax),
    attach ?? (async () => {}),
  );
  core.readers.hinted(id);
  core.watcher.inputAccepted(id);
  return { turnId };
}

/** Follows a turn of any session. An unknown turn rejects `result()`. */
export function followTurn(core: Core, given: string): Turn {
  const handle = new TurnHandle({ core, id: asSessionId("") }); // `join` sets the session once it is known.
  join(core, given, handle).catch((error: unknown) => handle.failed(error));
  return handle;
}

async function join(core: Core, given: string, handle: TurnHandle): Promise<void> {
  const stored = typeof given === "string" ? await core.store.find(asTurnId(given)) : undefined;
  if (stored === undefined)
    throw new RuntimeError("turn.unknown", { turnId: typeof given === "string" ? given : typeof given });
  const { sessionId: id } = stored;
  const turnId = asTurnId(given);
  handle.belongsTo(id);
  const found = core.sessions.findOpening(id);
  const open = isThenable(found) ? await found : found;
  if (open !== undefined) return follow(open, turnId, handle);
  const followers = core.watcher.followed.get(id) ?? new Followers();
  followers.join(turnId, handle);
  core.watcher.follow(id, followers, turnId); // Before the first await, so that a second handle finds the followers.
  try {
    await settle({ core, id, followers }, turnId);
  } catch (error) {
    failHandles(core, id, followers, turnId, error);
  }
}
