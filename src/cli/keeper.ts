// Reloads an app. A process can import a module only once. So each version of an app runs in a separate process, and
// this process starts them.
// keeper-1: One process uses the terminal. Meanwhile the next process loads the app, but opens no session before it
//    takes over.
// keeper-2: A process exits only after the next process has loaded the app, so that a broken edit changes nothing.
// keeper-3: A process exits at an idle prompt, after it has closed its runtime. The typed text moves to the next
//    process.
import type { ChildProcess } from "node:child_process";
import { type FSWatcher, watch } from "node:fs";
import { basename, dirname } from "node:path";
import { EXIT, type Io } from "./io.ts";
import { changedAt, type FromApp, type SeenFile, type ToApp } from "./reload.ts";

/** An editor writes a file in several steps. */
const SETTLE_MS = 100;

/** Runs an app and reloads it when its files change. Resolves with the exit code when the user leaves. */
export function keepUp(io: Pick<Io, "stderr" | "interrupts">, start: () => ChildProcess): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  let current: ChildProcess | undefined;
  let next: ChildProcess | undefined;
  let isNextLoaded = false;
  /** The text in the prompt. Set when the current process has left for the next one. */
  let typed: string | undefined;
  const watched = new Watched(() => load());
  /** The terminal sends Ctrl-C also to the process of the app. If there is one, it decides. */
  const interrupted = (): void => {
    if (current === undefined && next === undefined) end(EXIT.interrupted);
  };
  io.interrupts.on("interrupt", interrupted);

  const send = (child: ChildProcess | undefined, message: ToApp): void => {
    if (child?.connected === true) child.send(message, () => {}); // The process may have ended.
  };
  const load = (): void => {
    send(next, { kind: "leave" });
    send(current, { kind: "stay" }); // keeper-2
    const child = start();
    next = child;
    isNextLoaded = false;
    child.on("message", (message: FromApp) => onMessage(child, message));
    child.on("exit", (code) => ended(child, code));
  };
  const onMessage = (child: ChildProcess, message: FromApp): void => {
    if (message.kind === "left") typed = message.typed;
    else if (child === current && message.kind === "failed") io.stderr.write(`${message.problem}\n`);
    else if (child === next) {
      watched.add(message.files);
      if (message.kind === "failed") return failed(message.problem);
      isNextLoaded = true;
      if (current === undefined) go(child);
      else send(current, { kind: "leave" });
    }
  };
  const failed = (problem: string): void => {
    next = undefined;
    if (current?.connected === true) send(current, { kind: "notice", words: problem });
    else io.stderr.write(`${problem}\n`);
  };
  const go = (child: ChildProcess): void => {
    send(child, { kind: "go", isReload: typed !== undefined, typed: typed ?? "" });
    current = child;
    next = undefined;
    typed = undefined;
  };
  const ended = (child: ChildProcess, code: number | null): void => {
    if (child === next) failed(`bowline: The app ended during loading, with ${code ?? "a signal"}.`);
    if (child === current) {
      current = undefined;
      if (typed === undefined) end(code);
      else if (next !== undefined && isNextLoaded) go(next);
      // Otherwise it waits until the user repairs the app.
    } else if (current === undefined && next === undefined && typed === undefined) end(code);
  };
  const end = (code: number | null): void => {
    watched.close();
    send(next, { kind: "leave" });
    io.interrupts.off("interrupt", interrupted);
    resolve(code ?? EXIT.failed);
  };
  load();
  return promise;
}

/** Calls `changed` when one of the files is written. It watches their folders, because editors replace files. */
class Watched {
  readonly #changed: () => void;
  readonly #files = new Map<string, Set<string>>();
  readonly #watchers: FSWatcher[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Calls `changed` also for a file that was written between the app's reading and the start of the watch. */
  add(files: readonly SeenFile[]): void {
    for (const { path } of files) this.#namesIn(dirname(path))?.add(basename(path));
    if (files.some((file) => changedAt(file.path) !== file.changedAt)) this.#changedSoon();
  }

  #changedSoon(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.#changed, SETTLE_MS);
  }

  #namesIn(folder: string): Set<string> | undefined {
    const known = this.#files.get(folder);
    if (known !== undefined) return known;
    const names = new Set<string>();
    try {
      const watcher = watch(folder, (_, name) => {
        if (name === null || names.has(name)) this.#changedSoon();
      });
      watcher.on("error", () => {}); // The folder was removed.
      this.#watchers.push(watcher);
    } catch {
      return undefined; // There is no such folder.
    }
    this.#files.set(folder, names);
    return names;
  }

  close(): void {
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers) watcher.close();
  }
}
