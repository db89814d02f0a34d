// The host side of the QuickJS sandbox. Guests are WebAssembly VMs in worker threads.

import { availableParallelism } from "node:os";
import { hasCode, RuntimeError } from "../../model/errors.ts";
import type { Json } from "../../model/json.ts";
import type {
  Bound,
  CellBounds,
  Continuation,
  Delivery,
  Guest,
  GuestCell,
  Image,
  NextImage,
  Progress,
  Sandbox,
  Surface,
} from "../sandbox.ts";
import { engine } from "./engine.ts";
import type { LaneAnswer } from "./lane.ts";
import type { Answer, Request, SentCell, SentDelivery, SentProgress } from "./message.ts";
import { Pool, type Seat } from "./pool.ts";

export { calleeOf, isToolPath, type ToolPaths, toolPaths } from "../../model/tool-path.ts";
export type {
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
} from "../sandbox.ts";
export { RESERVED } from "./names.ts";

export interface QuickjsOptions {
  /** Number of guest threads. Default: one per core, at most 4. They start on demand. */
  readonly workers?: number;
}

/** A replay takes as long as the cell did. This factor allows for a slower machine. */
const REPLAY_PATIENCE = 10;
/** A thread may end while a guest opens in it, because of another guest. */
const OPENINGS_MAX = 3;

/** Runs the code of models in QuickJS, compiled to WebAssembly, in worker threads. */
export function quickjs(options: QuickjsOptions = {}): Sandbox {
  const workers = options.workers ?? Math.min(4, availableParallelism());
  if (!Number.isInteger(workers) || workers < 1)
    throw new RuntimeError("options.invalid", { option: "workers", problem: "it must be a whole number above 0" });
  // In the build this code is in a chunk that several entries share, and the worker is beside it (scripts/entries.mjs).
  const entry = new URL(import.meta.url.endsWith(".ts") ? "./worker.ts" : "./quickjs-worker.js", import.meta.url);
  return new QuickjsSandbox(new Pool(entry, workers));
}

class QuickjsSandbox implements Sandbox {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  async engine(): Promise<string> {
    return (await engine()).id;
  }

  async open(image: Image | undefined, bounds: CellBounds): Promise<Guest> {
    const actual = await this.engine();
    if (image !== undefined && image.engine !== actual)
      throw new RuntimeError("code.engine", { expected: image.engine, actual });
    const deltas = (image?.deltas ?? []).map((delta) => new Uint8Array(delta));
    for (let opening = 1; ; opening++) {
      const seat = await this.#pool.seat();
      try {
        const asked = await this.#pool.chore(seat, { kind: "open", guest: seat.id, deltas, bounds });
        this.#pool.used(seat, expect(asked, "opened").bytes);
        return new QuickjsGuest(this.#pool, seat, actual, bounds);
      } catch (error) {
        this.#pool.leave(seat);
        if (!hasCode(error, "code.lost") || opening === OPENINGS_MAX) throw error;
      }
    }
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

class QuickjsGuest implements Guest {
  readonly #pool: Pool;
  readonly #seat: Seat;
  readonly #engine: string;
  readonly #bounds: CellBounds;

  constructor(pool: Pool, seat: Seat, engine: string, bounds: CellBounds) {
    this.#pool = pool;
    this.#seat = seat;
    this.#engine = engine;
    this.#bounds = bounds;
  }

  start(cell: GuestCell): Promise<Progress> {
    return this.#segment({ kind: "start", guest: this.#seat.id, cell: sentCell(cell) }, cell.isReplay === true);
  }

  deliver(delivery: Delivery): Promise<Progress> {
    const sent = { kind: "deliver", guest: this.#seat.id, delivery: toText(delivery) } as const;
    return this.#segment(sent, delivery.isReplay === true);
  }

  async image(): Promise<NextImage> {
    this.#requireSeat();
    const asked = await this.#pool.chore(this.#seat, { kind: "image", guest: this.#seat.id });
    const { keeps, delta } = expect(asked, "image");
    return { engine: this.#engine, keeps, delta };
  }

  async close(): Promise<void> {
    this.#pool.leave(this.#seat);
  }

  async #segment(request: Request, isReplay: boolean): Promise<Progress> {
    this.#requireSeat();
    const { segmentMs, graceMs } = this.#bounds;
    const timeoutMs = (segmentMs + graceMs) * (isReplay ? REPLAY_PATIENCE : 1);
    const asked = await this.#seat.lane.ask(request, timeoutMs);
    if (asked.kind === "ended" && asked.by !== "closed") {
      return stopped(asked.by === "late" && !isReplay ? "time" : "engine");
    }
    const { progress, bytes } = expect(asked, "progress");
    if (progress.state === "stopped") this.#pool.leave(this.#seat);
    else this.#pool.used(this.#seat, bytes);
    return fromText(progress);
  }

  #requireSeat(): void {
    if (this.#seat.isLost) throw new RuntimeError("code.lost", {});
  }
}

/** Returns the answer of this kind. Throws the worker's error for any other. */
function expect<Kind extends Answer["kind"]>(asked: LaneAnswer, kind: Kind): Extract<Answer, { kind: Kind }> {
  if (asked.kind === kind) return asked as Extract<Answer, { kind: Kind }>;
  if (asked.kind === "ended") throw new RuntimeError("code.lost", {});
  if (asked.kind !== "failed") throw new Error(`The worker answered with ${asked.kind}, not ${kind}.`);
  // The details came from an error with this code.
  throw asked.code === undefined ? new Error(asked.message) : new RuntimeError(asked.code, asked.details as never);
}

function sentCell(given: GuestCell): SentCell {
  const { modules, binds, unbinds, history, hasSearch, surface, ...cell } = given;
  const text = JSON.stringify({ modules, binds, unbinds, history, hasSearch });
  return {
    ...cell,
    around: text === "{}" ? "" : text,
    ...(surface !== undefined && { surface: surfaceText(surface) }),
  };
}

/** Caches the JSON of a surface: one serves many cells and may name a thousand tools. */
function surfaceText(surface: Surface): string {
  let text = SURFACES.get(surface);
  if (text === undefined) {
    text = JSON.stringify(surface);
    SURFACES.set(surface, text);
  }
  return text;
}
const SURFACES = new WeakMap<Surface, string>();

function toText(delivery: Delivery): SentDelivery {
  if (!("value" in delivery)) return delivery;
  const { value, ...rest } = delivery;
  return { ...rest, json: JSON.stringify(value) };
}

function fromText(progress: SentProgress): Progress {
  const calls = progress.calls.map((call) => ({ ...call, input: JSON.parse(call.input) as Json }));
  if (progress.state !== "done") return { ...progress, calls };
  const { finish, continues, ...rest } = progress;
  return {
    ...rest,
    calls,
    ...(finish !== undefined && { finish: JSON.parse(finish) as Json }),
    ...(continues !== undefined && { continues: JSON.parse(continues) as Continuation }),
  };
}

const stopped = (bound: Bound): Progress => ({ calls: [], sleeps: [], printed: "", steps: 0, state: "stopped", bound });
