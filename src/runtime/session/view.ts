import type { InputId, TurnId } from "../../model/ids.ts";
import { defined } from "../../model/json.ts";
import type { Draft } from "../../model/message.ts";
import { costOf } from "../../model/usage.ts";
import type { OpenInput, SessionView } from "../../model/view.ts";
import type { Store } from "../../stores/store.ts";
import { itemsOf } from "../../turn/log.ts";
import { effectiveConfig } from "../core.ts";
import { cursorFor } from "../readers/cursor.ts";
import type { LiveSession } from "./session.ts";

/** The session and the latest fact at one moment: read again until nothing moved in between, so that a reader who goes on from the fact misses nothing. */
async function momentOf(session: LiveSession) {
  for (;;) {
    const { store } = session.core;
    const kept = await session.kept.asStored();
    const latest = await store.latest();
    const { openTurn } = await session.kept.requireThere();
    const inputs = await openInputs(session, openTurn);
    const { revision } = await session.kept.requireThere();
    const later = await store.changes(latest, { session: session.id, max: 1 }); // Other sessions always move.
    if (revision === kept.stored.revision && later.length === 0) return { ...kept, inputs, latest };
  }
}

/** A session as it is committed, and the cursor from which on to observe what is not. */
export async function viewOf(session: LiveSession): Promise<SessionView> {
  const { core, id } = session;
  const { stored, transcript, inputs, latest } = await momentOf(session);
  const { parentId, origin, head, turns, usage, ledger } = stored;
  const { frame } = transcript;
  const cost = costOf(ledger, core.prices);
  const messages = [...transcript.messages];
  const config = effectiveConfig(core, stored.config);
  const cursor = latest === undefined ? undefined : cursorFor(id, latest);
  return defined({ id, parentId, origin, head, frame, messages, inputs, turns, config, usage, ledger, cost, cursor });
}

/** Inputs that the open turn has taken, then those that wait. */
async function openInputs(session: LiveSession, openTurn: TurnId | undefined): Promise<readonly OpenInput[]> {
  const { store } = session.core;
  const waiting = (await store.inputs.list(session.id)).map(
    ({ id, turnId, message }): OpenInput => ({ id, turnId, state: "waiting", message }),
  );
  return openTurn === undefined ? waiting : [...(takenHere(session) ?? (await takenBy(store, openTurn))), ...waiting];
}

/** Inputs that the turn that runs here has taken. */
function takenHere({ running }: LiveSession): readonly OpenInput[] | undefined {
  if (running?.state === undefined) return undefined;
  return itemsOf(running.state.log).flatMap((entry) => {
    if (entry.kind !== "message" || entry.message.origin?.kind !== "input") return [];
    const { role, parts, origin } = entry.message;
    const id = origin.inputId as InputId;
    return [{ id, turnId: running.turnId, state: "running" as const, message: { role, parts } }];
  });
}

/** Inputs that a turn elsewhere has taken, by its journal. */
async function takenBy(store: Store, turnId: TurnId): Promise<readonly OpenInput[]> {
  const taken: OpenInput[] = [];
  const add = (id: InputId, message: Draft): void => void taken.push({ id, turnId, state: "running", message });
  for (const event of await store.journal(turnId, 0)) {
    if (event.kind === "opened") add(event.inputId, event.input);
    if (event.kind === "bounded") for (const { inputId, message } of event.inputs ?? []) add(inputId, message);
  }
  return taken;
}
