import { createRuntime, type Runtime, type Session, type Store } from "../index.ts";
import { asSessionId } from "../model/ids.ts";
import { textOf } from "../model/message.ts";
import { loadApp } from "./app.ts";
import type { Io, Settings } from "./io.ts";
import { chooseMode, type Mode, modeOf, pluginsOf } from "./mode.ts";
import { chooseModel } from "./model.ts";
import { MEMORY, openStore, placeOf } from "./place.ts";
import { plugins, tools } from "./tools.ts";
import { called, holderOf, type Unfinished, unfinishedIn } from "./unfinished.ts";

const INSTRUCTIONS = `You are an assistant in a terminal. Answer briefly, in plain text without markup.
Use the calculator for arithmetic and the clock for the date and time. Keep notes when the user asks you to remember.`;

const DEMO =
  "the offline demo model, which does sums, tells the time, waits and keeps notes. For a real one set BOWLINE_MODEL, such as anthropic/claude-sonnet-4-5, and its key";

export interface Agent {
  readonly session: Session;
  readonly waits: Runtime["waits"];
  /** Opens another session, so that its turn goes on here, also if the runtime recovers nothing by itself. */
  wake(session: string): Promise<unknown>;
  /** Left out for an app, whose store is its own. */
  readonly store?: Store;
  /** What a user talks to, and where it is kept, for the greeting. */
  readonly about: string;
  readonly where?: string;
  /** Left out for an app, whose protocol is its own. */
  readonly mode?: Mode;
  /** The mode that was wanted, where a turn is finished first that began in another: open the agent again after it. */
  readonly wanted?: Mode;
  /** The conversation is gone when the agent is closed. */
  readonly isFleeting: boolean;
  /** Turns of this session that a killed process left unfinished, and that go on here. */
  readonly left: readonly Pick<Unfinished, "turnId" | "words">[];
  /** Turns that could not go on here: the reason, by the turn's id. */
  readonly lost: ReadonlyMap<string, string>;
  close(): Promise<void>;
}

/**
 * Opens a session, or a new one without an id. Opening goes on with unfinished turns of the session. Gives undefined if
 * a newer version of the app has come before this one was its turn.
 */
export const openAgent = (io: Io, settings: Settings, id?: string): Promise<Agent | undefined> =>
  settings.app === undefined ? openBundled(io, settings, id) : openApp(io, settings.app, id);

/** Closes an agent of this program and opens its session again, in this mode, whatever is unfinished in it. */
export async function reopenAgent({ session, close }: Agent, io: Io, settings: Settings, mode: Mode): Promise<Agent> {
  await close();
  return openBundled(io, { ...settings, mode }, session.id, true);
}

async function openApp(io: Io, app: string, id: string | undefined): Promise<Agent | undefined> {
  const runtime = await loadApp(io, app, (file) => io.kept?.saw(file));
  const close = (): Promise<void> => runtime.close();
  const wake = (other: string): Promise<unknown> => runtime.session(other);
  try {
    if ((await io.kept?.loaded()) === false) return void (await close());
    const session = await runtime.session(id);
    const { inputs } = await session.read();
    const left = new Map(
      inputs.flatMap(({ turnId, message }) =>
        turnId === undefined ? [] : [[turnId, { turnId, words: textOf(message.parts) }] as const],
      ),
    );
    const { waits } = runtime;
    const all = [...left.values()];
    return { session, waits, wake, about: app, isFleeting: false, left: all, lost: new Map(), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function openBundled(io: Io, settings: Settings, id: string | undefined, isAgain = false): Promise<Agent> {
  const wanted = chooseMode(io.env, settings.mode);
  const model = await chooseModel(io.env, settings.model);
  const place = placeOf(io, settings.db);
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
    trace: ({ name, turnId, about }) => {
      if (name === "turn.lost" && turnId !== undefined) lost.set(turnId, String(about.problem));
    },
  });
  const close = (): Promise<void> => runtime.close();
  const wake = (other: string): Promise<unknown> => runtime.session(other);
  try {
    const session = await runtime.session(id);
    const isOurs = unfinished.length === 0 || (await busyElsewhere({ session, store })) === undefined;
    const about = model.isDemo ? DEMO : model.name;
    const isFleeting = place.path === MEMORY;
    const where = isFleeting ? "and is gone when you leave" : `kept in ${place.shown}`;
    const left = isOurs ? unfinished : [];
    const modes = mode === wanted ? { mode } : { mode, wanted };
    return { session, waits: runtime.waits, wake, store, about, where, ...modes, isFleeting, left, lost, close };
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

/** The name of another process that works at a turn of this session; undefined when there is none. */
export async function busyElsewhere({ session, store }: Pick<Agent, "session" | "store">): Promise<string | undefined> {
  const holder = store === undefined ? undefined : await holderOf(store, session.id);
  return holder === undefined || holder.isUs ? undefined : called(holder);
}
