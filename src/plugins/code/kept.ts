import { optionsSchema, type StateCell, type StateView } from "../../index.ts";
import type { Image, NextImage } from "../../sandbox/quickjs/index.ts";

/** What a session keeps of its code: how many cells it ran, and its heap as named blobs, one for each delta. */
export interface Kept {
  readonly cells: number;
  /** How often the heap was forgotten by `reset`. */
  readonly resets: number;
  readonly image?: { readonly engine: string; readonly deltas: number };
}

export const KEPT = optionsSchema<unknown, Kept>((given) => {
  const image = given.object("image", undefined);
  return {
    cells: given.whole("cells", {}, 0),
    resets: given.whole("resets", {}, 0),
    ...(image === undefined ? {} : { image: { engine: image.text("engine"), deltas: image.whole("deltas") } }),
  };
});

const nameOf = (index: number): string => `heap/${index}`;

/** The heap that is kept; undefined when there is none. */
export async function imageIn({ get, blobs }: StateView<Kept>): Promise<Image | undefined> {
  const { image } = get();
  if (image === undefined) return undefined;
  const names = Array.from({ length: image.deltas }, (_, index) => nameOf(index));
  const deltas = await Promise.all(names.map((name) => blobs.get(name)));
  // A delta that is missing is as bad as a damaged one: empty bytes are refused as such.
  return { engine: image.engine, deltas: deltas.map((delta) => delta ?? new Uint8Array()) };
}

export async function keepImage(state: StateCell<Kept>, cells: number, next: NextImage): Promise<void> {
  const { engine, keeps, delta } = next;
  const { deltas = 0 } = state.get().image ?? {};
  await state.blobs.put(nameOf(keeps), delta);
  for (let index = keeps + 1; index < deltas; index++) state.blobs.remove(nameOf(index));
  state.update(({ resets }) => ({ cells, resets, image: { engine, deltas: keeps + 1 } }));
}

export function forgetImage(state: StateCell<Kept>, cells: number, resets: number): void {
  for (const name of state.blobs.names()) state.blobs.remove(name);
  state.update(() => ({ cells, resets }));
}
