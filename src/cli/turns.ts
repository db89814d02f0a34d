import type { Runtime } from "../index.ts";
import { defined } from "../model/json.ts";
import type { TurnOutcome } from "../model/outcome.ts";
import type { TurnRecord } from "../model/turn-record.ts";
import { tokensIn } from "../model/usage.ts";
import { type Column, lasting, price, short, since, table, widthOfTable } from "./columns.ts";
import { shownPlace } from "./database-file.ts";
import { EXIT, type Io, UsageError } from "./io.ts";
import { type LookSettings, warnOfUnpriced, withRuntime } from "./look.ts";
import { counted } from "./print.ts";
import { jsonFor, oneLine, textFor } from "./text.ts";

type Page = NonNullable<Parameters<Runtime["turns"]["list"]>[0]>;

/** `bowline turns`: lists turns of all sessions, the latest first. */
export async function turns(io: Io, settings: LookSettings): Promise<number> {
  const page = pageOf(settings, Date.now());
  const found = await withRuntime(io, settings, async (runtime) => {
    const records = await runtime.turns.list(page);
    // If there are no turns, the id can be mistyped. `find` throws for an unknown id.
    if (records.length === 0 && page.session !== undefined) await runtime.sessions.get(page.session);
    return records;
  });
  warnOfUnpriced(io, settings, found);
  if (settings.json) io.stdout.write(`${jsonFor(settings, found, 2)}\n`);
  else if (found.length > 0) io.stdout.write(`${turnTable(found, widthFor(io), settings, true).join("\n")}\n`);
  else {
    const { session, state, outcome, model, since, until } = page;
    const isNarrowed = [session, state, outcome, model, since, until].some((each) => each !== undefined);
    const where = textFor(settings)(await shownPlace(io, settings.db));
    io.stdout.write(isNarrowed ? `No turn in ${where} matches.\n` : `There are no turns in ${where} yet.\n`);
  }
  return EXIT.ok;
}

const WIDTH = { default: 80, least: 40 };
/** The width for printing. A pipe has no columns, and some terminals report 0. */
export const widthFor = ({ stdout }: Pick<Io, "stdout">): number =>
  Math.max(WIDTH.least, stdout.columns || WIDTH.default);

// ── The options ─────────────────────────────────────────────────────────────────────────────────────────────────────

const STATES: { readonly [state in TurnRecord["state"]]: true } = {
  ...{ queued: true, running: true, waiting: true, interrupted: true, ended: true },
};
const OUTCOMES: { readonly [kind in TurnOutcome["kind"]]: true } = {
  ...{ answered: true, finished: true, stopped: true, failed: true },
};
const MAX = { default: 30, most: 1_000 };

function pageOf({ session, state, outcome, model, since, until, max }: LookSettings, now: number): Page {
  return {
    session,
    model,
    state: state === undefined ? undefined : oneOf(STATES, "state", state),
    outcome: outcome === undefined ? undefined : oneOf(OUTCOMES, "outcome", outcome),
    since: since === undefined ? undefined : timeOf("since", since, now),
    until: until === undefined ? undefined : timeOf("until", until, now),
    max: max === undefined ? MAX.default : countOf(max),
  };
}

function oneOf<Name extends string>(known: { readonly [name in Name]: true }, option: string, given: string): Name {
  if (Object.hasOwn(known, given)) return given as Name;
  throw new UsageError(
    `There is no ${option} ${JSON.stringify(given)}.`,
    `There are ${Object.keys(known).join(", ")}.`,
  );
}

const UNITS: { readonly [unit: string]: number } = {
  ...{ s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 },
};
const SPAN = /^(\d+(?:\.\d+)?)([smhdw])$/;
const ISO = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;

const DAYS_AGO: { readonly [day: string]: number } = { today: 0, yesterday: 1 };

function timeOf(option: "since" | "until", given: string, now: number): number {
  const at = parsedTime(given, now);
  if (Number.isFinite(at)) return at;
  throw new UsageError(
    `${JSON.stringify(given)} is not a time.`,
    `Such as --${option} 2h, --${option} yesterday, --${option} 2026-05-31, or --${option} 2026-05-31T08:00Z.`,
  );
}

/** How long ago it was, a day, or ISO 8601. A day begins at midnight here, and a time without a zone is of here. */
function parsedTime(given: string, now: number): number {
  const [, count, unit = ""] = SPAN.exec(given) ?? [];
  if (count !== undefined) return now - Number(count) * (UNITS[unit] as number);
  if (Object.hasOwn(DAYS_AGO, given)) return new Date(now).setHours(-24 * (DAYS_AGO[given] as number), 0, 0, 0);
  if (!ISO.test(given)) return Number.NaN;
  return Date.parse(given.includes(":") ? given : `${given}T00:00`);
}

function countOf(given: string): number {
  const count = /^\d+$/.test(given) ? Number(given) : 0;
  if (count >= 1 && count <= MAX.most) return count;
  throw new UsageError(`--max is a whole number from 1 to ${MAX.most}.`, "For example --max 100.");
}

// ── The table ───────────────────────────────────────────────────────────────────────────────────────────────────────

/**
 * A table of turns, with their sum if they are `ofMany` sessions. If there is no room, it shortens ids to beginnings, which
 * `bowline show` accepts too.
 */
export function turnTable(
  found: readonly TurnRecord[],
  width: number,
  settings: LookSettings,
  ofMany = false,
): readonly string[] {
  const now = Date.now();
  const text = textFor(settings);
  const hasSum = ofMany && found.length > 1;
  const column = (
    head: string,
    cellOf: (record: TurnRecord) => string,
    { sum = "", ...more }: Partial<Column> & { readonly sum?: string } = {},
  ): Column => {
    const cells = found.map((record) => oneLine(cellOf(record), text));
    return { head, cells: hasSum ? [...cells, sum] : cells, ...more };
  };
  const right = (sum?: string) => ({ isRight: true, ...defined({ sum }) });
  const all = sumOf(found, now);
  const made = (turnId: Shorten, sessionId: Shorten, modelName: Shorten): readonly Column[] => [
    column("turn", ({ id }) => turnId(id), { sum: counted(found.length, "turn") }),
    column("ago", (record) => ifThere(startOf(record), (at) => since(at, now)), right()),
    ...(ofMany ? [column("session", (record) => sessionId(record.sessionId), { least: 8 })] : []),
    column("outcome", ({ state, outcome }) => (state === "ended" ? (outcome ?? state) : state)),
    column("model", ({ model }) => ifThere(model, modelName), { least: 6 }),
    column("rounds", ({ rounds }) => ifThere(rounds, String), right(String(all.rounds))),
    column("time", (record) => ifThere(timeOfTurn(record, now), lasting), right(lasting(all.ms))),
    column("tokens", ({ usage }) => ifThere(usage, (usage) => short(tokensIn(usage))), right(short(all.tokens))),
    column("cost", ({ cost }) => price(cost, settings.prices), right(price(all.cost, settings.prices))),
  ];
  const turnId = shortener(found.map(({ id }) => id));
  const sessionId = shortener(found.map((record) => record.sessionId));
  const whole: Shorten = (words) => words;
  const tries = [
    made(whole, whole, whole),
    made(turnId, whole, whole),
    made(turnId, sessionId, whole),
    made(turnId, sessionId, (name) => name.slice(name.indexOf("/") + 1)),
  ];
  return table(tries.find((columns) => widthOfTable(columns) <= width) ?? (tries.at(-1) as Column[]), width);
}

/** Without a cost if the cost of one of them is unknown. */
function sumOf(found: readonly TurnRecord[], now: number) {
  const sum = (of: (record: TurnRecord) => number): number => found.reduce((sum, record) => sum + of(record), 0);
  const isPriced = found.every(({ cost, usage }) => cost !== undefined || usage === undefined);
  return {
    rounds: sum(({ rounds = 0 }) => rounds),
    ms: sum((record) => timeOfTurn(record, now) ?? 0),
    tokens: sum(({ usage }) => (usage === undefined ? 0 : tokensIn(usage))),
    cost: isPriced ? sum(({ cost = 0 }) => cost) : undefined,
  };
}

type Shorten = (words: string) => string;
const ifThere = <T>(value: T | undefined, show: (value: T) => string): string =>
  value === undefined ? "" : show(value);

const startOf = ({ startedAt, acceptedAt, endedAt }: TurnRecord): number | undefined =>
  startedAt ?? acceptedAt ?? endedAt;

/** How long the turn ran, or has run until now. The end of an interrupted turn is not recorded. */
function timeOfTurn({ startedAt, endedAt, state }: TurnRecord, now: number): number | undefined {
  if (startedAt === undefined || (endedAt === undefined && state === "interrupted")) return undefined;
  return (endedAt ?? now) - startedAt;
}

/** Ids of the runtime start with their kind, followed by digits of the time. */
const MADE = /^(?:trn|ses)_(?=[0-9a-z]{24}$)/;
const SHORT = 10;

/** Shortens ids of the runtime to beginnings that are unique in the list. */
export function shortener(ids: readonly string[]): Shorten {
  const digits = [...new Set(ids.filter((id) => MADE.test(id)).map((id) => id.replace(MADE, "")))];
  let length = SHORT;
  while (new Set(digits.map((each) => each.slice(0, length))).size < digits.length) length++;
  return (id) => (MADE.test(id) ? id.replace(MADE, "").slice(0, length) : id);
}
