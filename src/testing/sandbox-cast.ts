// What a law of sandboxes is, and how laws play cells in a guest: they answer calls and sleeps, and keep what was
// delivered so that it can be played again.

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

/** A promise of every sandbox. `check` throws when it is broken. It may be given the same sandbox as other laws. */
export interface SandboxLaw {
  readonly law: string;
  /** `another` makes a second sandbox of the same kind, as another process would. */
  check(sandbox: Sandbox, another: () => Sandbox): Promise<void>;
}

/** Wide enough for every cell that is not made to meet one of them. */
export const BOUNDS: CellBounds = {
  stepsMax: 20_000,
  segmentMs: 10_000,
  graceMs: 10_000,
  memoryBytesMax: 64 * 1024 * 1024,
  outputBytesMax: 4 * 1024 * 1024,
  callsMax: 2_000,
};

export const NOON = Date.UTC(2026, 6, 1, 12);

export interface Playing extends Partial<GuestCell> {
  /** Answers a call. What it throws is the call's error. Unless told, a call is answered with its own input. */
  readonly tools?: (call: GuestCall) => Json;
  /** Answers a read. What it throws is its error. Unless told, it is answered with what is read. */
  readonly reads?: (reads: GuestRead) => Json;
  /** Which of these, in the order they were announced, is answered next. Unless told, the first. */
  readonly next?: (open: readonly (GuestCall | GuestSleep)[]) => GuestCall | GuestSleep;
  /** Delivers just these, as they are. */
  readonly deliveries?: readonly Delivery[];
}

/** A cell that was played to its end. */
export interface Played {
  readonly end: Progress;
  readonly calls: readonly GuestCall[];
  readonly sleeps: readonly GuestSleep[];
  readonly printed: string;
  readonly deliveries: readonly Delivery[];
  /** How many calls were open at once, at most. */
  readonly openMax: number;
}

/** What a tool says when it fails. */
export class Failing extends Error {
  readonly code: string;
  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

export async function play(guest: Guest, code: string, playing: Playing = {}): Promise<Played> {
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

/** The text of the value of a cell that must end well. */
export async function resultOf(guest: Guest, code: string, playing?: Playing): Promise<string | undefined> {
  const { end } = await play(guest, code, playing);
  assert.equal(end.state, "done", JSON.stringify(end));
  return end.state === "done" ? end.value : undefined;
}

/** The error of a cell that must throw. */
export async function thrownBy(guest: Guest, code: string, playing?: Playing) {
  const { end } = await play(guest, code, playing);
  assert.equal(end.state, "threw", JSON.stringify(end));
  return (end as Extract<Progress, { state: "threw" }>).error;
}

/** What a cell must finish with. */
export async function finishOf(guest: Guest, code: string, playing?: Playing): Promise<Json | undefined> {
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

/** The image after this one: what a store would keep. */
export async function imageOf(guest: Guest, before?: Image): Promise<Image> {
  const { engine, keeps, delta } = await guest.image();
  return { engine, deltas: [...(before?.deltas ?? []).slice(0, keeps), delta] };
}

/** The hash of the heap after a cell that ended. */
export function heapOf({ end }: Played): string {
  assert.ok("heap" in end && end.heap !== undefined, JSON.stringify(end));
  return end.heap;
}
