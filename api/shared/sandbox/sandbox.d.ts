import { Json, JsonObject } from "../model/json.js";
/** Runs guests. Members: `quickjs`. Its promises are tested by `sandboxLaws` in `bowline/testing`. */
interface Sandbox {
  /** Names the engine's build and all else that decides about the bytes of a heap. Images of another one are refused. */
  engine(): Promise<string>;
  /** A new guest, with an empty heap or that of an image. Throws `code.engine` for an image of another engine. */
  open(image: Image | undefined, bounds: CellBounds): Promise<Guest>;
  /** Ends all guests and what they run in. A guest that is opened later starts it again. */
  close(): Promise<void>;
}
/**
 * A guest. One segment at a time. When what it runs in was lost through no fault of its own, every call rejects with
 * `code.lost`: open another, and repeat the segments.
 */
interface Guest {
  /** Begins a cell. Only between cells. */
  start(cell: GuestCell): Promise<Progress>;
  /** Answers one call or one sleep of the cell. */
  deliver(delivery: Delivery): Promise<Progress>;
  /** The heap as it is now, against the one that the guest was opened with. Only between cells. */
  image(): Promise<NextImage>;
  /** Gives back its memory. */
  close(): Promise<void>;
}
/** A heap: how to come to it from an empty one, step by step. */
interface Image {
  readonly engine: string;
  readonly deltas: readonly Uint8Array[];
}
/** The first `keeps` deltas of the image that the guest was opened with, and then `delta`. */
interface NextImage {
  readonly engine: string;
  readonly keeps: number;
  readonly delta: Uint8Array;
}
/**
 * What a cell has around it, besides what its guest keeps. What the code does follows from it, so whoever replays the
 * cell must give the same.
 */
interface Surroundings {
  /**
   * Modules of tools: with `files`, `files.read(…)` calls `files.read`. They stay in the guest. A variable of its own by
   * that name stays, too, and there is no such module then.
   */
  readonly modules?: readonly string[] | undefined;
  /** Read-only values that are given new names or contents. They stay until they are given again, or taken away. */
  readonly binds?: readonly GuestValue[] | undefined;
  /** Names of such values that are taken away. */
  readonly unbinds?: readonly string[] | undefined;
  /**
   * What was said so far: how many messages, and of the newest, in their order, the content, or its length where that is
   * for code to await. All others are awaited, too. Left out, there are none.
   */
  readonly history?: {
    readonly length: number;
    readonly newest?: readonly (JsonObject | number)[];
  } | undefined;
  /** A tool is named `search`: `tools.search(…)` calls it, and does not search. */
  readonly hasSearch?: true | undefined;
}
/** A value that comes with the cell; or what is known of one that is for code to await. */
type GuestValue = {
  readonly name: string;
} & ({
  readonly value: Json;
} |
/** Characters, of its JSON if it is no text; and the length of a text or a list, as code would ask for it. */
{
  readonly chars: number;
  readonly length?: number;
});
/** What code can name. A cell that means something else by it is refused before any of it runs. */
interface Surface {
  /** The operations of each module. */
  readonly modules: {
    readonly [module: string]: readonly string[];
  };
  /** Names that `tools` has. */
  readonly tools: readonly string[];
  /** Read-only values, whose names a cell may not take. */
  readonly names: readonly string[];
}
interface GuestCell extends Surroundings {
  /** TypeScript. */
  readonly code: string;
  /** Its name in stacks. */
  readonly file: string;
  /** Decides about `Math.random` in this cell. */
  readonly seed: string;
  /** The time in the guest, until the next delivery. */
  readonly at: number;
  readonly acceptFinish: boolean;
  /** Left out, nothing is checked against it: as in a replay, for which tools may have changed since. */
  readonly surface?: Surface | undefined;
  /** It ran to its end before with these deliveries: no bound applies, and none but a broken engine ends it. */
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
/** What guest code cannot catch: it ends there, and the guest with it. */
interface CellBounds {
  /** Computing in one cell, in steps of about ten thousand operations. */
  readonly stepsMax: number;
  /** Time that one segment computes. */
  readonly segmentMs: number;
  /** How much longer a segment may take before what it runs in is ended: native code cannot be interrupted. */
  readonly graceMs: number;
  /** Size of the heap. */
  readonly memoryBytesMax: number;
  /** What one cell prints, hands to tools and finishes with, together. */
  readonly outputBytesMax: number;
  /** Calls, sleeps and reads of one cell. */
  readonly callsMax: number;
}
type Bound = "steps" | "time" | "memory" | "output" | "calls" | "engine";
/** A call that the guest waits for. */
interface GuestCall {
  readonly id: number;
  /** As the code names it: `read` for `tools.read`, `files.read` for that of a module. */
  readonly tool: string;
  readonly input: Json;
  readonly line: number;
  readonly column: number;
}
interface GuestSleep {
  readonly id: number;
  readonly ms: number;
  /** It waits for no time, but for this: it is answered like a call. */
  readonly reads?: GuestRead;
}
/** What code reads of the world: a message, a value that was bound, or which tools fit these words. */
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
  /** Of a failed call. */
  readonly code?: string;
  /** Where in the cell: the innermost place, of a failed call that of the call. */
  readonly line?: number;
  readonly column?: number;
  /** The guest's own frames, one a line. */
  readonly stack?: string;
}
/** Why a cell was not run at all. */
interface CellProblem {
  readonly message: string;
  readonly line: number;
  readonly column: number;
}
/** What came of a segment. */
type Progress = {
  /** What it announced. The ids count up over the cell, over calls and sleeps together. */
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
/** It waits for what can never come. */
(Ended & {
  readonly state: "stalled";
}) |
/** Nothing of it ran. */
(Ended & {
  readonly state: "refused";
  readonly problems: readonly CellProblem[];
}) |
/** The guest is gone. */
{
  readonly state: "stopped";
  readonly bound: Bound;
});
/** The code wants to go on with this task, from nothing but the seed. */
interface Continuation {
  readonly task: string;
  readonly seed?: Json;
}
/** A variable that code of the guest made, and a short text of its value. */
interface GuestVariable {
  readonly name: string;
  readonly shown: string;
}
/** What is told of a cell that is over, however it ended. */
interface Ended {
  /** A hash of the heap, up to 8 MiB. */
  readonly heap?: string;
  /** Promises that were rejected, and nobody looked. */
  readonly unhandled?: readonly GuestError[];
  /** The newest last; left out when there are none, and when the cell was refused. */
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
