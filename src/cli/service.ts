// What `bowline serve`, `bowline acp` and `bowline worker` share: they open a runtime that resumes the work of other processes, and
// they stop.
import type { Runtime } from "../index.ts";
import type { ServerOptions } from "../server/options.ts";
import type { Io, Settings } from "./io.ts";
import { oneLine } from "./text.ts";

interface Service {
  readonly runtime: Runtime;
  /** Describes the app and its store, for the greeting. */
  readonly about: string;
  readonly where?: string | undefined;
  readonly server?: ServerOptions | undefined;
  /** The model is the offline demo. */
  readonly isDemo?: boolean;
}

/** Opens the app's runtime or the built-in one. Loads only the code of the one it opens. */
export async function openService(io: Io, settings: Settings): Promise<Service> {
  const { app, db } = settings;
  if (app !== undefined) {
    const { runtime, place, server } = await (await import("./app.ts")).loadApp(io, app, db);
    return { runtime, about: app, where: place?.shown, server };
  }
  const [{ bundledRuntime, DEMO }, { placeFor }, { chooseMode }, { chooseModel }] = await Promise.all([
    import("./bundled.ts"),
    import("./place.ts"),
    import("./mode.ts"),
    import("./model.ts"),
  ]);
  const mode = chooseMode(io.env, settings.mode);
  const model = await chooseModel(io.env, settings.model);
  const place = await placeFor(io, db);
  const lost = (turnId: string, problem: string): void => {
    io.stderr.write(`bowline: ${oneLine(`Turn ${turnId} cannot continue here: ${problem}`)}\n`);
  };
  const runtime = await bundledRuntime(place.open(), model, mode, "auto", lost);
  const { isDemo, name } = model;
  return { runtime, about: isDemo ? DEMO : name, where: place.isFleeting ? undefined : place.shown, isDemo };
}

/** A process manager and `npm start` often both send the signal. Within this time both count as one signal. */
const SAME_MS = 1_000;

const PARENT_CHECK_MS = 200;

/**
 * Waits for SIGTERM or Ctrl-C, or in a script of npm for the end of the parent. To stop takes its time; a later signal
 * ends the program at once. `release` leaves the signals to the program again.
 */
export function untilStopped({ interrupts, env }: Pick<Io, "interrupts" | "env">): {
  readonly stopped: Promise<void>;
  release(): void;
} {
  const { promise, resolve } = Promise.withResolvers<void>();
  let timer: NodeJS.Timeout | undefined;
  const release = (): void => {
    clearTimeout(timer);
    clearInterval(watch);
    interrupts.off("interrupt", stop);
    process.off("SIGTERM", stop);
  };
  const stop = (): void => {
    timer ??= setTimeout(release, SAME_MS).unref();
    resolve();
  };
  // npm puts a shell between itself and this process, and the shell dies of SIGTERM without passing it on.
  const isInScript = env.npm_lifecycle_event !== undefined;
  const parent = process.ppid;
  const look = (): void => {
    if (process.ppid !== parent) stop();
  };
  const watch = isInScript ? setInterval(look, PARENT_CHECK_MS).unref() : undefined;
  interrupts.on("interrupt", stop);
  process.on("SIGTERM", stop);
  return { stopped: promise, release };
}
