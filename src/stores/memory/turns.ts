import { RuntimeError } from "../../model/errors.ts";
import type { InputId, TurnId } from "../../model/ids.ts";
import type { FoundTurn, InputRef, NewInput } from "../store.ts";
import type { Run, SessionRow, TurnRow } from "./rows.ts";

/** Every accepted input, by the turn it opens, by its own id, and by the key its sender gave it. */
export class Turns {
  readonly #rows = new Map<TurnId, TurnRow>();
  readonly byId: ReadonlyMap<TurnId, TurnRow> = this.#rows;

  /** The run of a turn; undefined unless the turn is open. */
  runOf(id: TurnId): Run | undefined {
    const turn = this.#rows.get(id);
    const run = turn?.session.run;
    return run?.turn === turn ? run : undefined;
  }

  ofInput(session: SessionRow, id: InputId): TurnRow | undefined {
    session.byInput ??= new Map();
    for (let turn = session.latest; turn !== session.indexed; turn = turn?.earlier) {
      if (turn !== undefined) session.byInput.set(turn.inputId, turn);
    }
    session.indexed = session.latest;
    return session.byInput.get(id);
  }

  /** The turns whose inputs are meant, oldest first. */
  named(session: SessionRow, which: InputRef): readonly TurnRow[] {
    const turn =
      "key" in which ? session.keys?.get(which.key) : this.ofInput(session, "id" in which ? which.id : which.from);
    if (turn === undefined) return [];
    const found = [turn];
    if ("from" in which) for (let each = session.latest; each !== turn; each = each!.earlier) found.push(each!);
    return found.sort((a, b) => a.seq - b.seq);
  }

  /** The turn of an input that came before, under its key or in the same write, whatever its content. */
  before(session: SessionRow, { turnId, key }: NewInput): TurnRow | undefined {
    const latest = key === undefined ? undefined : session.keys?.get(key);
    return (latest?.state === "withdrawn" ? undefined : latest) ?? this.#rows.get(turnId);
  }

  /** As `before`; other content is `input.conflict`. */
  known(session: SessionRow, input: NewInput): TurnRow | undefined {
    const turn = this.before(session, input);
    if (turn === undefined) return undefined;
    const { id, key, hash } = input;
    const isByKey = key !== undefined && turn.key === key && turn.state !== "withdrawn";
    if (turn.hash === hash && turn.session === session && (isByKey || turn.inputId === id)) return turn;
    throw new RuntimeError("input.conflict", { key: key ?? id });
  }

  add(session: SessionRow, input: NewInput): TurnRow {
    const { turnId: id, id: inputId, key, hash } = input;
    session.accepted += 1;
    const turn: TurnRow = {
      id,
      inputId,
      session,
      seq: session.accepted,
      acceptedAs: 0, // Until the fact is numbered.
      hash,
      key,
      isInjected: input.place === "injected",
      state: "waiting",
      input,
      cancel: undefined,
      end: undefined,
      segment: undefined,
      earlier: session.latest,
    };
    session.latest = turn;
    this.#rows.set(id, turn);
    if (key !== undefined) {
      session.keys ??= new Map();
      session.keys.set(key, turn);
    }
    return turn;
  }

  forget(session: SessionRow): void {
    for (let turn = session.latest; turn !== undefined; turn = turn.earlier) this.#rows.delete(turn.id);
  }
}

export function stateOf(turn: TurnRow): FoundTurn["state"] {
  if (turn.state !== "taken") return turn.state;
  if (turn.end !== undefined) return "ended";
  const { run } = turn.session;
  if (run?.turn !== turn) return "taken";
  return run.parked === undefined ? "open" : "parked";
}
