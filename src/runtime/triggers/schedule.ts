// Computes the times of schedules. They depend only on the schedule and not on when a process looks, so each time
// occurs at most once.
import { Cron } from "croner";
import { RuntimeError } from "../../model/errors.ts";
import { describeThrown, idText } from "../../model/json.ts";
import type { TriggerSource } from "../../model/trigger.ts";

export type Schedule = Extract<TriggerSource, { readonly kind: "cron" | "interval" }>;

/**
 * A time counts as missed after this delay. Shorter delays are normal, because processes restart and clocks differ a
 * little.
 */
export const LATE_MS = 60_000;
/** The last time that a `Date` can represent. */
const TIME_MAX = 8.64e15;

const crons = new Map<string, Cron>();
const CRONS_MAX = 1_000;

function cronOf({ cron, timeZone }: { readonly cron: string; readonly timeZone: string }): Cron {
  const key = `${timeZone} ${cron}`;
  const known = crons.get(key);
  if (known !== undefined) return known;
  const made = new Cron(cron, { timezone: timeZone, paused: true });
  if (crons.size >= CRONS_MAX) crons.clear();
  crons.set(key, made);
  return made;
}

/** Throws `trigger.invalid` for an invalid pattern, time zone or interval, and for a schedule that never occurs. */
export function requireSchedule(on: Schedule, now: number): void {
  const wrong = (field: string, problem: string): never => {
    throw new RuntimeError("trigger.invalid", { field: `on.${field}`, problem });
  };
  if (on.kind === "interval") {
    if (!(Number.isSafeInteger(on.everyMs) && on.everyMs >= 1_000))
      wrong("everyMs", `is ${idText(on.everyMs)}, which is not a whole number of at least 1,000`);
    if (nextAfter(on, now) === undefined) wrong("everyMs", `is ${on.everyMs}, and never occurs`);
    return;
  }
  try {
    new Intl.DateTimeFormat("en", { timeZone: on.timeZone });
  } catch {
    wrong("timeZone", `is ${shown(on.timeZone)}, which is not a known time zone`);
  }
  if (!/^(\S+\s+){4,5}\S+$/.test(on.cron) && !/^@\w+$/.test(on.cron))
    wrong("cron", `is ${shown(on.cron)}, which does not have 5 or 6 fields`);
  let next: number | undefined;
  try {
    next = nextAfter(on, now);
  } catch (error) {
    wrong("cron", `is ${shown(on.cron)}: ${problemIn(on.cron, describeThrown(error))}`);
  }
  if (next === undefined) wrong("cron", `is ${shown(on.cron)}, which never occurs`);
}

const shown = (text: string): string => JSON.stringify(text.slice(0, 80));

const FIELDS = ["second", "minute", "hour", "day", "month", "dayOfWeek"];

/** Corrects messages of the library, which count days and months from 0. */
function problemIn(cron: string, problem: string): string {
  const field = /Invalid value for (\w+)/.exec(problem)?.[1];
  const fields = cron.split(/\s+/);
  const written = field === undefined ? undefined : fields.at(FIELDS.indexOf(field) - FIELDS.length);
  return written === undefined ? problem.replace(/^CronPattern: /, "") : `its ${field} cannot be ${shown(written)}`;
}

/** The first time after `time`; undefined if there is none. */
export function nextAfter(on: Schedule, time: number): number | undefined {
  if (on.kind === "cron") return cronOf(on).nextRun(new Date(time))?.getTime();
  const next = on.from + on.everyMs * (Math.floor((time - on.from) / on.everyMs) + 1);
  return next > TIME_MAX ? undefined : Math.max(next, on.from + on.everyMs);
}

/** The last time that is not after this one. */
function latestAt(on: Schedule, time: number): number | undefined {
  if (on.kind === "interval") return on.from + on.everyMs * Math.floor((time - on.from) / on.everyMs);
  return cronOf(on)
    .previousRuns(1, new Date(Math.floor(time / 1_000) * 1_000 + 1_000))[0]
    ?.getTime();
}

/** The payload of an occurrence of a schedule. */
export const occasionOf = (at: number): { readonly at: number; readonly time: string } => ({
  at,
  time: new Date(at).toISOString(),
});

/** What to do for a due schedule: which time occurs, and the next time. */
export interface Due {
  /** The time that occurs now; left out if all due times are skipped. */
  readonly at?: number;
  readonly next: number | undefined;
}

export function dueAt(on: Schedule, next: number, now: number): Due {
  if (on.missed === "all") return { at: next, next: nextAfter(on, next) };
  const found = latestAt(on, now) ?? next;
  const latest = found > now ? next : Math.max(found, next);
  const after = nextAfter(on, Math.max(now, latest));
  return on.missed === "skip" && now - latest > LATE_MS ? { next: after } : { at: latest, next: after };
}
