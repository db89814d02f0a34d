import { type Fields, optionsSchema, type StateCell, type StateView } from "../../plugin.ts";
import type { GuestVariable, Image, NextImage } from "../../sandbox/quickjs/index.ts";

/**
 * The stored state of a session's code. Contents that can be large are blobs with names such as `heap/0`,
 * `binding/report` and `seed`.
 */
export interface CodeState {
  /** How many cells have run. */
  readonly cells: number;
  /** How often `reset` deleted the heap. */
  readonly resets: number;
  /** The heap: one blob per delta, and the digests of the read-only values in it, by name. */
  readonly image?: { readonly engine: string; readonly deltas: number; readonly bound?: Digests };
  /** The variables after the latest cell. `since`: the first message of the conversation at that time. */
  readonly variables?: { readonly since?: string; readonly list: readonly GuestVariable[] };
  /** Read-only values of the session, by name. */
  readonly bindings?: { readonly [name: string]: StoredValue };
  /**
   * The seed of the task. `isNew`: no cell of that task has run. `since`: the first message of the conversation at its
   * first cell.
   */
  readonly seed?: StoredValue & { readonly isNew?: true; readonly since?: string };
}
export type Digests = { readonly [name: string]: string };

/** The description of a value whose content is a blob. */
export interface StoredValue {
  readonly digest: string;
  /** The number of characters of the text, or of the value's JSON. */
  readonly length: number;
  /** The length of a text or a list. */
  readonly items?: number;
  /** In a few words, for the model. */
  readonly shown: string;
  /** The value is passed with the cell. Without it code must await the value. */
  readonly isNear?: true;
}

export const KEPT = optionsSchema<unknown, CodeState>((given) => {
  const image = given.object("image", undefined);
  const variables = given.object("variables", undefined);
  const bindings = given.object("bindings", undefined);
  const seed = given.object("seed", undefined);
  return {
    cells: given.whole("cells", {}, 0),
    resets: given.whole("resets", {}, 0),
    ...(image === undefined ? {} : { image: imageFields(image) }),
    ...(variables === undefined ? {} : { variables: variableFields(variables) }),
    ...(bindings === undefined ? {} : { bindings: eachOf(bindings, valueFields) }),
    ...(seed === undefined ? {} : { seed: seedFields(seed) }),
  };
});

function imageFields(image: Fields): NonNullable<CodeState["image"]> {
  const bound = image.object("bound", undefined);
  const digests = bound === undefined ? {} : { bound: Object.fromEntries(bound.names.map((n) => [n, bound.text(n)])) };
  return { engine: image.text("engine"), deltas: image.whole("deltas"), ...digests };
}

function variableFields(variables: Fields): NonNullable<CodeState["variables"]> {
  const since = variables.text("since", undefined);
  const list = variables.objects("list", (each) => ({ name: each.text("name"), shown: each.text("shown") }));
  return { ...(since === undefined ? {} : { since }), list };
}

function valueFields(value: Fields): StoredValue {
  const items = value.whole("items", {}, undefined);
  return {
    digest: value.text("digest"),
    length: value.whole("length"),
    ...(items === undefined ? {} : { items }),
    shown: value.text("shown"),
    ...(value.flag("isNear", false) ? { isNear: true } : {}),
  };
}

function seedFields(seed: Fields): NonNullable<CodeState["seed"]> {
  const since = seed.text("since", undefined);
  const isNew = seed.flag("isNew", false) ? ({ isNew: true } as const) : {};
  return { ...valueFields(seed), ...isNew, ...(since === undefined ? {} : { since }) };
}

const eachOf = <T>(given: Fields, read: (each: Fields) => T): { readonly [name: string]: T } =>
  Object.fromEntries(given.names.map((name) => [name, read(given.object(name))]));

const HEAP = "heap/";
const nameOf = (index: number): string => `${HEAP}${index}`;

/** The stored heap; undefined if there is none. */
export async function imageIn({ get, blobs }: StateView<CodeState>): Promise<Image | undefined> {
  const { image } = get();
  if (image === undefined) return undefined;
  const names = Array.from({ length: image.deltas }, (_, index) => nameOf(index));
  const deltas = await Promise.all(names.map((name) => blobs.get(name)));
  // A missing delta is treated like a damaged one: the engine refuses empty bytes.
  return { engine: image.engine, deltas: deltas.map((delta) => delta ?? new Uint8Array()) };
}

export async function keepImage(
  state: StateCell<CodeState>,
  cells: number,
  { engine, keeps, delta }: NextImage,
  bound: Digests,
): Promise<void> {
  const { deltas = 0 } = state.get().image ?? {};
  await state.blobs.put(nameOf(keeps), delta);
  for (let index = keeps + 1; index < deltas; index++) state.blobs.remove(nameOf(index));
  const isBound = Object.keys(bound).length > 0;
  state.update((saved) => ({
    ...saved,
    cells,
    image: { engine, deltas: keeps + 1, ...(isBound ? { bound } : {}) },
  }));
}

/** The values that the code received stay: the next heap gets them too. */
export function forgetImage(state: StateCell<CodeState>, cells: number, resets: number): void {
  for (const name of state.blobs.names()) if (name.startsWith(HEAP)) state.blobs.remove(name);
  state.update(({ image: _, variables: __, ...saved }) => ({ ...saved, cells, resets }));
}
