// Numbers and texts as people read them.

/** Control characters, which nobody can see, and bidirectional ones, which show a text in another order than it has. */
const UNSAFE = /(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu;
/** What has no shape: a person who approves a call must see all of it. */
const HIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

const spelt = (text: string, which: RegExp): string =>
  text.replaceAll("\r\n", "\n").replace(which, (each) => `\\u{${(each.codePointAt(0) as number).toString(16)}}`);

/** Text of a model, a tool or a user, safe to show. */
export const shown = (text: string): string => spelt(text, UNSAFE);
/** The same for what a person approves: also invisible characters are spelt out. */
export const exactly = (text: string): string => spelt(text, HIDDEN);

export const jsonOf = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? String(value));

/** Arguments in one line, without the brackets around them. */
export function shortJson(input: unknown): string {
  if (typeof input === "string") return input.slice(0, 400);
  if (typeof input !== "object" || input === null) return jsonOf(input);
  return Object.entries(input)
    .map(([name, value]) => `${name}: ${typeof value === "string" ? value.slice(0, 200) : JSON.stringify(value)}`)
    .join(", ");
}

/** The beginning of a text in one line. */
export function firstWords(text: string, most = 80): string {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= most ? line : `${line.slice(0, most - 1)}…`;
}

/** The beginning of a message in one line, without the marks of Markdown. */
export function plainWords(text: string, most = 80): string {
  const plain = text
    .slice(0, most * 10)
    .replace(/^\s*\|?[\s:|-]+\|\s*$/gm, "") // The line below the head of a table.
    .replace(/^\s*(?:#{1,6}|>|[-*+])\s+/gm, "")
    .replace(/\*\*|__|`+/g, "")
    .replace(/\s*\|\s*/g, " ");
  return firstWords(plain, most);
}

export function duration(ms: number): string {
  if (ms < 1) return "0 ms";
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
  const minutes = Math.floor(ms / 60_000);
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`;
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

/** How long ago, or in how long. */
export function ago(at: number, now = Date.now()): string {
  const ms = now - at;
  const size = Math.abs(ms);
  const text =
    size < 45_000
      ? undefined
      : size < 3_600_000
        ? `${Math.round(size / 60_000)} min`
        : size < 86_400_000
          ? `${Math.round(size / 3_600_000)} h`
          : `${Math.round(size / 86_400_000)} d`;
  if (text === undefined) return ms >= 0 ? "now" : `in ${Math.max(1, Math.round(size / 1_000))} s`;
  return ms >= 0 ? `${text} ago` : `in ${text}`;
}

const DATE = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
export const date = (at: number): string => DATE.format(at);
export const clock = (at: number): string => CLOCK.format(at);
const MOMENT = new Intl.DateTimeFormat(undefined, {
  month: "short",
  day: "numeric",
  hour: "2-digit",
  minute: "2-digit",
});
/** The time of today, or the day and the time. */
export const moment = (at: number, now = Date.now()): string =>
  new Date(at).toDateString() === new Date(now).toDateString() ? CLOCK.format(at) : MOMENT.format(at);

export function count(value: number): string {
  if (value < 10_000) return String(value);
  if (value < 1_000_000) return `${(value / 1_000).toFixed(value < 100_000 ? 1 : 0)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}

export function money(cost: number | undefined): string {
  if (cost === undefined) return "–";
  if (cost === 0) return "0";
  return cost < 0.01 ? cost.toFixed(4) : cost.toFixed(2);
}

export function bytes(size: number): string {
  if (size < 1_000) return `${size} B`;
  return size < 1_000_000 ? `${(size / 1_000).toFixed(1)} kB` : `${(size / 1_000_000).toFixed(1)} MB`;
}

interface Tokens {
  readonly input: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
  readonly reasoning: number;
  /** Of calls whose usage the provider did not report, such as a call that was cancelled. */
  readonly estimatedInput?: number;
  readonly estimatedOutput?: number;
}
/** All tokens of a usage: its buckets do not overlap. */
export const tokensOf = (usage: Tokens | undefined): number =>
  usage === undefined ? 0 : usage.input + usage.cacheRead + usage.cacheWrite + usage.output + usage.reasoning;

/** The number of tokens, with a mark if a part of it is estimated: costs contain that part, too. */
export function tokenCount(usage: Tokens | undefined): string {
  const estimated = (usage?.estimatedInput ?? 0) + (usage?.estimatedOutput ?? 0);
  return `${estimated > 0 ? "~" : ""}${count(tokensOf(usage) + estimated)}`;
}

export const plural = (n: number, noun: string): string => `${count(n)} ${noun}${n === 1 ? "" : "s"}`;
