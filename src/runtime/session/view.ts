import type { InputId, TurnId } from "../../model/ids.ts";
import { defined } from "../../model/json.ts";
import { type Draft, inputIdOf } from "../../model/message.ts";
import { costOf } from "../../model/usage.ts";
import type { OpenInput, OpenWait, SessionView } from "../../model/view.ts";
import type { Store, StoredWait } from "../../stores/store.ts";
import { itemsOf } from "../../turn/log.ts";
import { effectiveConfig } from "../core.ts";
import { ownTurn } from "../live-turn/input.ts";
import { cursorFor } from "../readers/cursor.ts";
import type { LiveSession } from "./session.ts";

/** Reads the session and the latest fact until neither moved meanwhile: a reader that goes on there misses nothing. */
async function momentOf(session: LiveSession) {
  for (;;) {
    const { store } = session.core;
    const kept = await session.kept.asStored();
    const latest = await store.latest();
    const { openTurn } = await session.kept.requireThere();
    const inputs = await openInputs(session, openTurn);
    const waits = await store.waits.list({ session: session.id, max: Infinity });
    const { revision } = await session.kept.requireThere();
    const later = await store.changes(latest, { session: session.id, max: 1 }); // Facts of other sessions do not count.
    if (revision === kept.stored.revision && later.length === 0) return { ...kept, inputs, waits, latest };
  }
}

/** The session as last committed, and the cursor to observe from. */
export async function viewOf(session: LiveSession): Promise<SessionView> {
  const { core, id } = session;
  const { stored, transcript, inputs, waits: asked, latest } = await momentOf(session);
  const { parentId, origin, head, turns, usage, ledger } = stored;
  const { frame } = transcript;
  const cost = costOf(ledger, core.prices);
  const messages = [...transcript.messages];
  const config = effectiveConfig(core, stored.config);
  const cursor = latest === undefined ? undefined : cursorFor(id, latest);
  const waits = asked.map(openWait);
  const open = { inputs, waits };
  return defined({ id, parentId, origin, head, frame, messages, ...open, turns, config, usage, ledger, cost, cursor });
}

/** Without its key: views are shown to clients. */
function openWait({ id, turnId, jobId, effect, until, about }: StoredWait): OpenWait {
  const { kind: wants, call, reason } = about;
  return { id, ...defined({ turnId, jobId }), wants, effect, callId: call.id, call, reason, until };
}

async function openInputs(session: LiveSession, openTurn: TurnId | undefined): Promise<readonly OpenInput[]> {
  const { store } = session.core;
  const waiting = (await store.inputs.list(session.id)).map(
    ({ id, turnId, place, message }): OpenInput => ({ id, ...ownTurn(place, turnId), state: "waiting", message }),
  );
  return openTurn === undefined ? waiting : [...(takenHere(session) ?? (await takenBy(store, openTurn))), ...waiting];
}

function takenHere({ running }: LiveSession): readonly OpenInput[] | undefined {
  if (running?.state === undefined) return undefined;
  return itemsOf(running.state.log).flatMap((entry) => {
    const id = entry.kind === "message" ? (inputIdOf(entry.message) as InputId | undefined) : undefined;
    if (entry.kind !== "message" || id === undefined) return [];
    const { role, parts } = entry.message;
    return [{ id, turnId: running.turnId, state: "running" as const, message: { role, parts } }];
  });
}

/** Inputs that a turn of another process has taken, from its journal. */
async function takenBy(store: Store, turnId: TurnId): Promise<readonly OpenInput[]> {
  const taken: OpenInput[] = [];
  const add = (id: InputId, message: Draft): void => void taken.push({ id, turnId, state: "running", message });
  for (const event of await store.journal(turnId, 0)) {
    if (event.kind === "opened") add(event.inputId, event.input);
    if (event.kind === "bounded")
      for (const input of event.inputs ?? []) if ("message" in input) add(input.inputId, input.message);
  }
  return taken;
}
