import { PluginFactory } from "../shared/kernel/plugin.js";
interface MemoryOptions {
  /** The most notes that a session keeps. Default 200. */
  readonly notesMax?: number | undefined;
  /** The longest that one note may be, in bytes. Default 2000. */
  readonly noteBytesMax?: number | undefined;
  /** Room for notes in the prompt, in bytes. Default 4000. With 0 none is shown, and the model must `recall` them. */
  readonly promptBytesMax?: number | undefined;
}
interface MemoryNote {
  /** `m1`, `m2`, …: never used again in this session, also after the note is forgotten. */
  readonly id: string;
  readonly note: string;
  readonly topic?: string;
  /** When the note was made, in milliseconds since 1970. */
  readonly at: number;
  /** Pinned notes take the room in the prompt first. */
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
 * Lets the model keep notes that outlive frames and compaction. The newest are shown in the prompt, within a budget;
 * all of them can be found by their words.
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
