import { isDeepStrictEqual } from "node:util";
import { isObject, type Json } from "../../model/json.ts";
import type { Answer } from "../../turn/event.ts";
import type { Line } from "./ledger.ts";
import type { Picture, Recorded, Remains } from "./picture.ts";

export type ViolationKind =
  /** An accepted input is missing in the graph, or a started job does not exist. */
  | "lost"
  /** An effect or a step of a job ran again although it was recorded, or although its tool forbids it. */
  | "repeated"
  /** An input in the graph, an end or a step of a job, or an occurrence of a schedule exists more than once. */
  | "doubled"
  /** An effect ran before the event that released it was durable. */
  | "early"
  /** A call does not have exactly one result. */
  | "unpaired"
  /** The final graph, outcomes, plugin states, jobs or triggers differ from those of the run without a kill. */
  | "different"
  /** A turn or a job has no end, a lease is still held, or a process did not end. */
  | "stuck"
  /** The scenario threw. */
  | "failed";

export interface Wrong {
  readonly kind: ViolationKind;
  readonly problem: string;
}

/** The content of the store after a process died. */
export interface Death {
  /**
   * The numbers of ledger lines before and after the store was read, because other processes may have run meanwhile.
   */
  readonly before: number;
  readonly after: number;
  readonly recorded: Recorded;
}

/** Finds effects that ran twice, except those that were running when their process died. */
export function judgeEffects(lines: readonly Line[], deaths: readonly Death[]): readonly Wrong[] {
  const wrong: Wrong[] = [];
  const begun = new Map<string, number>(); // Effect → life.
  const dead = new Set<number>();
  for (const [index, line] of lines.entries()) {
    if (line.kind === "killed" || line.kind === "stopped") dead.add(line.life);
    if (line.kind === "continued") dead.delete(line.life);
    if (line.kind !== "began") continue;
    const which = `${line.turn} ${line.effect}`;
    const earlier = deaths.filter(({ after }) => after <= index);
    const last = earlier.at(-1)?.recorded;
    if (earlier.some(({ recorded }) => recorded.answered.has(which)) || last?.ended.has(line.turn) === true)
      wrong.push({ kind: "repeated", problem: `${which} was recorded and ran again in life ${line.life}` });
    const known = begun.get(which);
    if (known !== undefined && line.once === true)
      wrong.push({ kind: "repeated", problem: `${which} must not run again, and did in life ${line.life}` });
    if (known !== undefined && !dead.has(known))
      wrong.push({ kind: "repeated", problem: `${which} ran twice, in lives ${known} and ${line.life}` });
    begun.set(which, line.life);
  }
  for (const { before, recorded } of deaths) wrong.push(...early(lines.slice(0, before), recorded));
  return wrong;
}

/** Finds steps of jobs that ran again, except those that were running when their process died. */
export function judgeSteps(lines: readonly Line[], deaths: readonly Death[]): readonly Wrong[] {
  const wrong: Wrong[] = [];
  const begun = new Map<string, number>(); // Step → life.
  const dead = new Set<number>();
  for (const [index, line] of lines.entries()) {
    if (line.kind === "killed" || line.kind === "stopped") dead.add(line.life);
    if (line.kind === "continued") dead.delete(line.life);
    if (line.kind !== "act" || line.step === undefined) continue;
    const { step, life } = line;
    const isRecorded = ({ recorded: { steps, over } }: Death): boolean =>
      over.has(step.slice(0, step.indexOf(" "))) || [...steps].some((each) => isSame(each, step));
    if (deaths.some((death) => death.after <= index && isRecorded(death)))
      wrong.push({ kind: "repeated", problem: `step ${step} was recorded and ran again in life ${life}` });
    const known = begun.get(step);
    if (known !== undefined && !dead.has(known))
      wrong.push({ kind: "repeated", problem: `step ${step} ran twice, in lives ${known} and ${life}` });
    begun.set(step, life);
  }
  return wrong;
}

/** Returns whether a recorded name (`job once/plugin/once/pay`) is that of a scenario (`job pay`). */
function isSame(recorded: string, told: string): boolean {
  const at = told.indexOf(" ") + 1;
  return recorded === told || (recorded.startsWith(told.slice(0, at)) && recorded.endsWith(`/${told.slice(at)}`));
}

/** Finds calls and cells that started before the event that released them was in the journal. */
function early(lines: readonly Line[], { ended, journals }: Recorded): readonly Wrong[] {
  const wrong: Wrong[] = [];
  for (const line of lines) {
    if (line.kind !== "began" || ended.has(line.turn)) continue;
    const journal = journals.get(line.turn);
    const by = releaseOf(line.effect);
    if (by === undefined || journal === undefined || journal.some((event) => "effect" in event && by.is(event)))
      continue;
    wrong.push({ kind: "early", problem: `${line.effect} began before ${by.what} was recorded` });
  }
  return wrong;
}

/** Returns the event that must come before an effect. */
function releaseOf(effect: string): { readonly what: string; is(event: Answer): boolean } | undefined {
  const [, round = "", cell, place] = /^(r\d+)(\.exec)?(?:\.call\.([^.]+)|$)/.exec(effect) ?? [];
  if (cell === undefined || place === undefined)
    return round === ""
      ? undefined
      : { what: "the reply that asks for it", is: (event) => event.effect === `${round}.ask` };
  return {
    what: "the segment that made it",
    is: (event) =>
      event.kind === "called" && event.effect.startsWith(`${round}.exec`) && event.calls.some(({ at }) => at === place),
  };
}

/** Finds accepted inputs that are not in the graph exactly once. */
export function judgeInputs(lines: readonly Line[], { inputs }: Remains): readonly Wrong[] {
  const wrong: Wrong[] = [];
  const gone = new Set(
    lines.flatMap((line) => (line.kind === "withdrawn" ? [line.input] : line.kind === "deleted" ? [line.session] : [])),
  );
  const accepted = new Set(
    lines.flatMap((line) =>
      line.kind === "accepted" && !gone.has(line.input) && !gone.has(line.session) ? [line.input] : [],
    ),
  );
  for (const input of accepted)
    if (!inputs.has(input)) wrong.push({ kind: "lost", problem: `input ${input} was accepted and is nowhere` });
  for (const [input, count] of inputs)
    if (count > 1) wrong.push({ kind: "doubled", problem: `input ${input} is in the graph ${count} times` });
  return wrong;
}

/** The probable cause of a difference: processes that sent inputs without a key. Empty if there is none. */
export function withoutKey(lines: readonly Line[]): string {
  const sent = lines.flatMap((line) => (line.kind === "accepted" && line.isUnnamed === true ? [line] : []));
  const twice = sent.find(({ session, life }) => sent.some((other) => other.session === session && other.life < life));
  return twice === undefined
    ? ""
    : ` (Session ${twice.session} got an input without a key in several lives. Send each input with a \`key\`.)`;
}

export function judgePicture(picture: Picture, clean: Picture): readonly Wrong[] {
  if (isDeepStrictEqual(picture, clean)) return [];
  return [{ kind: "different", problem: difference(clean as unknown as Json, picture as unknown as Json, "") }];
}

/** Returns the first path at which two values differ. */
function difference(expected: Json | undefined, actual: Json | undefined, path: string): string {
  if (typeof expected === "object" && typeof actual === "object" && expected !== null && actual !== null) {
    const keys = new Set([...Object.keys(expected), ...Object.keys(actual)]);
    for (const key of keys) {
      const [a, b] = [fieldOf(expected, key), fieldOf(actual, key)];
      if (!isDeepStrictEqual(a, b)) return difference(a, b, path === "" ? key : `${path}.${key}`);
    }
  }
  return `${path}: ${short(actual)} instead of ${short(expected)}`;
}

const fieldOf = (value: Json, key: string): Json | undefined =>
  isObject(value) || Array.isArray(value) ? (value as { readonly [key: string]: Json })[key] : undefined;

const short = (value: Json | undefined): string => {
  const text = value === undefined ? "nothing" : JSON.stringify(value);
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
};
