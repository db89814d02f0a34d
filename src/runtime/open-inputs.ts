import type { InputId, SessionId, TurnId } from "../model/ids.ts";
import type { Draft } from "../model/message.ts";
import type { OpenInput } from "../model/view.ts";
import type { Store } from "../stores/store.ts";

/** What the open turn has taken, then what waits. */
export async function openInputs(
  store: Store,
  session: SessionId,
  openTurn: TurnId | undefined,
  /** By the turn that runs here. */
  taken: readonly OpenInput[] | undefined,
): Promise<readonly OpenInput[]> {
  const waiting = (await store.inputs.list(session)).map(
    ({ id, turnId, message }): OpenInput => ({ id, turnId, state: "waiting", message }),
  );
  return openTurn === undefined ? waiting : [...(taken ?? (await takenBy(store, openTurn))), ...waiting];
}

/** As its journal has it, which begins with what opened it. */
async function takenBy(store: Store, turnId: TurnId): Promise<readonly OpenInput[]> {
  const taken: OpenInput[] = [];
  const add = (id: InputId, message: Draft): void => void taken.push({ id, turnId, state: "running", message });
  for (const event of await store.journal(turnId, 0)) {
    if (event.kind === "opened") add(event.inputId, event.input);
    if (event.kind === "bounded") for (const { inputId, message } of event.inputs ?? []) add(inputId, message);
  }
  return taken;
}
