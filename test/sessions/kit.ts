import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import {
  defineTool,
  type Message,
  type ModelRequest,
  type Provider,
  type Session,
  type Store,
  type Tool,
} from "bowline";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { afterAll } from "vitest";
import { BEGINNING, type Deployment, deployed, HOUR, type QuickWorld, quickWorld } from "../durability/kit.ts";
import { call, end, text, wordsOf } from "../stories/kit.ts";

const folder = mkdtempSync(join(tmpdir(), "bowline-sessions-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
let files = 0;
/** A database that is not there yet. */
export const file = (): string => join(folder, `${++files}.db`);

export const STORES: readonly (readonly [string, () => Store])[] = [
  ["memory", memory],
  ["sqlite", () => sqlite(":memory:", { strength: "process" })],
];

// ── Who takes part ──────────────────────────────────────────────────────────────────────────────────────────────────

export interface Heard extends Provider {
  readonly requests: readonly ModelRequest[];
  /** What the model was told in each request, since it last spoke. */
  readonly told: readonly (readonly string[])[];
}

/** Calls `work` when it is told to work, else repeats what it was told since it last spoke. It remembers nothing. */
export function listener(before?: (request: ModelRequest, signal: AbortSignal) => Promise<void>): Heard {
  const requests: ModelRequest[] = [];
  const told: (readonly string[])[] = [];
  return {
    id: "listener",
    modelId: "test",
    requests,
    told,
    async *stream(request, { signal }) {
      const news = sinceItSpoke(request.messages);
      requests.push({ ...request, messages: [...request.messages] });
      told.push(news);
      await before?.(request, signal);
      const work = news.filter((words) => words.startsWith("Work"));
      if (work.length > 0) yield call("work", {}, `call_${request.messages.length}`);
      else yield text(news.length === 0 ? "Done." : `re: ${news.join(" + ")}`);
      yield end;
    },
  };
}

const sinceItSpoke = (messages: readonly Message[]): readonly string[] =>
  messages
    .slice(messages.findLastIndex(({ role }) => role === "assistant") + 1)
    .filter(({ role }) => role === "user")
    .map(wordsOf);

/** The tool `work`: it tells when it has begun, and returns when it is let go. */
export interface Held {
  readonly tool: Tool;
  /** Settles when the n-th call has begun; the first unless told. */
  began(n?: number): Promise<void>;
  /** Lets all calls go, now and later. */
  release(): void;
  readonly calls: number;
}
export function held(name = "work"): Held {
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
        const left = Promise.withResolvers<void>();
        signal.addEventListener("abort", () => left.resolve(), { once: true });
        await Promise.race([go.promise, left.promise]);
        return signal.aborted ? "left" : "worked";
      },
    }),
    began: (n = 1) => at(n).promise,
    release: () => go.resolve(),
    get calls() {
      return calls;
    },
  };
}

/** What users have said in a session, as it is kept. */
export const saidIn = async (session: Session): Promise<readonly string[]> =>
  (await session.read()).messages.filter(({ role }) => role === "user").map(wordsOf);

export const waitingIn = async (session: Session): Promise<readonly string[]> =>
  (await session.inputs.list()).map((input) => input.text);

// ── Stores in which something happens ───────────────────────────────────────────────────────────────────────────────

type Doing = (act: () => unknown, ...given: readonly unknown[]) => unknown;

/** The same store; what is named here (`commit`, `inputs.claim`) is done by the test, which is given the real one. */
export function around(store: Store, doing: { readonly [method: string]: Doing }): Store {
  const inside = (of: object, path: string): object =>
    new Proxy(of, {
      get(target, key) {
        const found: unknown = Reflect.get(target, key);
        const name = `${path}${String(key)}`;
        if (typeof found === "object" && found !== null) return inside(found, `${name}.`);
        if (typeof found !== "function") return found;
        const own = doing[name];
        if (own === undefined) return found.bind(target);
        return (...given: readonly unknown[]) => own(() => found.apply(target, given), ...given);
      },
    });
  return inside(store, "") as Store;
}

// ── One process after the other, on one file ────────────────────────────────────────────────────────────────────────

export interface Life extends Deployment {
  readonly store: Store;
  readonly world: QuickWorld;
}

/** `next` is a process with a connection of its own; whatever one asks that was killed is never answered. */
export function lifetimes(path = file()) {
  let now = 0;
  const never = new Promise<never>(() => {});
  const mortal = (store: Store, mine: number): Store => {
    const alive = (of: object): object =>
      new Proxy(of, {
        get(target, key) {
          const found: unknown = Reflect.get(target, key);
          if (typeof found === "object" && found !== null) return alive(found);
          if (typeof found !== "function") return found;
          return (...given: readonly unknown[]): unknown => (mine === now ? found.apply(target, given) : never);
        },
      });
    return alive(store) as Store;
  };
  return {
    path,
    /** Ends the one that lives. */
    kill: () => void now++,
    async next(options: Parameters<typeof deployed>[2], doing: Parameters<typeof around>[1] = {}): Promise<Life> {
      // By its clock the lease of the one before has lapsed.
      const world = quickWorld({ now: BEGINNING + now * HOUR, name: `p${now}` });
      const store = mortal(sqlite(path, { strength: "process" }), now);
      return { store, world, ...(await deployed(around(store, doing), world, options)) };
    },
  };
}

// ── Another process ─────────────────────────────────────────────────────────────────────────────────────────────────

const src = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
const ELSEWHERE = `
import { writeSync } from "node:fs";
import { createRuntime, defineTool } from ${src("index.ts")};
import { sqlite } from ${src("stores/sqlite.ts")};
import { calls, says, scripted } from ${src("providers/scripted.ts")};
const [path, ...args] = process.argv.slice(1);
const say = (...words) => writeSync(1, words.map((each) => typeof each === "string" ? each : JSON.stringify(each)).join(" ") + "\\n");
const heard = new Promise((resolve) => process.stdin.once("data", () => resolve()));
const store = sqlite(path, { strength: "process" });
/** Goes by the name of the model here: a turn ends with the model it began with. */
const plays = (...replies) => ({ ...scripted(...replies), id: "listener" });
`;

export interface Elsewhere {
  /** The next line that it says; undefined when it has ended. */
  next(): Promise<string | undefined>;
  /** Lets it go on from `await heard`. */
  tell(): void;
  kill(): Promise<void>;
  readonly ended: Promise<unknown>;
}

/** A program in a process of its own, on the same file: it has `store`, `say`, `args`, `heard` and the runtime's doors. */
export function elsewhere(program: string, path: string, ...args: readonly string[]): Elsewhere {
  const child = spawn(
    process.execPath,
    [
      "--disable-warning=ExperimentalWarning",
      "--input-type=module",
      "-e",
      `${ELSEWHERE}${program}\nprocess.stdin.destroy();`,
      path,
      ...args,
    ],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = once(child, "close");
  return {
    next: async () => ((await lines.next()) as IteratorResult<string, undefined>).value,
    tell: () => void child.stdin.write("go\n"),
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
    ended,
  };
}
