import { isForOthers, passingFault, RuntimeError } from "../../model/errors.ts";
import type { InputId } from "../../model/ids.ts";
import type { NewJob } from "../../model/job.ts";
import { describeThrown } from "../../model/json.ts";
import type { Spent } from "../../model/usage.ts";
import type { Effect } from "../../turn/effect.ts";
import type { Answer, Failure } from "../../turn/event.ts";
import type { Spawning } from "../jobs/desk.ts";
import type { LiveTurn } from "./turn.ts";

/** An answer before `stamped` adds its time, its effect, and what was changed and spent meanwhile. */
export type Body = Answer extends infer A ? (A extends Answer ? Omit<A, "at" | "effect" | "changes"> : never) : never;

/** Completes an answer. Changed plugin states go with it, except in a parallel call, which may change none. */
export function stamped(live: LiveTurn, effect: Effect, body: Body): Answer {
  const answer = body as { -readonly [K in keyof Answer]: Answer[K] }; // Fresh from its performer, so it is ours to stamp.
  answer.at = live.core.world.now();
  answer.effect = effect.name;
  const changes = effect.kind !== "call" || effect.writes === true ? live.states.take() : undefined;
  if (changes !== undefined) answer.changes = changes;
  if (live.hasSpent) Object.assign(answer, live.takeSpent());
  const appends = live.appending === undefined ? undefined : live.takeAppends(effect);
  if (appends !== undefined) answer.appends = appends;
  if (live.carrying !== undefined) carry(live, effect, answer);
  return answer as Answer;
}

/** What goes along with the answer of an effect. */
export interface Carried {
  /** Jobs that begin with it. */
  readonly spawns: Spawning[];
  /** Inputs whose nodes are among its appends, and how often some were claimed. */
  readonly taken: InputId[];
  claims: number;
  /** What others paid while the turn was open, in inputs that it takes. */
  readonly spent: Spent[];
}

function carry(
  live: LiveTurn,
  effect: Effect,
  answer: { spawns?: readonly NewJob[]; taken?: readonly InputId[]; spent?: readonly Spent[] },
): void {
  const { spawns = [], taken = [], spent = [] } = live.takeCarried(effect) ?? {};
  for (const spawning of spawns) live.core.background.jobs.toBegin(live.turnId, spawning);
  if (spawns.length > 0) answer.spawns = spawns.map(({ job }) => job);
  if (taken.length > 0) answer.taken = taken;
  if (spent.length > 0) answer.spent = [...(answer.spent ?? []), ...spent];
}

/** A fault of the store, or of this process, is rethrown and not recorded: the effect is performed again elsewhere. */
export function failed(live: LiveTurn, effect: Effect, error: unknown): Answer {
  const fault = passingFault(error, live.core.store) ?? (isForOthers(error) ? error : undefined);
  if (fault !== undefined) throw fault;
  if (effect.kind !== "call" || effect.writes === true) live.states.forget();
  live.takeAppends(effect);
  live.takeCarried(effect);
  const answer = { kind: "failed", at: live.core.world.now(), effect: effect.name, error: failureOf(error) } as const;
  return { ...answer, ...live.takeSpent() };
}

export function failureOf(error: unknown): Failure {
  if (!(error instanceof RuntimeError))
    return { class: "runtime", code: "protocol.failed", message: describeThrown(error) };
  const plugin = (error.details as { plugin?: string }).plugin;
  if (plugin !== undefined) return { class: "plugin", code: error.code, message: error.message, plugin };
  return { class: "runtime", code: error.code, message: error.message };
}
