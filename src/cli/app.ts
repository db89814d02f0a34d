// Loads a user's own runtime from a module: `bowline chat --app agent.ts`.
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { registerHooks } from "node:module";
import { basename, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { type Runtime, RuntimeError, type Store } from "../index.ts";
import { describeThrown } from "../model/json.ts";
import { textOf } from "../model/message.ts";
import type { ServerOptions } from "../server/options.ts";
import { type Agent, waking } from "./agent.ts";
import { type Io, type Settings, UsageError } from "./io.ts";
import { type Place, placeFor } from "./place.ts";

/**
 * Opens a session of the app's runtime. Undefined if a newer version of the app replaces this version before it may
 * start.
 */
export async function openApp(
  io: Io,
  app: string,
  { db }: Pick<Settings, "db">,
  id: string | undefined,
): Promise<Agent | undefined> {
  const { runtime } = await loadApp(io, app, db, (file) => io.kept?.saw(file));
  const close = (): Promise<void> => runtime.close();
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
    const about = {
      about: app,
      isFleeting: false,
      left: [...left.values()],
      lost: new Map(),
      reported: new Set<string>(),
    };
    return { session, waits, ...waking(runtime, session), ...about, close };
  } catch (error) {
    await close();
    throw error;
  }
}

interface LoadedApp {
  readonly runtime: Runtime;
  /** Where the app stores its conversations; undefined for an app that opens its own store. */
  readonly place?: Place | undefined;
  /** The module's export `server`: how `bowline serve` serves it. */
  readonly server?: ServerOptions | undefined;
}

/**
 * The runtime of the module's default export: a runtime, a promise of a runtime, or a function that makes a runtime
 * from `{ store }`. `store` is the store of `--db`. `saw` receives the files that the module consists of, also if the
 * module cannot be loaded.
 */
export async function loadApp(
  io: Pick<Io, "cwd" | "env">,
  path: string,
  db: string | undefined,
  saw: (file: string) => void = () => {},
): Promise<LoadedApp> {
  const file = resolve(io.cwd, path);
  saw(file);
  if (!existsSync(file)) throw new RuntimeError("app.missing", { path });
  watchImports(saw);
  try {
    const { default: app, server } = await import(pathToFileURL(realpathSync(file)).href);
    const lent = typeof app === "function" && app.length > 0 ? lend(await placeFor(io, db)) : undefined;
    const made: unknown = await (typeof app === "function" ? app(...(lent === undefined ? [] : [lent.given])) : app);
    if (isRuntime(made)) {
      const place = lent?.place();
      if (db === undefined || place !== undefined) return { runtime: made, place, server };
      await made.close();
      throw new UsageError(
        `--db has no effect: ${path} opens its own store.`,
        "Let it take the store: export default ({ store }) => createRuntime({ store, … }).",
      );
    }
    throw new RuntimeError("app.invalid", { path, found: kindOf(app, made) });
  } catch (error) {
    if (error instanceof UsageError || (error instanceof RuntimeError && error.code === "app.invalid")) throw error;
    throw new RuntimeError("app.failed", { path, problem: problemOf(error) }, { cause: error });
  }
}

/** The argument of an app's function. The store is opened when the app reads it. */
function lend(place: Place) {
  let store: Store | undefined;
  const given = {
    get store(): Store {
      return (store ??= place.open());
    },
  };
  return { given, place: (): Place | undefined => (store === undefined ? undefined : place) };
}

/** Checks the methods and not the class, because an app can use its own copy of this package. */
function isRuntime(value: unknown): value is Runtime {
  const { session, close } = (value ?? {}) as Partial<Runtime>;
  return typeof session === "function" && typeof close === "function";
}

function kindOf(app: unknown, made: unknown): string {
  if (app === undefined) return "missing";
  const isOptions = typeof made === "object" && made !== null && ("store" in made || "model" in made);
  const kind = isOptions
    ? "options"
    : Array.isArray(made)
      ? "a list"
      : made === null
        ? "null"
        : `of type ${typeof made}`;
  return typeof app === "function" ? `a function whose result is ${kind}` : kind;
}

/** The message of an error, with its place if it is a syntax error, and its hint if it has one. */
function problemOf(error: unknown): string {
  const { stack = "", hint } = (error ?? {}) as { readonly stack?: string; readonly hint?: string };
  const [, place] = /^(\S+:\d+)\n/.exec(stack) ?? [];
  const where = place === undefined ? "" : ` (${basename(place)})`;
  return `${describeThrown(error)}${where}${hint === undefined ? "" : ` ${hint}`}`;
}

/**
 * Calls `saw` with each imported file that is not in a package. Apps that did not install this package import it from
 * here.
 */
function watchImports(saw: (file: string) => void): void {
  const addFile = (url: string): void => {
    if (url.startsWith("file:") && !url.includes("/node_modules/")) saw(fileURLToPath(url));
  };
  registerHooks({
    resolve(specifier, context, next) {
      const door = ownDoor(specifier);
      try {
        const found = next(specifier, context);
        // In the folder of this package, its name leads to the built files, which may be older than the sources that
        // run.
        return door === undefined || !found.url.startsWith(ROOT) ? found : { url: door, shortCircuit: true };
      } catch (error) {
        if (door !== undefined) return { url: door, shortCircuit: true };
        // The file may be created later.
        if (/^\.{0,2}\//.test(specifier)) addFile(new URL(specifier, context.parentURL).href);
        throw error;
      }
    },
    load(url, context, next) {
      addFile(url);
      return next(url, context);
    },
  });
}

const ROOT = new URL("../../", import.meta.url).href;
const isSource = import.meta.url.endsWith(".ts");

/** The file of an import such as `bowline/stores/sqlite` in the running package; undefined if there is no such file. */
function ownDoor(specifier: string): string | undefined {
  if (specifier !== "bowline" && !specifier.startsWith("bowline/")) return undefined;
  const { exports } = JSON.parse(readFileSync(new URL("package.json", ROOT), "utf8"));
  const built: string | undefined = exports[specifier.replace("bowline", ".")];
  const file = isSource ? built?.replace(/^\.\/dist\/(.*)\.js$/, "./src/$1.ts") : built;
  return file === undefined ? undefined : new URL(file, ROOT).href;
}
