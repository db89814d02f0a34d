// The two sides that are compared: the hand-written floor, and Bowline.
import type { Open } from "./agent.ts";

export type Side = "floor" | "bowline";
/** Which Bowline to load: the build or the sources. */
export type Tree = "dist" | "src";

type Package = typeof import("bowline") &
  typeof import("bowline/stores/memory") &
  typeof import("bowline/stores/sqlite");

/** The opener of a side, for workloads that drive both sides alike. */
export async function openerOf(side: Side): Promise<Open> {
  return side === "floor" ? (await import("./floor.ts")).open : openerFrom("dist");
}

export async function openerFrom(tree: Tree): Promise<Open> {
  const opener: { openWith(bowline: Package): Open } = await load("opener.mjs");
  return opener.openWith(await packageFrom(tree));
}

export const built = (): Promise<Package> => packageFrom("dist");

/** Apart, because the figures of all others measure what an app loads. */
export const builtPlugin = (): Promise<typeof import("bowline/plugin")> => load("../dist/plugin.js");

/** Apart, because its driver would show in the figures of all others. */
export const builtPostgres = (): Promise<typeof import("bowline/stores/postgres")> =>
  load("../dist/stores/postgres.js");

/** Apart, because only apps that export to OpenTelemetry load it. */
export const builtOtel = (): Promise<typeof import("bowline/otel")> => load("../dist/telemetry/otel.js");

/** Apart, because only apps with a server load it. */
export const builtServer = (): Promise<typeof import("bowline/server")> => load("../dist/server/index.js");

async function packageFrom(tree: Tree): Promise<Package> {
  const ending = tree === "dist" ? "js" : "ts";
  const modules = ["index", "stores/memory", "stores/sqlite"].map((name) => load(`../${tree}/${name}.${ending}`));
  return Object.assign({}, ...(await Promise.all(modules)));
}

/** Imports by a computed path, because some files have no types and some are not built yet when types are checked. */
function load(file: string) {
  return import(new URL(file, import.meta.url).href);
}
