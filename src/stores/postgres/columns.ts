import { hash } from "node:crypto";
import type { Usage } from "../../model/usage.ts";
import type { TurnEvent } from "../../turn/event.ts";
import {
  decodeEntries,
  decodeEvents,
  decodeInput,
  decodeUsage,
  encodeEntries,
  encodeEvents,
  encodeInput,
  encodeUsage,
  fromKeyText,
  keyText,
} from "../rows/codec.ts";
import { decodeEnded, type Ended, encodeEnded } from "../rows/ended.ts";
import type { Awaits } from "../rows/job.ts";
import { APPEND, type Kind, type SegmentRow, type Table } from "../tables.ts";
import type { Value } from "./database.ts";
import { parsed } from "./text.ts";

/** Maps columns of the rules to columns of the schema. */

// biome-ignore lint/suspicious/noExplicitAny: a row of any table
export type Fields = { readonly [column: string]: any };

/** Looks up session ids, so that an error can name the session. */
export interface SessionNames {
  idOf(session: number): string | number;
  turnOf(session: number): number | undefined;
}

export interface Column {
  readonly name: string;
  readonly sql: string;
  readonly kind: Kind;
  /** `row` is the row to write. */
  encode(value: unknown, row: Fields): Value;
  /** `row` contains the columns before this one. */
  decode(stored: unknown, row: Fields, known: SessionNames): unknown;
}

/** Returns the columns that the schema has, in the order of `tables.ts`. */
export const columnsOf = (table: Table): readonly Column[] =>
  (Object.entries(table.columns) as [string, Kind][]).flatMap(([name, kind]) => {
    const place = `${table.name}.${name}`;
    if (ABSENT.has(place)) return [];
    const sql = RENAMED[place] ?? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return [{ name, sql, kind, ...(SPECIAL[place] ?? (place in FORMATS ? asJson(FORMATS[place]!) : PLAIN[kind])) }];
  });

/** Deliveries are never removed one by one, so no row counts them. */
const ABSENT: ReadonlySet<string> = new Set(["occurrence.deliveries"]);
const RENAMED: { readonly [place: string]: string } = { "session.written": "length" };

type Codec = Pick<Column, "encode" | "decode">;

const same: Codec = { encode: (value) => (value ?? null) as Value, decode: (stored) => stored };
const name: Codec = {
  encode: (value) => (value == null ? null : keyText(value as string)),
  decode: (stored) => (stored === null ? null : fromKeyText(stored as string)),
};
const json: Codec = {
  encode: (value) => JSON.stringify(value ?? null),
  decode: (stored) => parsed(stored as string, "A row"),
};
const PLAIN: { readonly [kind in Kind]: Codec } = { number: same, text: same, flag: same, name, json, long: json };

// ── Names ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** An index entry is limited to about 2,700 bytes, so a longer key is stored as its beginning and its hash. */
const SHORT = 600;
const shortText = (key: string): string =>
  key.length <= SHORT
    ? keyText(key)
    : `${keyText(key.slice(0, 64).toWellFormed())}…${hash("sha256", key, "base64url")}`;
const CUT = /…[\w-]{43}$/;

const SPECIAL: { readonly [place: string]: Codec } = {
  "note.key": {
    encode: (value) => shortText(value as string),
    decode: (stored) => (CUT.test(stored as string) ? stored : fromKeyText(stored as string)),
  },
  // The jobs themselves are rows of `job_await`.
  "job.awaits": {
    encode: (value) => (value as Awaits | null)?.need ?? null,
    decode: (stored) => (stored === null ? null : { need: stored, jobs: [] }),
  },
};

// ── JSON ────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface Format {
  /** Names the text in an error. */
  item(row: Fields, known: SessionNames): string;
  /** The column may be NULL and stores null as NULL. All other columns store null as JSON. */
  readonly isNullable?: true;
  encode?(value: never, row: Fields): unknown;
  decode?(value: never, row: Fields): unknown;
}

const asJson = ({ item, isNullable, encode, decode }: Format): Codec => ({
  encode: (value, row) => {
    if (value == null) return isNullable === true ? null : "null";
    return JSON.stringify(encode === undefined ? value : encode(value as never, row));
  },
  decode: (stored, row, known) => {
    if (stored === null) return null;
    const value = parsed(stored as string, item(row, known));
    return decode === undefined ? value : decode(value as never, row);
  },
});

const ofWait = ({ id }: Fields): string => `The wait ${id}`;

const FORMATS: { readonly [place: string]: Format } = {
  "session.usage": {
    item: ({ id }) => `The usage of session ${id}`,
    encode: (usage: Usage) => encodeUsage(usage),
    decode: decodeUsage,
  },
  "session.tags": { item: ({ id }) => `The tags of session ${id}`, isNullable: true },
  "session.parked": { item: ({ id }) => `The parking of session ${id}`, isNullable: true },
  "profile.config": { item: ({ session }, known) => `The configuration of session ${known.idOf(session)}` },
  "profile.options": {
    item: ({ session }, known) => `The options of session ${known.idOf(session)}`,
    isNullable: true,
  },
  "state.body": { item: ({ plugin }) => `The state of plugin ${plugin}` },
  "segment.entries": {
    item: (row) => `The segment of ${row.name}`,
    encode: (entries: NonNullable<SegmentRow["entries"]>, row) => encodeEntries(entries, row.name),
    decode: (entries, row) => decodeEntries(entries, row.name),
  },
  "turn.cancel": { item: ({ id }) => `The cancel of turn ${id}`, isNullable: true },
  "turn.ended": {
    item: ({ id }) => `The end of turn ${id}`,
    isNullable: true,
    encode: (ended: Ended) => encodeEnded(ended),
    decode: decodeEnded,
  },
  "turn.input": {
    item: ({ id, aside, inputId, done }) =>
      done === null ? `The ${aside === APPEND ? "append" : "input"} ${inputId}` : `The journal of turn ${id}`,
    isNullable: true,
    encode: (input, { aside }) => (aside === APPEND ? input : encodeInput(input)),
    decode: (input, { aside }) => (aside === APPEND ? input : decodeInput(input)),
  },
  "journal.events": {
    item: ({ session, seq }, known) => `The journal of turn ${known.turnOf(session) ?? "?"} at ${seq}`,
    encode: (events: readonly TurnEvent[]) => encodeEvents(events),
    decode: decodeEvents,
  },
  "note.value": { item: ({ turn, key }) => `The note ${key} of turn ${turn}` },
  "wait.about": { item: ofWait },
  "wait.answer": { item: ofWait, isNullable: true },
  "operation.committed": { item: (row) => `The receipt of operation ${keyText(row.name)}` },
  "operation_note.value": { item: ({ operation }) => `A note of operation ${operation}` },
  "job.moves": { item: ({ id }) => `The record of job ${keyText(id)}` },
  "job_event.event": { item: ({ job, seq }) => `Event ${seq} of job ${job}` },
  "job_line.line": { item: ({ job, n }) => `Line ${n} of job ${job}` },
  "subscription.body": { item: ({ id }) => `The subscription ${keyText(id)}` },
  // The column contains the bare payload.
  "occurrence.payload": {
    item: ({ id }) => `The occurrence ${keyText(id)}`,
    encode: ({ payload }: { readonly payload: unknown }) => payload ?? null,
    decode: (payload) => ({ payload }),
  },
};
