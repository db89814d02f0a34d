import type { TurnRun } from "../hosts/host.ts";
import { hasCode } from "../model/errors.ts";
import { describeThrown, isThenable } from "../model/json.ts";
import type { Committed, EndedTurn } from "../stores/store.ts";
import { isEnded, type Step } from "../turn/state.ts";
import { begin, step } from "../turn/step.ts";
import { endedTurn, salvagedTurn } from "./commit.ts";
import type { LiveTurn } from "./live.ts";

/** A turn and what its commit answered. */
export interface Kept {
  readonly turn: EndedTurn;
  readonly committed: Committed;
}

/** Ends a turn that `drive` could not: whole or not at all holds here too. */
async function salvage(live: LiveTurn, run: TurnRun, error: unknown): Promise<Kept> {
  let cancel = live.state.winding?.cancel?.requestId;
  for (;;) {
    const turn = salvagedTurn(live, error, cancel);
    const done = await run.commit(turn);
    if (!("reopen" in done)) return { turn, committed: done };
    for (const event of done.reopen) if (event.kind === "cancelled") cancel = event.requestId;
  }
}

/** Drives a turn to its commit. The live path and the resumed one are this loop: a host that replays answers from its history. */
async function drive(live: LiveTurn, run: TurnRun): Promise<Kept> {
  advance(begin(live.opened));
  for (;;) {
    while (!isEnded(live.state)) {
      const next = run.next(); // The one place to wait; what is there already is taken at once.
      advance(step(live.driver, live.state, isThenable(next) ? await next : next));
    }
    const turn = endedTurn(live);
    const commit = run.commit(turn);
    const done = isThenable(commit) ? await commit : commit;
    if (!("reopen" in done)) return { turn, committed: done };
    for (const event of done.reopen) advance(step(live.driver, live.state, event)); // A cancel came before the commit.
  }
  function advance({ state, effects, dropped }: Step): void {
    live.state = state;
    run.start(effects, dropped);
  }
}

/** One way or another: only a lost lease, or a store that fails, leaves the turn to others. */
export function toCommit(live: LiveTurn, run: TurnRun): Promise<Kept> {
  return drive(live, run).catch((error: unknown) => {
    if (hasCode(error, "lease.lost") || hasCode(error, "runtime.closed")) throw error;
    live.trace("turn.salvaged", { problem: describeThrown(error) });
    return salvage(live, run, error);
  });
}
