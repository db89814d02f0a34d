import { createRuntime, type Session, type Store } from "../index.ts";
import { asSessionId } from "../model/ids.ts";
import type { Io, Settings } from "./io.ts";
import { type ChosenModel, chooseModel } from "./model.ts";
import { openStore, type Place, placeOf } from "./place.ts";
import { plugins, tools } from "./tools.ts";
import { called, holderOf, type Unfinished, unfinishedIn } from "./unfinished.ts";

const INSTRUCTIONS = `You are an assistant in a terminal. Answer briefly, in plain text without markup.
Use the calculator for arithmetic and the clock for the date and time. Keep notes when the user asks you to remember.`;

export interface Agent {
  readonly session: Session;
  readonly store: Store;
  readonly model: ChosenModel;
  readonly place: Place;
  /** Turns of this session that a killed process left unfinished, and that go on here. */
  readonly left: readonly Unfinished[];
  /** Turns that could not go on here: the reason, by the turn's id. */
  readonly lost: ReadonlyMap<string, string>;
  close(): Promise<void>;
}

/** Opens a session, or a new one without an id. Opening goes on with unfinished turns of the session. */
export async function openAgent(io: Io, settings: Settings, id?: string): Promise<Agent> {
  const model = await chooseModel(io.env, settings.model);
  const place = placeOf(io, settings.db);
  const store = openStore(place);
  const lost = new Map<string, string>();
  const runtime = await createRuntime({
    store,
    model: model.model,
    models: model.models,
    tools,
    plugins,
    instructions: INSTRUCTIONS,
    // Only the opened session is recovered: a user with one question does not expect other sessions to go on, and cost.
    recover: "manual",
    trace: ({ name, turnId, about }) => {
      if (name === "turn.lost" && turnId !== undefined) lost.set(turnId, String(about.problem));
    },
  });
  const close = (): Promise<void> => runtime.close();
  try {
    const unfinished = id === undefined ? [] : await unfinishedIn(store, asSessionId(id));
    const session = await runtime.session(id);
    const isOurs = unfinished.length === 0 || (await busyElsewhere({ session, store })) === undefined;
    return { session, store, model, place, left: isOurs ? unfinished : [], lost, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The name of another process that works at a turn of this session; undefined when there is none. */
export async function busyElsewhere({ session, store }: Pick<Agent, "session" | "store">): Promise<string | undefined> {
  const holder = await holderOf(store, session.id);
  return holder === undefined || holder.isUs ? undefined : called(holder);
}
