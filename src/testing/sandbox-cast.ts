// The type of sandbox laws, and functions that play cells in a guest: they answer calls and sleeps, and record
// deliveries for a replay.

import assert from "node:assert/strict";
import type { Json } from "../model/json.ts";
import type {
  CellBounds,
  Delivery,
  Guest,
  GuestCall,
  GuestCell,
  GuestRead,
  GuestSleep,
  Image,
  Progress,
  Sandbox,
} from "../sandbox/sandbox.ts";

/** A promise of every sandbox. `check` throws if it is broken. Laws may share a sandbox. */
export interface SandboxLaw {
  readonly law: string;
  /** `another` creates a second sandbox of the same kind, as another process would. */
  check(sandbox: Sandbox, another: () => Sandbox): Promise<void>;
}

/** Wide enough for every cell, except those that test a bound. */
export const BOUNDS: CellBounds = {
  stepsMax: 20_000,
  segmentMs: 10_000,
  graceMs: 10_000,
  memoryBytesMax: 64 * 1024 * 1024,
  outputBytesMax: 4 * 1024 * 1024,
  callsMax: 2_000,
};

export const NOON = Date.UTC(2026, 6, 1, 12);

export interface PlayOptions extends Partial<GuestCell> {
  /** Answers a call. A throw becomes the call's error. Default: the call's own input. */
  readonly tools?: (call: GuestCall) => Json;
  /** Answers a read. A throw becomes its error. Default: the read itself. */
  readonly reads?: (reads: GuestRead) => Json;
  /** Chooses which of these, in the order of their announcement, is answered next. Default: the first. */
  readonly next?: (open: readonly (GuestCall | GuestSleep)[]) => GuestCall | GuestSleep;
  /** Delivers exactly these. */
  readonly deliveries?: readonly Delivery[];
}

/** A cell that was played to its end. */
export interface PlayedCell {
  readonly end: Progress;
  readonly calls: readonly GuestCall[];
  readonly sleeps: readonly GuestSleep[];
  readonly printed: string;
  readonly deliveries: readonly Delivery[];
  /** The maximum number of simultaneously open calls. */
  readonly openMax: number;
}

/** The error of a tool that fails. */
export class Failing extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export async function play(guest: Guest, code: string, playing: PlayOptions = {}): Promise<PlayedCell> {
  const { tools = (call: GuestCall) => call.input, reads = (read: GuestRead) => read, deliveries, ...rest } = playing;
  const { next = ([first]) => first!, ...cell } = rest;
  const [calls, sleeps, delivered] = [[] as GuestCall[], [] as GuestSleep[], [] as Delivery[]];
  const open: (GuestCall | GuestSleep)[] = [];
  let [printed, openMax, at] = ["", 0, cell.at ?? NOON];
  const take = (progress: Progress): Progress => {
    calls.push(...progress.calls);
    sleeps.push(...progress.sleeps);
    open.push(...[...progress.calls, ...progress.sleeps].sort((a, b) => a.id - b.id));
    openMax = Math.max(openMax, open.filter((each) => "tool" in each).length);
    printed += progress.printed;
    return progress;
  };
  const answerTo = (chosen: GuestCall | GuestSleep) => {
    if ("tool" in chosen) return answered(() => tools(chosen));
    const { reads: read } = chosen;
    return read === undefined ? ({ slept: true } as const) : answered(() => reads(read));
  };
  const answer = (): Delivery => {
    const chosen = next(open);
    at += "ms" in chosen ? chosen.ms : 1;
    const isReplay = cell.isReplay && ({ isReplay: true } as const);
    return { id: chosen.id, at, ...isReplay, ...answerTo(chosen) };
  };
  let end = take(await guest.start({ file: "cell.ts", seed: "seed", at, acceptFinish: true, ...cell, code }));
  while (end.state === "waiting") {
    const delivery = deliveries?.[delivered.length] ?? answer();
    delivered.push(delivery);
    open.splice(
      open.findIndex((each) => each.id === delivery.id),
      1,
    );
    end = take(await guest.deliver(delivery));
  }
  return { end, calls, sleeps, printed, deliveries: delivered, openMax };
}

function answered(answer: () => Json) {
  try {
    return { value: answer() };
  } catch (error) {
    if (!(error instanceof Failing)) throw error;
    return { error: { code: error.code, message: error.message } };
  }
}

/** Returns the text of a cell's value. The cell must end well. */
export async function resultOf(guest: Guest, code: string, playing?: PlayOptions): Promise<string | undefined> {
  const { end } = await play(guest, code, playing);
  assert.equal(end.state, "done", JSON.stringify(end));
  return end.state === "done" ? end.value : undefined;
}

/** Returns the error of a cell that must throw. */
export async function thrownBy(guest: Guest, code: string, playing?: PlayOptions) {
  const { end } = await play(guest, code, playing);
  assert.equal(end.state, "threw", JSON.stringify(end));
  return (end as Extract<Progress, { state: "threw" }>).error;
}

/** Returns the value of a cell that must finish. */
export async function finishOf(guest: Guest, code: string, playing?: PlayOptions): Promise<Json | undefined> {
  const { end } = await play(guest, code, playing);
  assert.equal(end.state, "done", JSON.stringify(end));
  return end.state === "done" ? end.finish : undefined;
}

/** Opens a guest, and closes it after use. */
export async function inGuest<Result>(
  sandbox: Sandbox,
  use: (guest: Guest) => Promise<Result>,
  image?: Image,
  bounds: Partial<CellBounds> = {},
): Promise<Result> {
  const guest = await sandbox.open(image, { ...BOUNDS, ...bounds });
  try {
    return await use(guest);
  } finally {
    await guest.close();
  }
}

/** Returns the next image, as a store would keep it. */
export async function imageOf(guest: Guest, before?: Image): Promise<Image> {
  const { engine, keeps, delta } = await guest.image();
  return { engine, deltas: [...(before?.deltas ?? []).slice(0, keeps), delta] };
}

/** Returns the hash of the heap after a cell that ended. */
export function heapOf({ end }: PlayedCell): string {
  assert.ok("heap" in end && end.heap !== undefined, JSON.stringify(end));
  return end.heap;
}
