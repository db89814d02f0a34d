// The agent that comes with the program: its model, tools and store.
import { createRuntime, type Store } from "../index.ts";
import { asSessionId } from "../model/ids.ts";
import { type Agent, busyElsewhere, waking } from "./agent.ts";
import { databaseFileOf, MEMORY, openStore } from "./database-file.ts";
import type { Io, Settings } from "./io.ts";
import { chooseMode, type Mode, modeOf, pluginsOf } from "./mode.ts";
import { chooseModel } from "./model.ts";
import { plugins, tools } from "./tools.ts";
import { holderOf, type Unfinished, unfinishedIn } from "./unfinished.ts";

const INSTRUCTIONS = `You are an assistant in a terminal. Answer briefly, in plain text without markup.
Use the calculator for arithmetic and the clock for the date and time. Keep notes when the user asks you to remember.`;

const DEMO =
  "the offline demo model, which does sums, tells the time, waits and keeps notes. For a real one set BOWLINE_MODEL, such as anthropic/claude-sonnet-4-5, and its key";

/** Opens a session of the agent that comes with the program. */
export async function openBundled(io: Io, settings: Settings, id: string | undefined, isAgain = false): Promise<Agent> {
  const wanted = chooseMode(io.env, settings.mode);
  const model = await chooseModel(io.env, settings.model);
  const place = databaseFileOf(io, settings.db);
  const store = openStore(place);
  const lost = new Map<string, string>();
  const unfinished = id === undefined ? [] : await unfinishedIn(store, asSessionId(id));
  const mode = (isAgain ? undefined : await begunMode(store, unfinished)) ?? wanted;
  const runtime = await createRuntime({
    store,
    model: model.model,
    models: model.models,
    tools,
    plugins: [...plugins, ...(await pluginsOf(mode))],
    instructions: INSTRUCTIONS,
    // Only the opened session is recovered: a user with one question does not expect other sessions to go on, and cost.
    recover: "manual",
    telemetry: {
      event: (_, { name, turnId, about }) => {
        if (name === "turn.lost" && turnId !== undefined) lost.set(turnId, String(about.problem));
      },
    },
  });
  const close = (): Promise<void> => runtime.close();
  try {
    const session = await runtime.session(id);
    const isOurs = unfinished.length === 0 || (await busyElsewhere({ session, store })) === undefined;
    const about = model.isDemo ? DEMO : model.name;
    const isFleeting = place.path === MEMORY;
    const where = isFleeting ? "and is gone when you leave" : `kept in ${place.shown}`;
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

/** The mode of the turn that is open, which no other could go on with; undefined when another process is at it. */
async function begunMode(store: Store, unfinished: readonly Unfinished[]): Promise<Mode | undefined> {
  const begun = unfinished.find(({ protocol }) => protocol !== undefined);
  if (begun?.protocol === undefined || (await holderOf(store, begun.sessionId)) !== undefined) return undefined;
  return modeOf(begun.protocol);
}
