import type { TurnRun } from "../hosts/host.ts";
import { isThenable } from "../model/json.ts";
import type { Committed } from "../stores/store.ts";
import { isEnded, type Step } from "../turn/state.ts";
import { begin, step } from "../turn/step.ts";
import { endedTurn } from "./commit.ts";
import type { LiveTurn } from "./live.ts";

/** Drives a turn to its commit. The live path and the resumed one are this loop: a host that replays answers from its history. */
export async function drive(live: LiveTurn, run: TurnRun): Promise<Committed> {
  advance(begin(live.opened));
  for (;;) {
    while (!isEnded(live.state)) {
      const next = run.next(); // The one place to wait; what is there already is taken at once.
      advance(step(live.driver, live.state, isThenable(next) ? await next : next));
    }
    const commit = run.commit(endedTurn(live));
    const done = isThenable(commit) ? await commit : commit;
    if (!("reopen" in done)) return done;
    for (const event of done.reopen) advance(step(live.driver, live.state, event)); // A cancel came before the commit.
  }
  function advance({ state, effects, dropped }: Step): void {
    live.state = state;
    run.start(effects, dropped);
  }
}
