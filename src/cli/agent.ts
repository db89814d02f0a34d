import { createRuntime, type Session } from "../index.ts";
import { memory } from "../stores/memory.ts";
import type { Io, Settings } from "./io.ts";
import { type ChosenModel, chooseModel } from "./model.ts";
import { plugins, tools } from "./tools.ts";

const INSTRUCTIONS = `You are an assistant in a terminal. Answer briefly, in plain text without markup.
Use the calculator for arithmetic and the clock for the date and time. Keep notes when the user asks you to remember.`;

export interface Agent {
  readonly session: Session;
  readonly model: ChosenModel;
  close(): Promise<void>;
}

export async function openAgent({ env }: Io, settings: Settings): Promise<Agent> {
  const model = await chooseModel(env, settings.model);
  const runtime = await createRuntime({
    store: memory(),
    model: model.model,
    models: model.models,
    tools,
    plugins,
    instructions: INSTRUCTIONS,
  });
  return { session: await runtime.session(settings.session), model, close: () => runtime.close() };
}
