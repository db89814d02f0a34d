import { PluginFactory } from "../shared/kernel/plugin.js";
interface MemoryOptions {
  /** How many notes a session can have. Default 200. */
  readonly notesMax?: number | undefined;
  /** The maximum length of a note, in bytes. Default 2000. */
  readonly noteBytesMax?: number | undefined;
  /**
   * The maximum length of all notes in the prompt, in bytes. Default 4000. With 0 the prompt has no notes, and the
   * model must call `recall`.
   */
  readonly promptBytesMax?: number | undefined;
}
interface MemoryNote {
  /** `m1`, `m2`, …: never used again in this session, even after the note is deleted. */
  readonly id: string;
  readonly note: string;
  readonly topic?: string;
  /** When the note was made, in milliseconds since 1970. */
  readonly at: number;
  /** Pinned notes get their place in the prompt first. */
  readonly isPinned?: true;
}
interface MemoryInput {
  readonly note: string;
  readonly topic?: string | undefined;
  readonly isPinned?: boolean | undefined;
}
interface RecalledNote {
  readonly id: string;
  readonly topic?: string;
  readonly note: string;
  readonly at: string;
}
interface MemoryRecalled {
  /** The best match first. */
  readonly notes: readonly RecalledNote[];
  readonly hint?: string;
}
/**
 * Lets the model store notes that stay after a compaction. The prompt shows the newest, within a limit. `recall` finds
 * all of them by their words.
 */
declare const memory: PluginFactory<MemoryOptions, {
  readonly list: {
    readonly kind: "query";
    readonly input: undefined;
    readonly output: readonly MemoryNote[];
  };
  readonly add: {
    readonly kind: "command";
    readonly input: MemoryInput;
    readonly output: {
      readonly id: string;
      readonly isNew: boolean;
    };
  };
  readonly remove: {
    readonly kind: "command";
    readonly input: {
      readonly id: string;
    };
    readonly output: {
      readonly isRemoved: boolean;
    };
  };
}>;
export { MemoryInput, MemoryNote, MemoryOptions, MemoryRecalled, memory };
