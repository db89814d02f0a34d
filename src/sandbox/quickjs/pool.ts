// The worker threads that guests run in, started on demand. A new guest goes to the least busy one.

import { type Engine, engine } from "./engine.ts";
import { Lane } from "./lane.ts";
import type { Request } from "./message.ts";

/**
 * The maximum memory of the guests of one thread together. Beyond it, idle guests are evicted, the least recently used
 * first: their code waits for calls. While all are busy, a new guest waits.
 */
const LANE_BYTES_MAX = 512 * 1024 * 1024;
const LANE_GUESTS_MAX = 256;
/** The time limit of requests that run no guest code. */
const CHORE_MS = 60_000;

/** A guest's position in a lane. `isLost`: the guest was evicted. */
export interface Seat {
  readonly id: number;
  readonly lane: Lane;
  bytes: number;
  isLost: boolean;
}

export class Pool {
  readonly #entry: URL;
  readonly #lanesMax: number;
  /** The seats of each lane, the most recently used last. */
  readonly #lanes = new Map<Lane, Set<Seat>>();
  #guests = 0;

  constructor(entry: URL, lanesMax: number) {
    this.#entry = entry;
    this.#lanesMax = lanesMax;
  }

  async seat(): Promise<Seat> {
    const made = await engine();
    for (;;) {
      const lane = this.#idle() ?? this.#another(made) ?? this.#leastLoaded();
      if (this.#makeRoom(lane, 1)) {
        const seat: Seat = { id: this.#guests++, lane, bytes: 0, isLost: false };
        this.#lanes.get(lane)?.add(seat);
        return seat;
      }
      await lane.answered();
    }
  }

  /** Sends a request that runs no guest code. */
  chore(seat: Seat, request: Request): ReturnType<Lane["ask"]> {
    return seat.lane.ask(request, CHORE_MS);
  }

  /** Records that the guest was used, and its memory. */
  used(seat: Seat, bytes: number): void {
    seat.bytes = bytes;
    const seats = this.#lanes.get(seat.lane);
    if (seat.isLost || seats === undefined) return;
    seats.delete(seat);
    seats.add(seat);
    this.#makeRoom(seat.lane, 0, seat);
  }

  /** Evicts guests until this much memory is free. Returns false if too many are busy. */
  #makeRoom(lane: Lane, more: number, but?: Seat): boolean {
    const seats = this.#lanes.get(lane) ?? new Set();
    let bytesInUse = 0;
    for (const each of seats) bytesInUse += each.bytes;
    const isRoom = (): boolean => bytesInUse <= LANE_BYTES_MAX && seats.size + more <= LANE_GUESTS_MAX;
    for (const each of seats) {
      if (isRoom()) return true;
      const isOpening = each.bytes === 0;
      if (each === but || isOpening || lane.isAsked(each.id)) continue;
      bytesInUse -= each.bytes;
      this.leave(each);
    }
    return isRoom();
  }

  /** Releases a guest's seat. */
  leave(seat: Seat): void {
    if (seat.isLost) return;
    seat.isLost = true;
    this.#lanes.get(seat.lane)?.delete(seat);
    seat.lane.forget(seat.id);
    // If the lane has ended, so has the guest.
    this.chore(seat, { kind: "close", guest: seat.id }).catch(() => {});
  }

  async close(): Promise<void> {
    await Promise.all([...this.#lanes.keys()].map((lane) => lane.close()));
  }

  #idle(): Lane | undefined {
    for (const [lane, seats] of this.#lanes) if (seats.size === 0) return lane;
    return undefined;
  }

  #another({ wasm }: Engine): Lane | undefined {
    if (this.#lanes.size >= this.#lanesMax) return undefined;
    const lane = new Lane(this.#entry, wasm, (ended) => {
      for (const seat of this.#lanes.get(ended) ?? []) seat.isLost = true;
      this.#lanes.delete(ended);
    });
    this.#lanes.set(lane, new Set());
    return lane;
  }

  #leastLoaded(): Lane {
    const [first, ...rest] = this.#lanes.keys();
    const heft = (lane: Lane): number => lane.load + (this.#lanes.get(lane)?.size ?? 0);
    return rest.reduce((least, lane) => (heft(lane) < heft(least) ? lane : least), first!);
  }
}
