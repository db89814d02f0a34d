// What is compared: the hand-written floor, and Bowline.
import type { Open } from "./agent.ts";

export type Side = "floor" | "bowline";
/** Of Bowline: what the build made, or the sources. */
export type Tree = "dist" | "src";

type Package = typeof import("bowline") &
  typeof import("bowline/stores/memory") &
  typeof import("bowline/stores/sqlite");

/** How a side is opened by those workloads that drive both alike. */
export async function openerOf(side: Side): Promise<Open> {
  return side === "floor" ? (await import("./floor.ts")).open : openerFrom("dist");
}

export async function openerFrom(tree: Tree): Promise<Open> {
  const opener: { openWith(bowline: Package): Open } = await load("opener.mjs");
  return opener.openWith(await packageFrom(tree));
}

export const built = (): Promise<Package> => packageFrom("dist");

async function packageFrom(tree: Tree): Promise<Package> {
  const ending = tree === "dist" ? "js" : "ts";
  const modules = ["index", "stores/memory", "stores/sqlite"].map((name) => load(`../${tree}/${name}.${ending}`));
  return Object.assign({}, ...(await Promise.all(modules)));
}

/** Not by a literal path: some have no types, and some are not built yet when this is checked. */
function load(file: string) {
  return import(new URL(file, import.meta.url).href);
}
