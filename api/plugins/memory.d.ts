import { PluginFactory } from "../shared/kernel/plugin.js";
interface MemoryOptions {
  /** 200 unless given. */
  readonly notesMax?: number;
  /** Of one note; 2000 unless given. */
  readonly noteBytesMax?: number;
  /** What notes may take up in the prompt; 4000 unless given, and with 0 they are only recalled. */
  readonly promptBytesMax?: number;
}
interface MemoryNote {
  /** `m1`, `m2`, …: not given to another note of the session when this one is forgotten. */
  readonly id: string;
  readonly note: string;
  readonly topic?: string;
  /** When it was made, in ms since 1970. */
  readonly at: number;
  /** Shown before all others. */
  readonly isPinned?: true;
}
interface MemoryInput {
  readonly note: string;
  readonly topic?: string;
  readonly isPinned?: boolean;
}
interface RecalledNote {
  readonly id: string;
  readonly topic?: string;
  readonly note: string;
  readonly at: string;
}
interface MemoryRecalled {
  /** Best first. */
  readonly notes: readonly RecalledNote[];
  readonly hint?: string;
}
/** Notes that outlive frames and compaction: kept as state, shown within a budget, found by their words. */
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
