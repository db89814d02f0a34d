// Read-only named values that the host passes to code: for one turn, or for the session. `seed`, the value with which a
// task begins, is one of them.
// bindings-1: A heap keeps its values until they are replaced. The start of a cell passes new values and records them,
//    so that a replay gets the same values.
// bindings-2: A large value is not passed at the start. Code awaits it, and the answer is recorded.
import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { extension, type Fields, type Json, type Message, optionsSchema, type StateCell } from "../../plugin.ts";
import type { CodeContext } from "../../protocol.ts";
import { type GuestValue, isToolPath, RESERVED, type Surroundings } from "../../sandbox/quickjs/index.ts";
import { cutAt } from "../../tools/search/index.ts";
import type { CodeState, Digests, StoredValue } from "./state.ts";
import { TEXTS } from "./texts.ts";

export type Values = { readonly [name: string]: Json };
/**
 * The accepted type. It includes interfaces, which have no index signature. Values that are not JSON are refused later.
 */
type GivenValues = { readonly [name: string]: unknown };

const NAMES_MAX = 64;
/** Characters of JSON. Code must await larger values. */
const NEAR_CHARS_MAX = 1_000;
const CHARS_MAX = 4 * 1_048_576;
const DEPTH_MAX = 500;
const SHOWN_CHARS_MAX = 120;

const SEED = "seed";
const blobOf = (name: string): string => (name === SEED ? SEED : `binding/${name}`);

// ── What the host gives ─────────────────────────────────────────────────────────────────────────────────────────────

/**
 * Read-only values for the code of one turn: `session.turn(input, { extensions: [bindings.of({ report })] })`. Code
 * reads them by name and must await large ones. They override values of the session with the same names.
 */
export const bindings = extension(
  "bowline/code/bindings",
  optionsSchema<GivenValues, Values>((given) => valuesIn(given)),
);

export const BIND = optionsSchema<{ readonly values: GivenValues }, { readonly values: Values }>((given) => {
  given.only("values");
  return { values: valuesIn(given.object("values")) };
});
export const UNBIND = optionsSchema<{ readonly names: readonly string[] }>((given) => {
  given.only("names");
  return { names: given.texts("names") };
});

function valuesIn(given: Fields): Values {
  if (given.names.length > NAMES_MAX) throw given.wrong(`has more than ${NAMES_MAX} names`);
  for (const name of given.names) {
    const value = given.value(name);
    if (!isName(name))
      throw given.wrong("cannot be the name of a value: use letters and digits, and a name that is free", name);
    if (value === undefined) throw given.wrong("has no value", name);
  }
  return Object.fromEntries(given.names.map((name) => [name, given.value(name) as Json]));
}

/** The same as for a module of tools: names that begin with `_` or `$` belong to the code. */
const isName = (name: string): boolean => !RESERVED.has(name) && isToolPath(`${name}.x`);

/** Adds values to the session, and replaces those with the same names. */
export async function bind(state: StateCell<CodeState>, values: Values): Promise<void> {
  const added: { [name: string]: StoredValue } = {};
  for (const [name, value] of Object.entries(values)) added[name] = await put(state, name, value);
  const all = { ...state.get().bindings, ...added };
  const { length } = Object.keys(all);
  if (length > NAMES_MAX) throw new RangeError(`The session would have ${length} values, and may have ${NAMES_MAX}.`);
  state.update((saved) => ({ ...saved, bindings: all }));
}

export function unbind(state: StateCell<CodeState>, names: readonly string[]): void {
  const { bindings: before = {} } = state.get();
  for (const name of names) if (Object.hasOwn(before, name)) state.blobs.remove(blobOf(name));
  const left = Object.entries(before).filter(([name]) => !names.includes(name));
  state.update(({ bindings: _, ...saved }) =>
    left.length === 0 ? saved : { ...saved, bindings: Object.fromEntries(left) },
  );
}

async function put(state: StateCell<CodeState>, name: string, value: Json): Promise<StoredValue> {
  const json = jsonOf(value);
  if (json === undefined)
    throw new TypeError(`The value of ${name} is not JSON, or is nested more than ${DEPTH_MAX} levels deep.`);
  if (json.length > CHARS_MAX)
    throw new RangeError(`The value of ${name} has ${json.length} characters of JSON, and may have ${CHARS_MAX}.`);
  await state.blobs.put(blobOf(name), new TextEncoder().encode(json));
  return keptValue(value, json);
}

/** Undefined for a value that JSON would change, or that code cannot receive. */
function jsonOf(value: Json): string | undefined {
  if (isTooDeep(value, DEPTH_MAX)) return undefined;
  const json = JSON.stringify(value) as string | undefined;
  return json !== undefined && isDeepStrictEqual(JSON.parse(json), value) ? json : undefined;
}
const isTooDeep = (value: unknown, left: number): boolean =>
  typeof value === "object" &&
  value !== null &&
  (left === 0 || Object.values(value).some((each) => isTooDeep(each, left - 1)));

const cut = (text: string, max: number): string => (text.length <= max ? text : `${cutAt(text, max - 1)}…`);

function keptValue(value: Json, json: string): StoredValue {
  const isNear = json.length <= NEAR_CHARS_MAX;
  return {
    digest: createHash("sha256").update(json).digest("hex").slice(0, 32),
    length: typeof value === "string" ? value.length : json.length,
    ...(typeof value === "string" || Array.isArray(value) ? { items: value.length } : {}),
    shown: isNear ? cut(json, SHOWN_CHARS_MAX) : TEXTS.kindOf(value),
    ...(isNear ? { isNear } : {}),
  };
}

// ── The seed of a task ──────────────────────────────────────────────────────────────────────────────────────────────

/** The code continues with another task: this stores the seed for the first cell of that task. */
export async function keepSeed(state: StateCell<CodeState>, seed: Json | undefined): Promise<void> {
  const saved = seed === undefined ? undefined : await put(state, SEED, seed);
  setSeed(state, saved && { ...saved, isNew: true });
}

/**
 * The seed that code has. A new seed counts only in the first cell of an empty heap: if the heap has run a cell, the
 * task of the seed never began, and nobody gets the seed. After that cell it stays the seed of its task, also after a
 * compaction.
 */
export function seedOf(seed: CodeState["seed"], isEmpty: boolean, messages: readonly Message[]): CodeState["seed"] {
  if (seed?.isNew !== true) return hasAnotherTask(seed?.since, messages) ? undefined : seed;
  const { isNew: _, ...value } = seed;
  const since = messages[0]?.id;
  return isEmpty ? { ...value, ...(since === undefined ? {} : { since }) } : undefined;
}

/**
 * Whether a frame with a new task began after `since`: it has no variables and no seed of the old task. A compaction
 * keeps them.
 */
export function hasAnotherTask(since: string | undefined, [first]: readonly Message[]): boolean {
  return first !== undefined && first.id !== since && first.origin?.kind === "runtime";
}

export function setSeed(state: StateCell<CodeState>, seed: CodeState["seed"]): void {
  if (JSON.stringify(seed) === JSON.stringify(state.get().seed)) return;
  if (seed === undefined && state.blobs.names().includes(SEED)) state.blobs.remove(SEED);
  state.update(({ seed: _, ...saved }) => (seed === undefined ? saved : { ...saved, seed }));
}

// ── What the code has ───────────────────────────────────────────────────────────────────────────────────────────────

type Given = Pick<CodeContext<CodeState>, "extension" | "state">;

/** The values of a turn with their descriptions. Every segment gets the same object. */
const DESCRIBED = new WeakMap<Values, { readonly [name: string]: StoredValue }>();

export function describedOf(values: Values): { readonly [name: string]: StoredValue } {
  let described = DESCRIBED.get(values);
  if (described === undefined) {
    const each = (value: Json): StoredValue => keptValue(value, JSON.stringify(value));
    described = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, each(value)]));
    DESCRIBED.set(values, described);
  }
  return described;
}

/** All values that code has now, by name. */
export class Bindings {
  readonly #turn: Values;
  readonly #state: Given["state"];
  readonly all: { readonly [name: string]: StoredValue };

  constructor({ extension: given, state }: Given, seed: CodeState["seed"]) {
    this.#turn = given(bindings) ?? {};
    this.#state = state;
    this.all = { ...state.get().bindings, ...describedOf(this.#turn), ...(seed === undefined ? {} : { [SEED]: seed }) };
  }

  get names(): readonly string[] {
    return Object.keys(this.all);
  }

  /** Whether the value came with the turn: then the record of the turn's beginning has it. */
  isOfTurn(name: string): boolean {
    return Object.hasOwn(this.#turn, name);
  }

  async read(name: string): Promise<Json | undefined> {
    if (this.isOfTurn(name)) return this.#turn[name];
    if (!Object.hasOwn(this.all, name)) return undefined;
    const bytes = await this.#state.blobs.get(blobOf(name));
    return bytes === undefined ? undefined : (JSON.parse(new TextDecoder().decode(bytes)) as Json);
  }

  /** bindings-1: the changes to a heap that already has these values. */
  async changesTo(heap: Digests): Promise<Changes> {
    const unbinds = Object.keys(heap).filter((name) => !Object.hasOwn(this.all, name));
    const binds: GuestValue[] = [];
    const digests: string[] = [];
    for (const [name, saved] of Object.entries(this.all)) {
      if (Object.hasOwn(heap, name) && heap[name] === saved.digest) continue;
      const value = saved.isNear ? await this.read(name) : undefined;
      binds.push(value === undefined ? { name, ...sizeOf(saved) } : { name, value }); // bindings-2
      digests.push(saved.digest);
    }
    return { ...(binds.length === 0 ? {} : { binds, digests }), ...(unbinds.length === 0 ? {} : { unbinds }) };
  }
}

const sizeOf = ({ length: chars, items }: StoredValue) => (items === undefined ? { chars } : { chars, length: items });

/** `digests` are those of `binds`, one for each. */
export type Changes = Pick<Surroundings, "binds" | "unbinds"> & { readonly digests?: readonly string[] };

/** The values of a heap after these changes. */
export function boundAfter(heap: Digests, { binds = [], digests = [], unbinds = [] }: Changes): Digests {
  const saved = Object.entries(heap).filter(([name]) => !unbinds.includes(name));
  return {
    ...Object.fromEntries(saved),
    ...Object.fromEntries(binds.map(({ name }, at) => [name, digests[at] ?? ""])),
  };
}
