import type { Runtime } from "../index.ts";
import type { TurnOutcome } from "../model/outcome.ts";
import type { TurnRecord } from "../model/turn-record.ts";
import { tokensIn } from "../model/usage.ts";
import { type Column, lasting, price, short, since, table, widthOfTable } from "./columns.ts";
import { shownPlace } from "./database-file.ts";
import { EXIT, type Io, UsageError } from "./io.ts";
import { type LookSettings, withRuntime } from "./look.ts";
import { jsonFor, oneLine, textFor } from "./text.ts";

type Page = NonNullable<Parameters<Runtime["turns"]["list"]>[0]>;

/** `bowline turns`: lists turns of all sessions, the latest first. */
export async function turns(io: Io, settings: LookSettings): Promise<number> {
  const page = pageOf(settings, Date.now());
  const found = await withRuntime(io, settings, [], async (runtime) => {
    const records = await runtime.turns.list(page);
    // If there are no turns, the id can be mistyped. `find` throws for an unknown id.
    if (records.length === 0 && page.session !== undefined) await runtime.sessions.get(page.session);
    return records;
  });
  if (settings.json) io.stdout.write(`${jsonFor(settings, found, 2)}\n`);
  else if (found.length > 0) io.stdout.write(`${turnTable(found, widthFor(io), settings).join("\n")}\n`);
  else {
    const { session, state, outcome, model, since } = page;
    const isNarrowed = [session, state, outcome, model, since].some((each) => each !== undefined);
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

function pageOf({ session, state, outcome, model, since, max }: LookSettings, now: number): Page {
  return {
    session,
    model,
    state: state === undefined ? undefined : oneOf(STATES, "state", state),
    outcome: outcome === undefined ? undefined : oneOf(OUTCOMES, "outcome", outcome),
    since: since === undefined ? undefined : timeOf(since, now),
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

/** A time as ISO 8601, or how long ago it was. */
function timeOf(given: string, now: number): number {
  const [, count, unit = ""] = SPAN.exec(given) ?? [];
  const at =
    count === undefined
      ? ISO.test(given)
        ? Date.parse(given)
        : Number.NaN
      : now - Number(count) * (UNITS[unit] as number);
  if (Number.isFinite(at)) return at;
  throw new UsageError(
    `${JSON.stringify(given)} is not a time.`,
    "For example --since 2h, --since 3d, or --since 2026-05-31T08:00Z.",
  );
}

function countOf(given: string): number {
  const count = /^\d+$/.test(given) ? Number(given) : 0;
  if (count >= 1 && count <= MAX.most) return count;
  throw new UsageError(`--max is a whole number from 1 to ${MAX.most}.`, "For example --max 100.");
}

// ── The table ───────────────────────────────────────────────────────────────────────────────────────────────────────

/** A table of turns. If there is no room, it shortens ids to beginnings, which `bowline show` accepts too. */
export function turnTable(
  found: readonly TurnRecord[],
  width: number,
  settings: LookSettings,
  isOfOne = false,
): readonly string[] {
  const now = Date.now();
  const text = textFor(settings);
  const column = (head: string, cellOf: (record: TurnRecord) => string, more?: Partial<Column>): Column => ({
    head,
    cells: found.map((record) => oneLine(cellOf(record), text)),
    ...more,
  });
  const made = (turnId: Shorten, sessionId: Shorten, modelName: Shorten): readonly Column[] => [
    column("turn", ({ id }) => turnId(id)),
    column("ago", (record) => ifThere(startOf(record), (at) => since(at, now)), { isRight: true }),
    ...(isOfOne ? [] : [column("session", (record) => sessionId(record.sessionId), { least: 8 })]),
    column("outcome", ({ state, outcome }) => (state === "ended" ? (outcome ?? state) : state)),
    column("model", ({ model }) => ifThere(model, modelName), { least: 6 }),
    column("rounds", ({ rounds }) => ifThere(rounds, String), { isRight: true }),
    column("time", (record) => ifThere(timeOfTurn(record, now), lasting), { isRight: true }),
    column("tokens", ({ usage }) => ifThere(usage, (usage) => short(tokensIn(usage))), { isRight: true }),
    column("cost", ({ cost }) => price(cost, settings.prices), { isRight: true }),
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
