import { RuntimeError } from "../../model/errors.ts";
import type { EffectName, InputId } from "../../model/ids.ts";
import type { Json } from "../../model/json.ts";
import type { Opened, TurnEvent } from "../../turn/event.ts";
import { type Appended, LEASE_MS, type Lease, type Mail, type Owner } from "../store.ts";
import { giveBack, isInput, takeForBoundary, takeInOrder } from "./queue.ts";
import type { Run, SessionRow, TurnRow, WaitingRow } from "./rows.ts";

/** What is done to an open turn: holding it, recording its events, claiming inputs for it. */

export function begin(turn: TurnRow, owner: Owner, now: number, opened: Opened): Lease {
  turn.state = "taken";
  turn.session.generation = opened.generation;
  turn.session.run = {
    turn,
    generation: opened.generation,
    owner,
    until: now + LEASE_MS,
    journal: [opened],
    claims: undefined,
    waits: undefined,
    resolved: undefined,
    notes: undefined,
    attempts: undefined,
    parked: undefined,
  };
  return leaseOf(turn.session.run);
}

export function requireHeld(session: SessionRow | undefined, lease: Lease): Run {
  const run = session?.run;
  if (run === undefined || run.generation !== lease.generation || run.turn.id !== lease.turnId) throw leaseLost(lease);
  return run;
}

export const leaseLost = ({ sessionId, generation }: Lease): RuntimeError =>
  new RuntimeError("lease.lost", { sessionId, generation });

export function takeOver(run: Run, owner: Owner, now: number): Lease {
  if (run.parked === undefined) advance(run); // Where it was parked, that was done then.
  run.parked = undefined;
  run.owner = owner;
  run.until = now + LEASE_MS;
  return leaseOf(run);
}

/** Fences whoever holds the turn. */
export function advance(run: Run): void {
  const { session } = run.turn;
  session.generation += 1;
  run.generation = session.generation;
}

const leaseOf = ({ turn, generation, owner }: Run): Lease => ({
  sessionId: turn.session.id,
  turnId: turn.id,
  generation,
  owner,
  heldMs: LEASE_MS,
  revision: turn.session.revision,
});

/** Prolongs the lease. It holds for `LEASE_MS` after `now` at least: longer where a renewal with a later time came first. */
export function renew(run: Run, now: number): Appended {
  run.until = Math.max(run.until, now + LEASE_MS); // A renewal that comes late must not shorten a later one.
  return RENEWED;
}
const RENEWED: Appended = Object.freeze({ heldMs: LEASE_MS });

export const mailOf = ({ turn: { cancel } }: Run, resolved: NonNullable<Mail["resolved"]>): Mail => ({
  heldMs: LEASE_MS,
  ...(cancel === undefined ? {} : { cancel }),
  ...(resolved.length === 0 ? {} : { resolved }),
});

export function record(run: Run, seq: number, events: readonly TurnEvent[]): void {
  const { journal } = run;
  if (seq === journal.length) {
    for (const event of events) journal.push(event);
  } else if (!isSame(journal.slice(seq, seq + events.length), events)) {
    const problem = seq > journal.length ? `leaves a gap after ${journal.length}` : "differs from what is there";
    throw new RuntimeError("append.conflict", { operation: `append ${seq} of turn ${run.turn.id}, which ${problem}` });
  }
}

/** Whether an append is a retry: the same events, in the same form. */
function isSame(kept: readonly TurnEvent[], sent: readonly TurnEvent[]): boolean {
  if (kept.length !== sent.length) return false;
  return kept.every((event, index) => event === sent[index] || JSON.stringify(event) === JSON.stringify(sent[index]));
}

export function claim(
  run: Run,
  boundary: EffectName,
  max: number,
  takes: true | "appends" | undefined,
): readonly WaitingRow[] {
  const before = run.claims?.get(boundary);
  if (before !== undefined) return before;
  const { session } = run.turn;
  const inputs = takes === true ? takeInOrder(session, max) : takeForBoundary(session, max, takes === "appends");
  if (inputs.length > 0) {
    run.claims ??= new Map();
    run.claims.set(boundary, inputs);
  }
  return inputs;
}

/** Ends the claimed inputs that the turn settled; the others wait again, in their old places. */
export function settle(run: Run, settled: readonly InputId[]): void {
  const ids = new Set(settled);
  const unsettled: WaitingRow[] = [];
  for (const inputs of run.claims?.values() ?? []) {
    for (const row of inputs) {
      if (!ids.has(row.inputId)) unsettled.push(row);
      else if (isInput(row)) {
        row.input = undefined;
        row.end = run.turn.end;
      } else row.change = undefined;
    }
  }
  giveBack(run.turn.session, unsettled);
}

export function note(run: Run, effect: EffectName, key: string, value: Json | undefined): Json | undefined {
  const name = `${effect}\n${key}`;
  const first = run.notes?.get(name);
  if (first !== undefined || value === undefined) return first;
  run.notes ??= new Map();
  run.notes.set(name, value);
  return value;
}

export function attempt(run: Run, effect: EffectName): "first" | "again" {
  if (run.attempts?.has(effect)) return "again";
  run.attempts ??= new Set();
  run.attempts.add(effect);
  return "first";
}
