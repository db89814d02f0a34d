import { Json, JsonObject } from "../model/json.js";
/** Runs guests. Members: `quickjs`. `sandboxLaws` in `bowline/testing` tests its promises. */
interface Sandbox {
  /**
   * Identifies the engine's build and everything else that determines the bytes of a heap. Images of another engine are
   * refused.
   */
  engine(): Promise<string>;
  /** Opens a guest with an empty heap or that of an image. Throws `code.engine` for an image of another engine. */
  open(image: Image | undefined, bounds: CellBounds): Promise<Guest>;
  /** Ends all guests and their threads. `open` starts them again. */
  close(): Promise<void>;
}
/**
 * A guest. One segment at a time. If its thread was lost for another reason than its code, every call rejects with
 * `code.lost`: open another guest and repeat the segments.
 */
interface Guest {
  /** Starts a cell. Only between cells. */
  start(cell: GuestCell): Promise<Progress>;
  /** Answers one call or one sleep of the cell. */
  deliver(delivery: Delivery): Promise<Progress>;
  /** Returns the current heap as a difference from the one that the guest was opened with. Only between cells. */
  image(): Promise<NextImage>;
  /** Frees its memory. */
  close(): Promise<void>;
}
/** A heap, as the list of changes from an empty heap. */
interface Image {
  readonly engine: string;
  readonly deltas: readonly Uint8Array[];
}
/** The first `keeps` deltas of the image that the guest was opened with, then `delta`. */
interface NextImage {
  readonly engine: string;
  readonly keeps: number;
  readonly delta: Uint8Array;
}
/**
 * The surroundings of a cell, besides what its guest keeps. The behaviour of the code follows from them, so a replay
 * must pass the same.
 */
interface Surroundings {
  /**
   * Modules of tools. For example, with the module `files`, `files.read(…)` calls the tool `files.read`. Modules stay
   * in the guest. If the guest has a variable with that name, the variable stays and the module does not exist.
   */
  readonly modules?: readonly string[] | undefined;
  /** Read-only values with new names or contents. They stay until they are set again or removed. */
  readonly binds?: readonly GuestValue[] | undefined;
  /** Names of such values to remove. */
  readonly unbinds?: readonly string[] | undefined;
  /**
   * The conversation so far: the number of messages, and for the newest, in order, the content, or its length if code
   * must await it. All others must be awaited too. Default: no messages.
   */
  readonly history?: {
    readonly length: number;
    readonly newest?: readonly (JsonObject | number)[];
  } | undefined;
  /** A tool has the name `search`: `tools.search(…)` calls it instead of searching. */
  readonly hasSearch?: true | undefined;
}
/** A value that is sent with the cell, or a description of one that code must await. */
type GuestValue = {
  readonly name: string;
} & ({
  readonly value: Json;
} |
/** Characters (of the JSON if it is not a text), and the length of a text or a list as code would see it. */
{
  readonly chars: number;
  readonly length?: number;
});
/** The names that code can use. A cell that uses one for something else is refused before any of it runs. */
interface Surface {
  /** The operations of each module. */
  readonly modules: {
    readonly [module: string]: readonly string[];
  };
  /** Names that `tools` has. */
  readonly tools: readonly string[];
  /** The names of read-only values. A cell must not declare them. */
  readonly names: readonly string[];
}
interface GuestCell extends Surroundings {
  /** TypeScript. */
  readonly code: string;
  /** Its name in stacks. */
  readonly file: string;
  /** Determines `Math.random` in this cell. */
  readonly seed: string;
  /** The time in the guest until the next delivery. */
  readonly at: number;
  readonly acceptFinish: boolean;
  /** Omitted: nothing is checked against it, for example in a replay, because tools may have changed since. */
  readonly surface?: Surface | undefined;
  /** The cell already ran to its end with these deliveries: no bound applies, and only a broken engine ends it. */
  readonly isReplay?: true | undefined;
}
type Delivery = {
  /** The number of the call, the sleep or the read. */
  readonly id: number;
  readonly at: number;
  readonly isReplay?: true | undefined;
} & ({
  readonly value: Json;
} | {
  readonly error: {
    readonly code: string;
    readonly message: string;
  };
} | {
  readonly slept: true;
});
/** Limits that guest code cannot catch: they end the code and the guest. */
interface CellBounds {
  /** Maximum computing of a cell, in steps of about ten thousand operations. */
  readonly stepsMax: number;
  /** Maximum computing time of a segment. */
  readonly segmentMs: number;
  /** How much longer a segment may take before its thread is ended: native code cannot be interrupted. */
  readonly graceMs: number;
  /** Maximum heap size. */
  readonly memoryBytesMax: number;
  /** Maximum total of what a cell prints, passes to tools and finishes with. */
  readonly outputBytesMax: number;
  /** Maximum calls, sleeps and reads of a cell. */
  readonly callsMax: number;
}
type Bound = "steps" | "time" | "memory" | "output" | "calls" | "engine";
/** A call that the guest waits for. */
interface GuestCall {
  readonly id: number;
  /** The tool's name in the code: `read` for `tools.read`, `files.read` for that of a module. */
  readonly tool: string;
  readonly input: Json;
  readonly line: number;
  readonly column: number;
}
interface GuestSleep {
  readonly id: number;
  readonly ms: number;
  /** A read instead of a time: it is answered like a call. */
  readonly reads?: GuestRead;
}
/** What code reads from outside: a message, a bound value, or the tools that match these words. */
type GuestRead = {
  readonly history: number;
} | {
  readonly binding: string;
} | {
  readonly search: string;
};
/** An error that guest code threw. */
interface GuestError {
  readonly name: string;
  readonly message: string;
  /** The code of a failed call. */
  readonly code?: string;
  /** The innermost position in the cell; for a failed call that of the call. */
  readonly line?: number;
  readonly column?: number;
  /** The guest's own frames, one per line. */
  readonly stack?: string;
}
/** Why a cell was refused. */
interface CellProblem {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}
/** The result of a segment. */
type Progress = {
  /** What it announced. The ids count over all calls and sleeps of the cell. */
  readonly calls: readonly GuestCall[];
  readonly sleeps: readonly GuestSleep[];
  readonly printed: string;
  /** Steps of the cell so far. */
  readonly steps: number;
} & ({
  readonly state: "waiting";
} | (Ended & {
  readonly state: "done";
  readonly value?: string;
  readonly finish?: Json;
  readonly continues?: Continuation;
}) | (Ended & {
  readonly state: "threw";
  readonly error: GuestError;
}) |
/** It waits for something that can never come. */
(Ended & {
  readonly state: "stalled";
}) |
/** Nothing of it ran. */
(Ended & {
  readonly state: "refused";
  readonly problems: readonly CellProblem[];
}) |
/** The guest has ended. */
{
  readonly state: "stopped";
  readonly bound: Bound;
});
/** The code asks to continue with this task. Only the seed is kept. */
interface Continuation {
  readonly task: string;
  readonly seed?: Json;
}
/** A variable that guest code made, and a short text of its value. */
interface GuestVariable {
  readonly name: string;
  readonly shown: string;
}
/** Facts about a finished cell, however it ended. */
interface Ended {
  /** A hash of the heap, for heaps up to 8 MiB. */
  readonly heap?: string;
  /** Rejected promises without a handler. */
  readonly unhandled?: readonly GuestError[];
  /** The newest last; omitted if there are none, or if the cell was refused. */
  readonly variables?: readonly GuestVariable[];
}
export {
  Bound,
  CellBounds,
  CellProblem,
  Continuation,
  Delivery,
  Guest,
  GuestCall,
  GuestCell,
  GuestError,
  GuestRead,
  GuestSleep,
  GuestValue,
  GuestVariable,
  Image,
  NextImage,
  Progress,
  Sandbox,
  Surface,
  Surroundings,
};
