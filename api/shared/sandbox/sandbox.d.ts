import { Json } from "../model/json.js";
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
interface GuestCell {
  /** TypeScript. */
  readonly code: string;
  /** Its name in stacks. */
  readonly file: string;
  /** Decides about `Math.random` in this cell. */
  readonly seed: string;
  /** The time in the guest, until the next delivery. */
  readonly at: number;
  readonly acceptFinish: boolean;
  /** It ran to its end before with these deliveries: no bound applies, and none but a broken engine ends it. */
  readonly isReplay?: true | undefined;
}
type Delivery = {
  /** The number of the call or the sleep. */
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
  /** Calls and sleeps of one cell. */
  readonly callsMax: number;
}
type Bound = "steps" | "time" | "memory" | "output" | "calls" | "engine";
/** A call that the guest waits for. */
interface GuestCall {
  readonly id: number;
  readonly tool: string;
  readonly input: Json;
  readonly line: number;
  readonly column: number;
}
interface GuestSleep {
  readonly id: number;
  readonly ms: number;
}
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
interface Ended {
  /** A hash of the heap, up to 8 MiB. */
  readonly heap?: string;
  /** Promises that were rejected, and nobody looked. */
  readonly unhandled?: readonly GuestError[];
}
export {
  Bound,
  CellBounds,
  CellProblem,
  Delivery,
  Guest,
  GuestCall,
  GuestCell,
  GuestError,
  GuestSleep,
  Image,
  NextImage,
  Progress,
  Sandbox,
};
