/** Worlds for tests: runtimes, their clocks and processes, and the tools that work there. */
import {
  type Approval,
  createRuntime,
  type Delivery,
  defineTool,
  type Runtime,
  type RuntimeOptions,
  type Session,
  type SessionView,
  type Store,
  type TelemetryEvent,
  type Tool,
} from "bowline";
import { inline } from "bowline/hosts/inline";
import { journal } from "bowline/hosts/journal";
import type { ToolSpec } from "bowline/plugin";
import { toolCalls } from "bowline/protocols/tool-calls";
import type { Provider } from "bowline/provider";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { z } from "zod";
import type { World } from "../../src/model/world.ts";
import { openRuntime } from "../../src/runtime/runtime.ts";
import { aborted, echo } from "./models.ts";
import { within } from "./reading.ts";
import { around, file, mortal } from "./stores.ts";
import { onEvent } from "./telemetry.ts";

// ── Runtimes ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A runtime on a store in memory, and one session of it. */
export interface Opened extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly session: Session;
  /** The session as another process would find it. */
  reread(): Promise<SessionView>;
}

type Model = Exclude<RuntimeOptions["model"], string>;

export async function open(model: Model, options: Partial<Omit<RuntimeOptions, "model">> = {}): Promise<Opened> {
  const { store = memory(), ...rest } = options;
  const runtime = await createRuntime({ ...rest, store, model });
  const session = await runtime.session();
  const reread = async () =>
    (await (await createRuntime({ ...rest, store, model, plugins: [] })).session(session.id)).read();
  return { runtime, session, reread, [Symbol.asyncDispose]: () => runtime.close() };
}

type Options = Partial<Omit<RuntimeOptions, "model" | "models">> & {
  readonly model?: Provider;
  readonly models?: RuntimeOptions["models"];
};

/** A runtime whose model repeats what it is told, unless the test brings one. */
export const running = ({ model = echo(), store = memory(), models, ...rest }: Options = {}): Promise<Runtime> =>
  createRuntime({ ...rest, store, model, ...(models === undefined ? {} : { models }) });

/** The same on a file, with a connection of its own: a second one is another process. */
export const runningOn = (path: string, options: Options): Promise<Runtime> =>
  running({ ...options, store: sqlite(path, { durability: "process" }) });

/** Two runtimes on one store. Only the first is closed: closing one closes the store they share. */
export async function twoOn(
  store: Store,
  options: Options = {},
  other: Options = options,
): Promise<AsyncDisposable & { readonly one: Runtime; readonly two: Runtime }> {
  const one = await running({ ...options, store });
  const two = await running({ ...other, store });
  return { one, two, [Symbol.asyncDispose]: () => one.close() };
}

// ── Clocks ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The first of January 2026: when journals of these tests were recorded. */
export const BEGINNING = 1_767_225_600_000;
export const HOUR = 3_600_000;
export const DAY = 24 * HOUR;

/**
 * A world in which nobody waits: a sleep of up to an hour is over at once, and the clock has moved by it. A longer one
 * (the `until` of an approval) only ends when it is told to.
 */
export interface QuickWorld extends World {
  pass(ms: number): void;
}
export function quickWorld({ now = BEGINNING, name = "" }: { readonly now?: number; readonly name?: string } = {}) {
  let time = now;
  let ids = 0;
  let secrets = 0;
  const world: QuickWorld = {
    now: () => time,
    pass: (ms) => void (time += ms),
    sleep: (ms, signal) =>
      new Promise((resolve) => {
        if (!(ms > 0) || signal?.aborted === true) return resolve();
        const due = time + ms;
        const wake = (): void => {
          signal?.removeEventListener("abort", wake);
          resolve();
        };
        signal?.addEventListener("abort", wake, { once: true });
        if (ms <= HOUR)
          setImmediate(() => {
            if (signal?.aborted !== true) time = Math.max(time, due);
            wake();
          });
      }),
    // In real time: what comes again and again would never let anything else happen.
    rest: (ms, signal) =>
      new Promise((resolve) => {
        setTimeout(resolve, ms).unref();
        signal?.addEventListener("abort", () => resolve(), { once: true });
      }),
    id: (prefix) => `${prefix}_${String(++ids).padStart(6, "0")}${name}`,
    secret: () => `secret-${name}-${++secrets}`,
  };
  return world;
}

/** A runtime in a quick world of its own: nobody waits for a retry. */
export const runningQuickly = ({
  model = echo(),
  store = memory(),
  ...rest
}: Omit<Options, "models"> = {}): Promise<Runtime> =>
  openRuntime(
    { ...rest, store, model },
    {
      host: ({ isDurable }) => (isDurable ? journal() : inline()),
      protocol: toolCalls,
      adapt: (given) => given as Provider,
      world: quickWorld({ name: `.${++worlds}` }),
    },
  );
let worlds = 0;

/** A file that several runtimes share, as several processes would. */
export class SharedFile implements AsyncDisposable {
  readonly #path = file();
  readonly #opened: Runtime[] = [];

  async open(options: Omit<Options, "models"> = {}): Promise<Runtime> {
    const store = sqlite(this.#path, { durability: "process" });
    const runtime = await runningQuickly({ recover: "manual", ...options, store });
    this.#opened.push(runtime);
    return runtime;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const runtime of this.#opened) await runtime.close();
  }
}

// ── One process after the other ─────────────────────────────────────────────────────────────────────────────────────

export interface Deployment {
  readonly runtime: Runtime;
  readonly traces: readonly TelemetryEvent[];
}
export type Deployed = Options & { readonly model: Provider };

/** A runtime on the journal host, in a world of its own. It does nothing by itself unless told to. */
export async function deployed(store: Store, world: World, options: Deployed): Promise<Deployment> {
  const traces: TelemetryEvent[] = [];
  const { models, ...rest } = options;
  const runtime = await openRuntime(
    {
      recover: "manual",
      telemetry: onEvent((record) => void traces.push(record)),
      ...rest,
      ...(models === undefined ? {} : { models }),
      store,
    },
    {
      host: () => journal(),
      protocol: toolCalls,
      adapt: (model) => model as Provider,
      world,
    },
  );
  return { runtime, traces };
}

export interface Life extends Deployment {
  readonly store: Store;
  readonly world: QuickWorld;
}

/** Processes on one file: `next` has a connection of its own; whatever one asks that was killed is never answered. */
export function lifetimes(path = file()) {
  let now = 0;
  return {
    path,
    /** Ends the one that lives. */
    kill: () => void now++,
    async next(options: Deployed, doing: Parameters<typeof around>[1] = {}): Promise<Life> {
      const mine = now;
      // By its clock the lease of the one before has lapsed.
      const world = quickWorld({ now: BEGINNING + mine * HOUR, name: `p${mine}` });
      const store = mortal(sqlite(path, { durability: "process" }), () => mine === now);
      return { store, world, ...(await deployed(around(store, doing), world, options)) };
    },
  };
}

// ── Waits ───────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The key of what an event says is waited for: the event has the public name alone. */
export async function keyTo(runtime: Runtime, wait: string): Promise<string> {
  const found = await runtime.waits.get(wait);
  if (found === undefined) throw new Error(`Nobody waits for ${wait}.`);
  return found.key;
}

/** Answers what an event says is waited for. */
export const answerWait = (
  runtime: Runtime,
  wait: string,
  answer: Approval | Delivery,
): Promise<"accepted" | "already-resolved"> => runtime.waits.resolve(wait, answer);

// ── Tools ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const ANYTHING = z.looseObject({});

/** A tool that takes anything and answers with its name, unless told what else to do. */
export const named = (
  name: string,
  execute: ToolSpec<typeof ANYTHING, unknown>["execute"] = () => `${name}!`,
  more: Partial<ToolSpec<typeof ANYTHING, unknown>> = {},
): Tool => defineTool({ name, description: `Does ${name}.`, input: ANYTHING, ...more, execute });

export const ping = defineTool({ name: "ping", description: "Pings.", input: z.object({}), execute: () => "Pong." });

/** What `listener` calls when it is told to work. */
export const work = defineTool({
  name: "work",
  description: "Works.",
  input: { type: "object" },
  execute: () => "worked",
});

/** The same, but it tells when it has begun, and returns when it is let go, or told to leave. */
export interface HeldTool {
  readonly tool: Tool;
  /** Settles when the n-th call has begun; the first unless told. */
  began(n?: number): Promise<void>;
  /** Lets all calls go, now and later. */
  release(): void;
  readonly calls: number;
}
export function held(name = "work", answer = "worked"): HeldTool {
  const go = Promise.withResolvers<void>();
  const begun: PromiseWithResolvers<void>[] = [];
  const at = (n: number) => (begun[n - 1] ??= Promise.withResolvers<void>());
  let calls = 0;
  return {
    tool: defineTool({
      name,
      description: "Works.",
      input: { type: "object" },
      execute: async (_, { signal }) => {
        at(++calls).resolve();
        await Promise.race([go.promise, aborted(signal)]);
        return signal.aborted ? "left" : answer;
      },
    }),
    began: (n = 1) => at(n).promise,
    release: () => go.resolve(),
    get calls() {
      return calls;
    },
  };
}

/** A place where something waits until it is let go. */
export class Stop {
  readonly #reached = Promise.withResolvers<void>();
  readonly #go = Promise.withResolvers<void>();

  get reached(): Promise<void> {
    return within(this.#reached.promise, 3_000);
  }
  here(): Promise<void> {
    this.#reached.resolve();
    return this.#go.promise;
  }
  go(): void {
    this.#go.resolve();
  }
}

/** A tool that waits there. */
export const stopping = (stop: Stop, name = "slow"): Tool =>
  named(name, async () => {
    await stop.here();
    return "Done.";
  });
