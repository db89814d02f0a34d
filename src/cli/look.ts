// A runtime that only reads: it runs no turn and creates no file.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createRuntime, type Model, type PriceTable, type Runtime, type Store } from "../index.ts";
import type { TurnRecord } from "../model/turn-record.ts";
import { existingStore } from "./existing-store.ts";
import { type Io, type Settings, UsageError } from "./io.ts";
import { type Mode, pluginsOf } from "./mode.ts";
import { messageOf, oneLine } from "./text.ts";

/** Settings of the commands that show turns, as the user typed them. */
export interface LookSettings extends Settings {
  readonly state?: string | undefined;
  readonly outcome?: string | undefined;
  readonly since?: string | undefined;
  readonly until?: string | undefined;
  readonly max?: string | undefined;
  /** The path of a JSON file with the prices of models. */
  readonly prices?: string | undefined;
  readonly full: boolean;
}

/** A runtime needs a model. No process calls this one. */
const NO_MODEL: Model = {
  id: "none",
  modelId: "none",
  stream() {
    throw new Error("This runtime runs no turns.");
  },
};
export const NO_MODEL_NAME = "none/none";

/** Opens the store and returns what `use` returns. The timeline of a turn is exact only in the mode in which the turn ran. */
export async function withRuntime<T>(
  io: Io,
  settings: LookSettings,
  use: (runtime: Runtime) => Promise<T>,
  mode: Mode = "tools",
): Promise<T> {
  const prices = pricesIn(io, settings.prices);
  const store = await existingStore(io, settings.db);
  const runtime = await opened(store, prices, mode);
  try {
    return await use(runtime);
  } finally {
    await runtime.close();
  }
}

async function opened(store: Store, prices: PriceTable, mode: Mode): Promise<Runtime> {
  try {
    return await createRuntime({ store, prices, model: NO_MODEL, recover: "never", plugins: await pluginsOf(mode) });
  } catch (error) {
    await store.close();
    throw error;
  }
}

type Used = Pick<TurnRecord, "model" | "usage" | "cost">;

/** Warns of models without a price, because their turns have no cost. The name in the file can be mistyped. */
export function warnOfUnpriced(io: Io, { prices: path }: LookSettings, turns: readonly Used[]): void {
  const prices = pricesIn(io, path);
  const isUnpriced = ({ model, usage, cost }: Used): boolean =>
    cost === undefined && usage !== undefined && model !== undefined && !Object.hasOwn(prices, model);
  const models = new Set(turns.filter(isUnpriced).map(({ model }) => model));
  if (path === undefined || models.size === 0) return;
  const warning = `${path} has no price for ${[...models].join(", ")}. Its names are <provider>/<model>.`;
  io.stderr.write(`bowline: ${oneLine(warning)}\n`);
}

export function pricesIn({ cwd }: Io, path: string | undefined): PriceTable {
  if (path === undefined) return {};
  try {
    return JSON.parse(readFileSync(resolve(cwd, path), "utf8")) as PriceTable; // The runtime checks it.
  } catch (error) {
    throw new UsageError(
      `The prices in ${path} cannot be read: ${messageOf(error).replace(/\.?$/, ".")}`,
      'Give JSON of prices per million tokens, such as {"openai/gpt-5":{"input":1.25,"output":10}}.',
    );
  }
}
