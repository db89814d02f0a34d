// The agent that comes with the program: its model, tools and store.
import { createRuntime, type Runtime, type RuntimeOptions, type Store } from "../index.ts";
import { asSessionId } from "../model/ids.ts";
import { type Agent, busyElsewhere, waking } from "./agent.ts";
import type { Io, Settings } from "./io.ts";
import { chooseMode, type Mode, modeOf, pluginsOf } from "./mode.ts";
import { type ChosenModel, chooseModel } from "./model.ts";
import { placeFor } from "./place.ts";
import { plugins, tools } from "./tools.ts";
import { holderOf, type Unfinished, unfinishedIn } from "./unfinished.ts";

const INSTRUCTIONS = `You are an assistant in a terminal. Answer briefly, in plain text without markup.
Use the calculator for arithmetic and the clock for the date and time. Keep notes when the user asks you to remember.`;

export const DEMO =
  "the offline demo model, which calculates, shows the time, waits and stores notes. For a real model, set BOWLINE_MODEL, such as anthropic/claude-sonnet-4-5, and its key";

/** Opens a session of the agent that comes with the program. */
export async function openBundled(io: Io, settings: Settings, id: string | undefined, isAgain = false): Promise<Agent> {
  const wanted = chooseMode(io.env, settings.mode);
  const model = await chooseModel(io.env, settings.model);
  const { shown, isFleeting, open } = await placeFor(io, settings.db);
  const store = open();
  const lost = new Map<string, string>();
  const unfinished = id === undefined ? [] : await unfinishedIn(store, asSessionId(id));
  const mode = (isAgain ? undefined : await begunMode(store, unfinished)) ?? wanted;
  // Recovers only the opened session: a user with one question does not expect other sessions to continue and cost
  // money.
  const runtime = await bundledRuntime(store, model, mode, "manual", (turn, problem) => void lost.set(turn, problem));
  const close = (): Promise<void> => runtime.close();
  try {
    const session = await runtime.session(id);
    const isOurs = unfinished.length === 0 || (await busyElsewhere({ session, store })) === undefined;
    const about = model.isDemo ? DEMO : model.name;
    const where = isFleeting ? "and is lost when you leave" : `stored in ${shown}`;
    const left = isOurs ? unfinished : [];
    const modes = mode === wanted ? { mode } : { mode, wanted };
    const { waits } = runtime;
    const wakes = waking(runtime, session);
    const reported = new Set<string>();
    return { session, waits, ...wakes, store, about, where, ...modes, isFleeting, left, lost, reported, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** `lost` receives turns that cannot continue in this process. */
export async function bundledRuntime(
  store: Store,
  { model, models }: ChosenModel,
  mode: Mode,
  recover: RuntimeOptions["recover"],
  lost: (turnId: string, problem: string) => void,
): Promise<Runtime> {
  return createRuntime({
    store,
    model,
    models,
    tools,
    plugins: [...plugins, ...(await pluginsOf(mode))],
    instructions: INSTRUCTIONS,
    recover,
    telemetry: {
      event: (_, { name, turnId, about }) => {
        if (name === "turn.lost" && turnId !== undefined) lost(turnId, String(about.problem));
      },
    },
  });
}

/** The mode of the open turn, because only this mode can resume it. Undefined if another process runs the turn. */
async function begunMode(store: Store, unfinished: readonly Unfinished[]): Promise<Mode | undefined> {
  const begun = unfinished.find(({ protocol }) => protocol !== undefined);
  if (begun?.protocol === undefined || (await holderOf(store, begun.sessionId)) !== undefined) return undefined;
  return modeOf(begun.protocol);
}
