/** A model that makes the calls it is told to, and turns in which it does. */
import {
  createRuntime,
  type Json,
  type Runtime,
  type RuntimeOptions,
  type Session,
  type SessionEvent,
  type Store,
  type TelemetryEvent,
  type TurnOutcome,
} from "bowline";
import type { ToolOutput } from "bowline/plugin";
import type { ModelRequest, Provider } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { call, end, endInCalls, text } from "../kit/models.ts";
import { eventsOf, only, outline, wordsOf } from "../kit/reading.ts";
import { onEvent } from "../kit/telemetry.ts";

export interface Obedient extends Provider {
  readonly requests: readonly ModelRequest[];
}

/** A model that makes the calls it is told to, as `did` tells it, and then says that it is done. */
export function obeys(): Obedient {
  const requests: ModelRequest[] = [];
  return {
    id: "obeys",
    modelId: "test",
    requests,
    async *stream(request) {
      requests.push({ ...request, messages: [...request.messages] });
      const last = request.messages.findLast(({ origin }) => origin?.kind !== "runtime");
      const words = wordsOf(last);
      if (last?.role === "user" && words.startsWith("[")) {
        const asked = JSON.parse(words) as [string, Json][];
        for (const [index, [name, input]] of asked.entries()) yield call(name, input, `c${index}`);
        yield endInCalls;
        return;
      }
      yield text("Done.");
      yield end;
    },
  };
}

export type Asked = string | readonly [name: string, input: Json];
export interface Did {
  readonly outcome: TurnOutcome<unknown>;
  /** Results as the model was shown them: `ping ok: Pong.` */
  readonly shown: readonly string[];
  readonly outputs: readonly ToolOutput[];
  readonly events: readonly SessionEvent[];
}

const lines = (asked: readonly Asked[]): string =>
  JSON.stringify(asked.map((each) => (typeof each === "string" ? [each, {}] : each)));

/** One turn in which an obedient model makes these calls in one reply. */
export async function did(session: Session, ...asked: readonly Asked[]): Promise<Did> {
  const turn = session.turn(asked.length === 0 ? "Hello." : lines(asked));
  const events = await eventsOf(turn);
  const { outcome } = await turn.result();
  const { messages } = await session.read();
  const from = messages.findLastIndex(
    ({ role, origin }) => role === "user" && origin?.kind !== "runtime" && origin?.kind !== "plugin",
  );
  const shown = outline(messages.slice(from + 1).filter(({ role }) => role === "tool"));
  return { outcome, shown, outputs: only(events, "toolEnded").map(({ output }) => output), events };
}

/** The same, begun and not waited for. */
export const begins = (session: Session, ...asked: readonly Asked[]) => session.turn(lines(asked));

export const toolsIn = (request: ModelRequest | undefined): readonly string[] =>
  (request?.tools ?? []).map(({ name }) => name);

export interface Opened extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly session: Session;
  readonly model: Obedient;
  readonly store: Store;
  readonly traces: readonly TelemetryEvent[];
  /** The names of the tools that the last request declared. */
  offered(): readonly string[];
}

type Options = Partial<Omit<RuntimeOptions, "model" | "models" | "telemetry">> & { readonly id?: string };

/** A runtime with an obedient model and one session of it. A second one on the same store is a restart. */
export async function opened({ id = "one", store = memory(), ...rest }: Options = {}): Promise<Opened> {
  const model = obeys();
  const traces: TelemetryEvent[] = [];
  const runtime = await createRuntime({
    ...rest,
    store,
    model,
    telemetry: onEvent((record) => void traces.push(record)),
  });
  const session = await runtime.session(id);
  return {
    runtime,
    session,
    model,
    store,
    traces,
    offered: () => toolsIn(model.requests.at(-1)),
    [Symbol.asyncDispose]: () => runtime.close(),
  };
}
