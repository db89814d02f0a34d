// Job: `jsonl()`, a listener that appends a line of JSON per span and event to a file.
// Not its job: the fields of a line (`plain.ts`), a limit of the file's size (use a program that rotates logs).
// jsonl-1 Several processes append to one file. A write has whole lines, and `O_APPEND` puts it at the end.
// jsonl-2 A turn never waits for the file. Lines that cannot be written are dropped and counted, and the failure is
//         thrown by a later call, which the runtime reports.
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { type Known, requireKnown } from "../model/known.ts";
import { plainEvent, plainSpan } from "./plain.ts";
import type { Span, TelemetryEvent, TelemetryListener } from "./telemetry.ts";

/** What a line is about. */
export type LineKind = Span["kind"] | "event";

export interface JsonlOptions {
  /** Writes messages, arguments, results and texts of errors too. Default: false. */
  readonly content?: boolean | undefined;
  /** Which lines to write. Default: all but those of kind `store`. */
  readonly kinds?: readonly LineKind[] | undefined;
}
/** All kinds but `store`. */
const MOST: readonly LineKind[] = [
  ...(["turn", "round", "model", "tool", "cell", "hook", "wait", "commit", "job", "event"] as const),
];
const OPTIONS: Known<JsonlOptions> = { content: true, kinds: true };

/** Appends a line of JSON for each span that ends and each event. `close()` of the runtime writes the waiting lines. */
export function jsonl(path: string, options: JsonlOptions = {}): TelemetryListener {
  requireKnown("jsonl", options, OPTIONS);
  return new JsonlListener(path, options);
}

/** How long a line waits, so that several lines are written together. */
const FLUSH_MS = 200;
const BATCH_MAX = 64 * 1_024;
/** The limit of waiting lines, in UTF-16 units. If the disk is too slow, further lines are dropped. */
const BUFFER_MAX = 16 * 1_024 * 1_024;
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT;

class JsonlListener implements TelemetryListener {
  readonly #path: string;
  readonly #content: boolean;
  readonly kinds: readonly Span["kind"][];
  readonly #hasEvents: boolean;
  /** Span ids are unique only within a process, and a later process can get the same process id. */
  readonly #process = `${process.pid}-${randomBytes(4).toString("hex")}`;
  #lines: string[] = [];
  #length = 0;
  #dropped = 0;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #file: FileHandle | undefined;
  /** The last line in the file is incomplete. */
  #isTorn = false;
  #failure: unknown;
  #isClosed = false;

  constructor(path: string, { content = false, kinds = MOST }: JsonlOptions) {
    this.#path = path;
    this.#content = content;
    this.kinds = kinds.filter((kind) => kind !== "event");
    this.#hasEvents = kinds.includes("event");
  }

  end(span: Span): void {
    this.#add(plainSpan(span, this.#content));
    this.#throwFailure();
  }

  event(_: Span | undefined, event: TelemetryEvent): void {
    if (this.#hasEvents) this.#add(plainEvent(event, this.#content));
    this.#throwFailure();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#flush();
    while (this.#writing !== undefined) await this.#writing;
    await this.#release();
    this.#throwFailure();
  }

  #add(fields: object): void {
    const line = `${JSON.stringify({ process: this.#process, ...fields })}\n`;
    if (this.#length + line.length > BUFFER_MAX) {
      this.#dropped++;
      return;
    }
    this.#lines.push(line);
    this.#length += line.length;
    if (this.#length >= BATCH_MAX) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), FLUSH_MS).unref();
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#lines.length === 0) return;
    this.#writing ??= this.#writeAll().finally(() => {
      this.#writing = undefined;
      this.#flush(); // A line can arrive after the last check.
    });
  }

  async #writeAll(): Promise<void> {
    while (this.#lines.length > 0) {
      const lines = this.#lines;
      const dropped = this.#dropped;
      this.#lines = [];
      this.#length = 0;
      this.#dropped = 0;
      try {
        await this.#write((dropped === 0 ? "" : this.#gap(dropped)) + lines.join(""));
      } catch (error) {
        this.#dropped += dropped + lines.length;
        this.#failure ??= error;
      }
    }
    if (this.#isClosed) await this.#release();
  }

  async #release(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    await file?.close().catch((error: unknown) => {
      this.#failure ??= error;
    });
  }

  /** jsonl-1. If a full disk cut off a line, the next write ends that line, so that only one line is lost. */
  async #write(lines: string): Promise<void> {
    this.#file ??= await open(this.#path, FLAGS, 0o600);
    const bytes = Buffer.from(this.#isTorn ? `\n${lines}` : lines);
    for (let written = 0; written < bytes.length; ) {
      written += (await this.#file.write(bytes, written)).bytesWritten;
      this.#isTorn = written < bytes.length;
    }
  }

  #gap(dropped: number): string {
    return `${JSON.stringify({ process: this.#process, kind: "dropped", lines: dropped })}\n`;
  }

  /** jsonl-2 */
  #throwFailure(): void {
    const failure = this.#failure;
    this.#failure = undefined;
    if (failure !== undefined) throw failure;
  }
}
