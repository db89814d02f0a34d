import type { InputId, TurnId } from "../../model/ids.ts";
import { defined } from "../../model/json.ts";
import { type Draft, inputIdOf } from "../../model/message.ts";
import { costOf } from "../../model/usage.ts";
import type { OpenInput, OpenTurn, OpenWait, SessionView } from "../../model/view.ts";
import type { StoredSession, StoredWait } from "../../stores/store.ts";
import { effectiveConfig } from "../core.ts";
import { cursorFor } from "../readers/cursor.ts";
import { openTurnIn } from "../readers/open-turn.ts";
import type { Journal } from "../readers/recorded.ts";
import { modelMismatch } from "../services/reading.ts";
import { ownTurn } from "./input.ts";
import type { LiveSession } from "./session.ts";

/** A session for reading: it is open here, or it is read from the store each time. */
export interface Viewed extends Pick<LiveSession, "core" | "id"> {
  readonly running?: LiveSession["running"];
  readonly snapshot: Pick<LiveSession["snapshot"], "asStored" | "requireThere">;
}

/**
 * Reads the session and the latest fact until neither changed during the read, so that a reader can continue from there
 * without a loss.
 */
async function momentOf(session: Viewed) {
  for (;;) {
    const { store } = session.core;
    const saved = await session.snapshot.asStored();
    const latest = await store.latest();
    const there = await session.snapshot.requireThere();
    const open = await openIn(session, there);
    const waits = await store.waits.list({ session: session.id, max: Infinity });
    const { revision } = await session.snapshot.requireThere();
    const later = await store.changes(latest, { session: session.id, max: 1 }); // Facts of other sessions do not count.
    if (revision === saved.stored.revision && later.length === 0) return { ...saved, ...open, waits, latest };
  }
}

/** The committed session, the recorded part of its open turn, and the cursor to observe from. */
export async function viewOf(session: Viewed): Promise<SessionView> {
  const { core, id } = session;
  const { stored, transcript, openTurn, inputs, waits: asked, latest } = await momentOf(session);
  const { parentId, origin, owner, tags, createdAt, head, turns, usage, ledger } = stored;
  const { frame } = transcript;
  const cost = costOf(ledger, core.prices);
  const messages = [...transcript.messages];
  const config = effectiveConfig(core, stored.config);
  const cursor = latest === undefined ? undefined : cursorFor(id, latest);
  const waits = asked.map(openWait);
  const open = { openTurn, inputs, waits, modelMismatch: modelMismatch(core, stored) };
  const about = { id, parentId, origin, owner, tags, createdAt, head, frame };
  return defined({ ...about, messages, ...open, turns, config, usage, ledger, cost, cursor });
}

/** Without its key: views are shown to clients. */
function openWait({ id, turnId, jobId, effect, until, about }: StoredWait): OpenWait {
  const { kind: wants, call, reason } = about;
  return { id, ...defined({ turnId, jobId }), wants, effect, callId: call.id, call, reason, until };
}

/** The open turn so far, and the inputs that it has taken or that wait. */
async function openIn(session: Viewed, stored: StoredSession) {
  const { core, id, running } = session;
  const waiting = (await core.store.inputs.list(id)).map(
    ({ id: inputId, turnId, place, message }): OpenInput => ({
      id: inputId,
      ...ownTurn(place, turnId),
      state: "waiting",
      message,
    }),
  );
  const turnId = stored.openTurn;
  if (turnId === undefined) return { inputs: waiting };
  if (running?.turnId === turnId && running.state !== undefined) {
    const openTurn = openTurnIn(running.state);
    return { openTurn, inputs: [...takenHere(openTurn), ...waiting] };
  }
  const journal = await core.store.journal(turnId, 0);
  if (journal.length === 0) return { inputs: waiting }; // The turn has ended in the meantime.
  const { recordedTurn } = await import("../readers/recorded.ts");
  return { openTurn: recordedTurn(core, stored, journal), inputs: [...takenBy(turnId, journal), ...waiting] };
}

const takenHere = ({ id: turnId, messages }: OpenTurn): readonly OpenInput[] =>
  messages.flatMap((message) => {
    const id = inputIdOf(message) as InputId | undefined;
    const { role, parts } = message;
    return id === undefined ? [] : [{ id, turnId, state: "running" as const, message: { role, parts } }];
  });

/** Inputs that a turn of another process has taken, from its journal. */
function takenBy(turnId: TurnId, journal: Journal): readonly OpenInput[] {
  const taken: OpenInput[] = [];
  const add = (id: InputId, message: Draft): void => void taken.push({ id, turnId, state: "running", message });
  for (const event of journal) {
    if (event.kind === "opened") add(event.inputId, event.input);
    if (event.kind === "bounded")
      for (const input of event.inputs ?? []) if ("message" in input) add(input.inputId, input.message);
  }
  return taken;
}
