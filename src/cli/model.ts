import type { Model, ModelResolver } from "../index.ts";
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
  // An unfinished turn resumes with the model it began with, so both kinds must be found. Each is loaded on first use.
  const models: ModelResolver = async (other) =>
    other === DEMO ? offline(env) : (await import("../providers/ai-sdk.ts")).installed()(other);
  if (["", "demo", DEMO].includes(name)) return { name: DEMO, isDemo: true, model: await offline(env), models };
  const model = await models(name);
  if (model === undefined) {
    throw new UsageError(`${JSON.stringify(name)} is not the name of a model.`, "Use <provider>/<model>, or demo.");
  }
  return { name, isDemo: false, model, models };
}

async function offline(env: Io["env"]): Promise<Model> {
  const { demo } = await import("../providers/demo.ts");
  return demo({ delayMs: Number(env.BOWLINE_DEMO_DELAY_MS) || 0 });
}
