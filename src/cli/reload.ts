import { EventEmitter, once } from "node:events";
import { statSync } from "node:fs";

/** A file of an app, as it was when the app was loaded. */
export interface SeenFile {
  readonly path: string;
  /** Left out for a file that was missing. */
  readonly changedAt?: number | undefined;
}
/** When the file was changed last; undefined if there is none. */
export const changedAt = (path: string): number | undefined => statSync(path, { throwIfNoEntry: false })?.mtimeMs;

/** From the process of an app. */
export type FromApp =
  | { readonly kind: "loaded"; readonly files: readonly SeenFile[] }
  | { readonly kind: "failed"; readonly files: readonly SeenFile[]; readonly problem: string }
  | { readonly kind: "left"; readonly typed: string };
/** To the process of an app. */
export type ToApp =
  | { readonly kind: "go"; readonly isReload: boolean; readonly typed: string }
  | { readonly kind: "leave" }
  /** An even newer version is being loaded: it is not yet time to leave. */
  | { readonly kind: "stay" }
  | { readonly kind: "notice"; readonly words: string };

/** The process of an app, as one version of several: its link to the keeper that started it (`keeper.ts`). */
export class AppProcess extends EventEmitter<{ go: []; leave: []; notice: [words: string] }> {
  readonly #files = new Map<string, SeenFile>();
  /** This version took the place of another. */
  isReload = false;
  /** What was typed into the version before and not entered. */
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

  /** The app is loaded. Resolves when it is this one's turn; with false if a newer version has come before. */
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
