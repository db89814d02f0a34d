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

/** The model of `--model`, else of BOWLINE_MODEL, else the offline demo. Looked up now, so that a wrong name is told at once. */
export async function chooseModel(env: Io["env"], wanted?: string): Promise<ChosenModel> {
  const name = wanted ?? env.BOWLINE_MODEL ?? "";
  const models = installed();
  if (["", "demo", DEMO].includes(name)) {
    const delayMs = Number(env.BOWLINE_DEMO_DELAY_MS) || 0;
    return { name: DEMO, isDemo: true, model: demo({ delayMs }), models };
  }
  const model = await models(name);
  if (model === undefined) {
    throw new UsageError(`${JSON.stringify(name)} is not the name of a model.`, "Use <provider>/<model>, or demo.");
  }
  return { name, isDemo: false, model, models };
}
