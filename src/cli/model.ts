import type { Model, ModelResolver } from "../index.ts";
import { installed } from "../providers/ai-sdk.ts";
import { demo } from "../providers/demo.ts";
import { type Io, UsageError } from "./io.ts";

export interface ChosenModel {
  readonly name: string;
  readonly isDemo: boolean;
  readonly model: Model;
  readonly models: ModelResolver;
}

const DEMO = "demo/offline";

/**
 * The model of `--model`, else of BOWLINE_MODEL, else the offline demo. A wrong name fails here, not in the first turn.
 */
export async function chooseModel(env: Io["env"], wanted?: string): Promise<ChosenModel> {
  const name = wanted ?? env.BOWLINE_MODEL ?? "";
  const offline = demo({ delayMs: Number(env.BOWLINE_DEMO_DELAY_MS) || 0 });
  const others = installed();
  // An unfinished turn goes on with the model it began with, so both kinds must be found.
  const models: ModelResolver = (other) => (other === DEMO ? offline : others(other));
  if (["", "demo", DEMO].includes(name)) return { name: DEMO, isDemo: true, model: offline, models };
  const model = await models(name);
  if (model === undefined) {
    throw new UsageError(`${JSON.stringify(name)} is not the name of a model.`, "Use <provider>/<model>, or demo.");
  }
  return { name, isDemo: false, model, models };
}
