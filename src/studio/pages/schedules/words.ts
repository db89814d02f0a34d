// When a subscription starts its work, in words. A cron pattern without short words stays as it is.
import type { Subscription } from "../../types.ts";

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const MONTHS = [
  ...["January", "February", "March", "April", "May", "June", "July"],
  ...["August", "September", "October", "November", "December"],
];
const UNITS: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, "day"],
  [3_600_000, "hour"],
  [60_000, "minute"],
  [1_000, "second"],
];

export function whenOf({ on }: Pick<Subscription, "on">): string {
  switch (on.kind) {
    case "cron":
      return `${cronInWords(on.cron) ?? `cron ${on.cron}`}, ${on.timeZone}`;
    case "interval":
      return `every ${interval(on.everyMs)}`;
    case "event":
      return on.source === undefined ? `event ${on.event}` : `event ${on.event} from ${on.source}`;
    case "commits":
      return "after each turn of its session";
  }
}

function interval(ms: number): string {
  const parts: string[] = [];
  let left = ms;
  for (const [size, unit] of UNITS) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(`${count} ${unit}${count === 1 ? "" : "s"}`);
  }
  if (parts.length === 0 || left > 0) return `${ms / 1_000} seconds`;
  return parts.length === 1 ? (parts[0] as string).replace(/^1 /, "") : parts.join(" ");
}

/** Undefined for patterns that have no short words. */
export function cronInWords(cron: string): string | undefined {
  const named = NAMED[cron];
  if (named !== undefined) return named;
  const fields = cron.split(/\s+/);
  // Six fields begin with the second.
  const [second, minute, hour, day, month, weekday] = fields.length === 5 ? ["0", ...fields] : fields;
  if (!second || !minute || !hour || !day || !month || !weekday || second !== "0") return undefined;
  const days = daysOf(day, month, weekday);
  if (days === undefined) return undefined;
  const time = timesOf(minute, hour);
  if (time === undefined) return undefined;
  return time.isClock ? `${days} at ${time.text}` : days === "every day" ? time.text : `${time.text}, ${days}`;
}

const NAMED: { readonly [name: string]: string } = {
  "@hourly": "every hour",
  "@daily": "every day at 00:00",
  "@midnight": "every day at 00:00",
  "@weekly": "every Sunday at 00:00",
  "@monthly": "on day 1 of each month at 00:00",
  "@yearly": "every 1 January at 00:00",
  "@annually": "every 1 January at 00:00",
};

const two = (text: string): string => text.padStart(2, "0");
const isNumber = (text: string): boolean => /^\d{1,2}$/.test(text);

/** A step that does not divide the whole restarts with each hour or day, so it is not "every 7 minutes". */
function stepOf(text: string, whole: number): string | undefined {
  const step = /^(?:\*|0)\/(\d+)$/.exec(text)?.[1];
  return step !== undefined && whole % Number(step) === 0 ? step : undefined;
}

function timesOf(minute: string, hour: string): { readonly text: string; readonly isClock?: true } | undefined {
  const step = stepOf(minute, 60);
  const hours = stepOf(hour, 24);
  const range = /^(\d{1,2})-(\d{1,2})$/.exec(hour);
  const minutes = minute === "*" ? "every minute" : step !== undefined ? `every ${step} minutes` : undefined;
  if (minutes !== undefined) {
    if (hour === "*") return { text: minutes };
    if (range !== null)
      return { text: `${minutes} from ${two(range[1] as string)}:00 to ${two(range[2] as string)}:59` };
    return undefined;
  }
  if (!isNumber(minute)) return undefined;
  const past = minute === "0" ? "" : ` at minute ${minute}`;
  if (hour === "*") return { text: `every hour${past}` };
  if (hours !== undefined) return { text: `every ${hours} hours${past}` };
  if (range !== null)
    return {
      text: `every hour${past} from ${two(range[1] as string)}:${two(minute)} to ${two(range[2] as string)}:${two(minute)}`,
    };
  const all = hour.split(",");
  if (!all.every(isNumber)) return undefined;
  return { text: listed(all.map((each) => `${two(each)}:${two(minute)}`)), isClock: true };
}

function daysOf(day: string, month: string, weekday: string): string | undefined {
  const isAnyDay = day === "*" || day === "?";
  const isAnyWeekday = weekday === "*" || weekday === "?";
  if (month === "*" && isAnyDay && isAnyWeekday) return "every day";
  if (month === "*" && isAnyDay) return weekdaysOf(weekday);
  if (!isAnyWeekday) return undefined;
  const days = day.split(",");
  if (!days.every((each) => isNumber(each) || each === "L")) return undefined;
  const ofMonth = day === "L" ? "the last day" : `day ${listed(days)}`;
  if (month === "*") return `on ${ofMonth} of each month`;
  const name = isNumber(month) ? MONTHS[Number(month) - 1] : undefined;
  return name === undefined || !isNumber(day) ? undefined : `every ${day} ${name}`;
}

function weekdaysOf(text: string): string | undefined {
  const days = text.split(",").flatMap((part): (number | undefined)[] => {
    const [from, to = from] = part.split("-").map(dayOf);
    if (from === undefined || to === undefined || to < from) return [undefined];
    return Array.from({ length: to - from + 1 }, (_, nth) => from + nth);
  });
  if (days.includes(undefined)) return undefined;
  const names = days.map((each) => DAYS[(each as number) % 7] as string);
  if (names.join() === DAYS.slice(1, 6).join()) return "Monday to Friday";
  return `every ${listed(names)}`;
}

/** 0 to 7, both of which are Sunday, or the first letters of a name. */
function dayOf(text: string): number | undefined {
  if (/^[0-7]$/.test(text)) return Number(text);
  const found = DAYS.findIndex((name) => name.slice(0, 3).toLowerCase() === text.toLowerCase());
  return found === -1 ? undefined : found;
}

const listed = (texts: readonly string[]): string =>
  texts.length < 2 ? texts.join() : `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}`;
