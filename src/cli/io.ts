import type { ChildProcess } from "node:child_process";
import type { EventEmitter } from "node:events";
import type { Readable, Writable } from "node:stream";
import type { AppProcess } from "./reload.ts";

export type Input = Readable & { readonly isTTY?: boolean };
export type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number };

/** Everything that the program uses of its process, so that tests can replace it. */
export interface Io {
  readonly stdin: Input;
  readonly stdout: Output;
  readonly stderr: Output;
  readonly env: { readonly [name: string]: string | undefined };
  readonly cwd: string;
  readonly version: string;
  /** The login name of the user. It is stored with the user's answers. */
  readonly user?: string | undefined;
  /** Emits `interrupt` for Ctrl-C, as a signal or as a key. A listener must handle it; without one the program ends. */
  readonly interrupts: EventEmitter<{ interrupt: [] }>;
  /** Starts the same command in a child process, which reports to this one (`keeper.ts`). */
  readonly start?: () => ChildProcess;
  /** Set in a child process of `start`. */
  readonly kept?: AppProcess | undefined;
}

export interface Settings {
  readonly app?: string | undefined;
  readonly model?: string | undefined;
  readonly mode?: string | undefined;
  readonly session?: string | undefined;
  readonly db?: string | undefined;
  readonly verbose: boolean;
  readonly json: boolean;
  /** Prints text of models and tools unchanged, with escape codes and bidirectional characters. */
  readonly raw: boolean;
}

export const EXIT = { ok: 0, failed: 1, usage: 2, waiting: 3, interrupted: 130 } as const;

export const isInteractive = ({ stdin, stdout }: Io): boolean => stdin.isTTY === true && stdout.isTTY === true;

/** The command has wrong arguments. The program ends with exit code 2. */
export class UsageError extends Error {
  readonly hint: string;
  constructor(message: string, hint: string) {
    super(message);
    this.name = "UsageError";
    this.hint = hint;
  }
}
