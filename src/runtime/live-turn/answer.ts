import { isForOthers, passingFault, RuntimeError } from "../../model/errors.ts";
import type { InputId } from "../../model/ids.ts";
import type { NewJob } from "../../model/job.ts";
import { describeThrown } from "../../model/json.ts";
import type { Spent } from "../../model/usage.ts";
import type { Effect } from "../../turn/effect.ts";
import type { Answer, Appending, Failure } from "../../turn/event.ts";
import type { EffectDraft } from "./draft.ts";
import type { LiveTurn } from "./turn.ts";

/** An answer before `stamped` adds the time, the effect, and the changes and spending of the effect. */
export type Body = Answer extends infer A ? (A extends Answer ? Omit<A, "at" | "effect" | "changes"> : never) : never;

/** An answer that contains a deadline. The deadline counts from the time of the answer, because the wait begins then. */
export type BodyAt = (at: number) => Body;

/** Completes an answer, with changed plugin states. A parallel call may change none. */
export function stamped(live: LiveTurn, effect: Effect, made: Body | BodyAt, draft?: EffectDraft): Answer {
  const at = live.core.world.now();
  const body = typeof made === "function" ? made(at) : made;
  const answer = body as { -readonly [K in keyof Answer]: Answer[K] }; // The performer made a new object, so it can be changed.
  answer.at = at;
  answer.effect = effect.name;
  const changes = effect.kind !== "call" || effect.writes === true ? live.states.take() : undefined;
  if (changes !== undefined) answer.changes = changes;
  if (live.ownSpending !== undefined) Object.assign(answer, live.ownSpending.take());
  if (draft !== undefined) record(live, draft, answer);
  return answer as Answer;
}

/** Adds the requests of the effect to its answer. */
function record(
  live: LiveTurn,
  { appends, spawns, taken, spent }: EffectDraft,
  answer: {
    appends?: readonly Appending[];
    spawns?: readonly NewJob[];
    taken?: readonly InputId[];
    spent?: readonly Spent[];
  },
): void {
  if (appends.length > 0) answer.appends = appends.map(({ from: _, ...added }) => added);
  for (const spawning of spawns) live.core.background.jobs.starts.toBegin(live.turnId, spawning);
  if (spawns.length > 0) answer.spawns = spawns.map(({ job }) => job);
  if (taken.length > 0) answer.taken = taken;
  if (spent.length > 0) answer.spent = [...(answer.spent ?? []), ...spent];
}

/** Rethrows a fault of the store or of this process. It is not recorded, because another run performs the effect again. */
export function failed(live: LiveTurn, effect: Effect, error: unknown): Answer {
  const fault = passingFault(error, live.core.store) ?? (isForOthers(error) ? error : undefined);
  if (fault !== undefined) throw fault;
  if (effect.kind !== "call" || effect.writes === true) live.states.forget();
  live.takeDraft(effect);
  const answer = { kind: "failed", at: live.core.world.now(), effect: effect.name, error: failureOf(error) } as const;
  return { ...answer, ...live.ownSpending?.take() };
}

export function failureOf(error: unknown): Failure {
  if (!(error instanceof RuntimeError))
    return { class: "runtime", code: "protocol.failed", message: describeThrown(error) };
  const plugin = (error.details as { plugin?: string }).plugin;
  if (plugin !== undefined) return { class: "plugin", code: error.code, message: error.message, plugin };
  return { class: "runtime", code: error.code, message: error.message };
}
