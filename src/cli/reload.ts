import { EventEmitter, once } from "node:events";
import { statSync } from "node:fs";

/** A file of an app, in its state when the app was loaded. */
export interface SeenFile {
  readonly path: string;
  /** Omitted for a file that was missing. */
  readonly changedAt?: number | undefined;
}
/** When the file was changed last; undefined if there is none. */
export const changedAt = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.mtimeMs;

/** Messages from the process of an app. */
export type FromApp =
  | { readonly kind: "loaded"; readonly files: readonly SeenFile[] }
  | { readonly kind: "failed"; readonly files: readonly SeenFile[]; readonly problem: string }
  | { readonly kind: "left"; readonly typed: string };
/** Messages to the process of an app. */
export type ToApp =
  | { readonly kind: "go"; readonly isReload: boolean; readonly typed: string }
  | { readonly kind: "leave" }
  /** A newer version is loading: do not leave yet. */
  | { readonly kind: "stay" }
  | { readonly kind: "notice"; readonly words: string };

/** The process of one version of an app: its link to the keeper that started it (`keeper.ts`). */
export class AppProcess extends EventEmitter<{ go: []; leave: []; notice: [words: string] }> {
  readonly #files = new Map<string, SeenFile>();
  /** This version replaces an older one. */
  isReload = false;
  /** Text that was typed in the previous version and not entered. */
  typed = "";
  isLeaving = false;

  constructor() {
    super();
    process.on("message", (message: ToApp) => {
      if (message.kind === "notice") this.emit("notice", message.words);
      if (message.kind === "stay") this.isLeaving = false;
      if (message.kind === "leave") {
        this.isLeaving = true;
        this.emit("leave");
      }
      if (message.kind === "go") {
        this.isReload = message.isReload;
        this.typed = message.typed;
        this.emit("go");
      }
    });
    process.on("disconnect", () => process.exit(1)); // The keeper has died. The next start resumes the turn.
  }

  saw(file: string): void {
    if (!this.#files.has(file)) this.#files.set(file, { path: file, changedAt: changedAt(file) });
  }

  /**
   * Reports that the app is loaded. Resolves with true when this version may start, and with false if a newer version
   * replaces it first.
   */
  async loaded(): Promise<boolean> {
    const turn = Promise.race([once(this, "go"), once(this, "leave")]);
    await this.#send({ kind: "loaded", files: [...this.#files.values()] });
    await turn;
    return !this.isLeaving;
  }

  failed(problem: string): Promise<void> {
    return this.#send({ kind: "failed", files: [...this.#files.values()], problem });
  }

  left(typed: string): Promise<void> {
    return this.#send({ kind: "left", typed });
  }

  #send(message: FromApp): Promise<void> {
    return new Promise((resolve) => {
      if (process.connected) process.send?.(message, undefined, undefined, () => resolve());
      else resolve();
    });
  }
}
