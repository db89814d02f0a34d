import {
  createRuntime,
  definePlugin,
  defineTool,
  defineToolProvider,
  type Json,
  type ModelRequest,
  type NewSessionRequest,
  type Provider,
  type Runtime,
  type RuntimeOptions,
  type Session,
  type SessionEvent,
  type Store,
  type Tool,
  type ToolManifest,
  type ToolOutput,
  type ToolProvider,
  type ToolSpec,
  type TraceRecord,
  type TurnOutcome,
} from "bowline";
import { memory } from "bowline/stores/memory";
import { z } from "zod";
import { call, end, eventsOf, only, outline, text, wordsOf } from "../stories/kit.ts";

/** A tool without arguments that answers with its name, unless told what else to do. */
export const named = (
  name: string,
  execute: ToolSpec<typeof ANYTHING, unknown>["execute"] = () => `${name}!`,
  more: Partial<ToolSpec<typeof ANYTHING, unknown>> = {},
): Tool => defineTool({ name, description: `Does ${name}.`, input: ANYTHING, ...more, execute });
const ANYTHING = z.looseObject({});

export interface Supply extends ToolProvider {
  /** How often it was listed, and what was loaded, in order. */
  readonly seen: { lists: number; loads: string[]; watches: number; unwatched: number };
  /** Offers these from now on, and says so. */
  change(...tools: readonly Tool[]): void;
  /** Says that the list has changed. */
  tell(): void;
}

type Parts = Partial<Pick<ToolProvider, "list" | "load" | "watch">>;

/** A source of tools whose list the test changes; `parts` break it. */
export function supplies(id: string, tools: readonly Tool[] = [], parts: Parts = {}): Supply {
  let offered = tools;
  const watchers = new Set<() => void>();
  const seen: Supply["seen"] = { lists: 0, loads: [], watches: 0, unwatched: 0 };
  const tell = (): void => {
    for (const watcher of watchers) watcher();
  };
  const provider = defineToolProvider({
    id,
    list(signal) {
      seen.lists++;
      return parts.list === undefined ? offered.map(manifestOf) : parts.list(signal);
    },
    load(name, signal) {
      seen.loads.push(name);
      return parts.load === undefined ? offered.find((tool) => tool.name === name) : parts.load(name, signal);
    },
    watch(changed) {
      seen.watches++;
      watchers.add(changed);
      return () => {
        seen.unwatched++;
        watchers.delete(changed);
      };
    },
    ...(parts.watch === undefined ? {} : { watch: parts.watch }),
  });
  return {
    ...provider,
    seen,
    tell,
    change(...next) {
      offered = next;
      tell();
    },
  };
}

const manifestOf = ({ name, description, availability, audience, bindings, examples }: Tool): ToolManifest =>
  JSON.parse(JSON.stringify({ name, description, availability, audience, bindings, examples }));

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
        yield { ...end, reason: "calls" } as typeof end;
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
  readonly traces: readonly TraceRecord[];
  /** The names of the tools that the last request declared. */
  offered(): readonly string[];
}

type Options = Partial<Omit<RuntimeOptions, "model" | "models" | "trace">> & { readonly id?: string };

/** A runtime with an obedient model and one session of it. A second one on the same store is a restart. */
export async function opened({ id = "one", store = memory(), ...rest }: Options = {}): Promise<Opened> {
  const model = obeys();
  const traces: TraceRecord[] = [];
  const runtime = await createRuntime({ ...rest, store, model, trace: (record) => void traces.push(record) });
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

/** Makes sessions, and shows what operations see of the tools. */
export const maker = definePlugin({
  id: "acme/maker",
  setup: ({ query, command }) => ({
    operations: {
      make: command({
        input: z.custom<NewSessionRequest>(),
        run: async ({ input, sessions }) => (await sessions.create(input)).id,
      }),
      tools: query({ run: ({ catalog }) => catalog.list().map(({ name }) => name) }),
      describe: query({
        input: z.string(),
        run: async ({ input, catalog }) => (await catalog.describe(input)) !== undefined,
      }),
      set: command({
        input: z.tuple([z.string(), z.enum(["off", "searchable", "callable", "documented"])]),
        run: ({ input: [name, availability], membership }) => membership.set(name, availability),
      }),
      grant: command({
        input: z.tuple([z.string(), z.custom<{ source: string; tool: string; bindings?: { [key: string]: Json } }>()]),
        run: ({ input: [name, grant], membership }) => membership.grant(name, grant),
      }),
      revoke: command({ input: z.string(), run: ({ input, membership }) => membership.revoke(input) }),
    },
  }),
});

/** Makes a session from another one, and opens it. */
export async function made(runtime: Runtime, from: Session, request: NewSessionRequest): Promise<Session> {
  const { output } = await from.command(maker, "make", request);
  return runtime.session(output as string);
}

/** The code of what a promise fails with. */
export const codeOf = async (failing: PromiseLike<unknown>): Promise<string> => {
  try {
    await failing;
  } catch (error) {
    return String((error as { code?: unknown }).code ?? error);
  }
  return "it did not fail";
};

/** A tool that waits until the test lets it go. */
export interface Held {
  readonly tool: Tool;
  readonly entered: Promise<void>;
  release(): void;
}
export function held(name: string): Held {
  const entered = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const tool = named(name, async () => {
    entered.resolve();
    await released.promise;
    return `${name}!`;
  });
  return { tool, entered: entered.promise, release: released.resolve };
}
