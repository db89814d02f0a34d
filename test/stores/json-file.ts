import { existsSync, readFileSync } from "node:fs";
import { rename, writeFile } from "node:fs/promises";
import { RuntimeError, type Store } from "bowline";
import {
  type Condition,
  type Engine,
  type FactKind,
  type FactRow,
  JOB,
  type Key,
  later,
  meets,
  OneWriter,
  type Port,
  type Read,
  type Rule,
  RuleStore,
  runLater,
  type ScanOptions,
  SESSION,
  TABLES,
  type Table,
} from "bowline/stores/rules";

/** Keeps everything in one JSON file, which one process at a time may use. Every write replaces the file. */
export const jsonFile = (path: string): Store => new RuleStore(new JsonEngine(path));

/** What the file has. */
interface Data {
  /** The rows of each table, by their keys. */
  readonly tables: { readonly [name: string]: { [key: string]: object } };
  facts: FactRow[];
  readonly blobs: { [hash: string]: string };
  /** The numbers that were given out last. */
  row: number;
  fact: number;
  change: number;
}

const empty = (): Data => ({
  tables: Object.fromEntries(TABLES.map(({ name }) => [name, {}])),
  ...{ facts: [], blobs: {}, row: 0, fact: 0, change: 0 },
});

/** Runs rules: a read on the data as the file has it, a write on a copy, which is dropped if the rule throws. */
export class JsonEngine implements Engine {
  readonly kind = "json-file";
  readonly isDurable = true;
  readonly #path: string;
  #data: Data;
  /** Ends with the latest write: writes run one after the other. */
  #written: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  constructor(path: string) {
    this.#path = path;
    this.#data = existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Data) : empty();
  }

  async read<T>(rule: (db: Port) => Rule<T>): Promise<T> {
    return runLater(rule(new JsonPort(this.#open())));
  }

  write<T>(rule: (db: Port) => Rule<T>): Promise<T> {
    return this.#change((data) => runLater(rule(new JsonPort(data))));
  }

  async #change<T>(work: (data: Data) => T | Promise<T>): Promise<T> {
    this.#open();
    const change = this.#written.then(async () => {
      const data = structuredClone(this.#data);
      const answer = await work(data);
      const text = JSON.stringify(data);
      await writeFile(`${this.#path}.new`, text, { flush: true });
      await rename(`${this.#path}.new`, this.#path);
      this.#data = JSON.parse(text) as Data;
      return answer;
    });
    this.#written = change.catch(() => {});
    return change;
  }

  #open(): Data {
    if (this.#isClosed) throw new RuntimeError("runtime.closed", {});
    return this.#data;
  }

  readonly blobs: Engine["blobs"] = {
    put: (hash, bytes) => {
      const text = Buffer.from(bytes).toString("base64");
      return this.#change(({ blobs }) => void (blobs[hash] = text));
    },
    get: async (hash) => {
      const text = this.#open().blobs[hash];
      return text === undefined ? undefined : new Uint8Array(Buffer.from(text, "base64"));
    },
  };

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#written;
  }
}

/** The data, as one rule reads and writes it. */
class JsonPort extends OneWriter {
  readonly #data: Data;

  constructor(data: Data) {
    super();
    this.#data = data;
  }

  #rows<Row extends object>(table: Table<Row>): { [key: string]: Row } {
    return this.#data.tables[table.name] as { [key: string]: Row };
  }

  scan<Row extends object>(table: Table<Row>, index: string, key: readonly Key[], options?: ScanOptions) {
    return soon(this.#found(table, index, key, options));
  }

  #found<Row extends object>(table: Table<Row>, index: string, key: readonly Key[], options: ScanOptions = {}): Row[] {
    const { on, by = [], only = {} } = table.indexes[index]!;
    const { above, upTo, upToNext = Infinity, max = Infinity, isDescending = false } = options;
    const next = [...by, ...table.key][1] as keyof Row;
    const conditions = Object.entries(only) as [keyof Row, Condition][];
    const place = by[0] ?? table.key.at(-1)!;
    const found = Object.values(this.#rows(table))
      .filter((row) => key.every((value, at) => row[on[at]!] === value))
      .filter((row) => conditions.every(([column, condition]) => meets(row[column], condition)))
      .filter((row) => above === undefined || (row[place] as string | number) > above)
      .filter((row) => upTo === undefined || (row[place] as number) <= upTo)
      .filter((row) => row[place] !== upTo || next === undefined || (row[next] as number) <= upToNext)
      .sort((a, b) => compare(a, b, [...by, ...table.key]));
    return (isDescending ? found.reverse() : found).slice(0, max);
  }

  add<Row extends { readonly n: number }>(table: Table<Row>, row: Omit<Row, "n">) {
    return soon(this.#put(table, { ...row, n: ++this.#data.row } as Row, row));
  }

  insert<Row extends object>(table: Table<Row>, row: Row): void {
    this.#rows(table)[keyOf(table, row)] = row;
  }

  update<Row extends object>(table: Table<Row>, row: Row, change: Partial<Row>): Row {
    return this.#put(table, { ...row, ...change }, change);
  }

  /** A job that is new, or has a new event, gets the next number of a change. */
  #put<Row extends object>(table: Table<Row>, row: Row, change: object): Row {
    const isNews = table.name === JOB.name && "seq" in change;
    const kept = isNews ? { ...row, changed: ++this.#data.change } : row;
    this.insert(table, kept);
    return kept;
  }

  remove<Row extends object>(table: Table<Row>, row: Row): void {
    delete this.#rows(table)[keyOf(table, row)];
    if (table.name === SESSION.name)
      this.#data.facts = this.#data.facts.filter(({ session }) => session !== (row as { n?: number }).n);
  }

  removeAll(table: Table, index: string, ...key: readonly Key[]): void {
    for (const row of this.#found(table, index, key)) this.remove(table, row);
  }

  fact(session: number, kind: FactKind, of: number) {
    const n = ++this.#data.fact;
    this.#data.facts.push({ n, session, kind, of });
    return soon(n);
  }

  facts(after: number, sessions: readonly number[] | undefined, max: number) {
    const isAsked = ({ n, session }: FactRow): boolean => n > after && (sessions?.includes(session) ?? true);
    return soon(this.#data.facts.filter(isAsked).slice(0, max));
  }

  latestFact() {
    return soon(this.#data.fact);
  }

  latestChange() {
    return soon(this.#data.change);
  }

  keepBlobs(names: readonly string[]) {
    const hash = names.find((hash) => this.#data.blobs[hash] === undefined);
    if (hash !== undefined) throw new RuntimeError("store.swept", { hash });
    return soon(undefined);
  }
}

/** Answers later, as a store does that asks a server. */
const soon = <T>(value: T): Read<T> => later(new Promise<T>((resolve) => setImmediate(resolve, value)));

const keyOf = <Row extends object>(table: Table<Row>, row: Row): string =>
  JSON.stringify(table.key.map((column) => row[column]));

function compare<Row extends object>(a: Row, b: Row, order: readonly (keyof Row)[]): number {
  const column = order.find((column) => a[column] !== b[column]);
  return column === undefined ? 0 : a[column] < b[column] ? -1 : 1;
}
