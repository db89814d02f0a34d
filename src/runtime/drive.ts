import type { TurnRun } from "../hosts/host.ts";
import { hasCode, passingFault, RuntimeError } from "../model/errors.ts";
import { describeThrown, isThenable } from "../model/json.ts";
import { LazyScope } from "../model/scope.ts";
import type { Committed, EndedTurn } from "../stores/store.ts";
import type { TurnEvent } from "../turn/event.ts";
import { isEnded, type Step } from "../turn/state.ts";
import { begin, step } from "../turn/step.ts";
import { endedTurn, salvagedTurn } from "./commit.ts";
import type { LiveTurn } from "./live.ts";
import { recallPrepared } from "./prepare.ts";

/** A turn and what its commit answered. */
export interface Kept {
  readonly turn: EndedTurn;
  readonly committed: Committed;
  /** Not as the machine had it. */
  readonly isSalvaged?: true;
}

/** Ends a turn that `drive` could not: whole or not at all holds here too. */
async function salvage(live: LiveTurn, run: TurnRun, error: unknown): Promise<Kept> {
  let cancel = live.state.winding?.cancel?.requestId;
  for (;;) {
    const turn = salvagedTurn(live, error, cancel);
    const done = await run.commit(turn);
    if (!("reopen" in done)) return { turn, committed: done, isSalvaged: true };
    for (const event of done.reopen) if (event.kind === "cancelled") cancel = event.requestId;
  }
}

/** Drives a turn to its commit. The live path and the resumed one are this loop: a host that replays answers from its history. */
async function drive(live: LiveTurn, run: TurnRun): Promise<Kept> {
  const first = begin(live.opened);
  live.state = first.state;
  if (live.journal.length > 0) followJournal(live);
  advance(first);
  for (;;) {
    while (!isEnded(live.state)) {
      const next = run.next(); // The one place to wait; what is there already is taken at once.
      const event = isThenable(next) ? await next : next;
      if (event.kind === "resumed" && event.generation === live.lease.generation) await recallWhole(live);
      advance(stepped(live, event));
    }
    const turn = endedTurn(live);
    const commit = run.commit(turn);
    const done = isThenable(commit) ? await commit : commit;
    if (!("reopen" in done)) return { turn, committed: done };
    for (const event of done.reopen) advance(stepped(live, event)); // A cancel came before the commit.
  }
  function advance({ state, effects, dropped }: Step): void {
    live.state = state;
    run.start(effects, dropped);
  }
}

/**
 * That it goes on is recorded, and nothing is begun yet: what the turn was prepared with is read back now, so that
 * between the host's look at its lease and the beginning of a call nothing waits.
 */
async function recallWhole(live: LiveTurn): Promise<void> {
  if (!live.journal.some(({ kind }) => kind === "prepared")) return;
  try {
    await recallPrepared(live, new LazyScope());
  } catch (error) {
    live.isUnfoldable = true;
    throw error;
  }
}

/** A recorded event that answers nothing means that today's machine is not the one that recorded it. */
function stepped(live: LiveTurn, event: TurnEvent): Step {
  try {
    return step(live.driver, live.state, event);
  } catch (error) {
    if (hasCode(error, "turn.diverged")) live.isUnfoldable = live.journal.length > 0;
    throw error;
  }
}

/** Another run had this turn: its protocol and its plugins must be those of today, or be able to follow. */
function followJournal(live: LiveTurn): void {
  const { protocol, host, limits } = live.opened;
  if (host !== live.core.host.kind)
    throw new RuntimeError("turn.host", { expected: host, actual: live.core.host.kind });
  try {
    live.recall();
    const age = live.core.world.now() - (live.journal.at(-1)?.at ?? 0);
    if (age > limits.turnAgeMs) throw new RuntimeError("turn.expired", { days: Math.floor(age / DAY_MS) });
    const { id, version } = live.driver;
    if (protocol.id !== id || protocol.version !== version)
      throw new RuntimeError("turn.diverged", { effect: "the protocol", kind: `${protocol.id}@${protocol.version}` });
  } catch (error) {
    live.isUnfoldable = true;
    throw error;
  }
}

const DAY_MS = 86_400_000;

/** One way or another: only a lost lease, or a store that fails, leaves the turn to others. */
export function toCommit(live: LiveTurn, run: TurnRun): Promise<Kept> {
  return drive(live, run).catch((error: unknown) => {
    if (passingFault(error) !== undefined || hasCode(error, "runtime.closed") || hasCode(error, "turn.host"))
      throw error;
    live.trace("turn.salvaged", { problem: describeThrown(error) });
    return salvage(live, run, error);
  });
}
