// Passes spans and events to the listeners of `telemetry`. Loaded only if there is a listener.
// Not its job: which work has a span (`turn-telemetry.ts` and the callers of `begin`).
//
// hub-1 A listener changes nothing: its errors are caught, and its results are not awaited.
// hub-2 A listener that throws, rejects or blocks is reported once, as an event.
import { ignoreRejection, isThenable } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import { describeThrown } from "../../model/json.ts";
import type { World } from "../../model/world.ts";
import type { Span, TelemetryEvent, TelemetryListener, TurnSpan } from "../../telemetry/telemetry.ts";

type Distributed<T> = T extends Span ? Omit<T, "id" | "startedAt"> : never;
/** The fields of a new span. `startedAt` is set only if the work began earlier. */
export type NewSpan = Distributed<Span> & { readonly startedAt?: number };
type Results<T> = T extends Span ? Partial<Omit<T, "kind">> : never;
type Writable = { -readonly [K in keyof Span]: Span[K] };

/** A listener that needs longer for one call delays every turn of the process, so it is reported. */
const BLOCKS_MS = 100;

/** If the clock of durations and the world's clock differ by more than this, one of them was set. */
const OFFSET_MS = 2;

export class TelemetryHub {
  readonly #listeners: readonly TelemetryListener[];
  readonly #world: World;
  /** Measures durations. A simulated world has only its own time. */
  readonly #clock: () => number;
  /** The difference between the clock and the time since 1970. */
  #offset = Number.NaN;
  readonly #reported = new Set<TelemetryListener>();
  /** The turns that run here, for events with a turn id. */
  readonly #turns = new Map<string, TurnSpan>();
  #nextId = 1;

  constructor(listeners: readonly TelemetryListener[], world: World, isSimulated: boolean) {
    this.#listeners = listeners;
    this.#world = world;
    this.#clock = isSimulated ? () => world.now() : () => performance.now();
  }

  /** Whether a listener wants spans of this kind. */
  wants(kind: Span["kind"]): boolean {
    return this.#listeners.some(({ kinds }) => kinds === undefined || kinds.includes(kind));
  }

  begin<S extends Span>(made: NewSpan): S {
    const span = { id: String(this.#nextId++), startedAt: this.#now(), ...made } as unknown as S;
    if (span.kind === "turn") this.#turns.set(span.turnId, span);
    this.#pass("start", span);
    return span;
  }

  /** Ends a span, once. */
  end<S extends Span>(span: S, results: Results<S> = {} as Results<S>): void {
    if (span.endedAt !== undefined) return;
    Object.assign(span as Writable, results, { endedAt: Math.max(span.startedAt, this.#now()) });
    if (span.kind === "turn" && this.#turns.get(span.turnId) === span) this.#turns.delete(span.turnId);
    this.#pass("end", span);
  }

  #pass(method: "start" | "end", span: Span): void {
    for (const listener of this.#listeners)
      if (listener.kinds === undefined || listener.kinds.includes(span.kind)) this.#notify(listener, method, span);
  }

  /** The time with a fraction, so that spans of one millisecond have an order and lie within their parents. */
  #now(): number {
    const now = this.#world.now();
    const clock = this.#clock();
    if (!(Math.abs(clock + this.#offset - now) < OFFSET_MS)) this.#offset = now - clock;
    return clock + this.#offset;
  }

  event(event: TelemetryEvent): void {
    const span = event.turnId === undefined ? undefined : this.#turns.get(event.turnId);
    for (const listener of this.#listeners) this.#notify(listener, "event", span, event);
  }

  async close(): Promise<void> {
    for (const listener of this.#listeners) {
      try {
        await listener.close?.();
      } catch (error) {
        this.#report(listener, "telemetry.failed", describeThrown(error));
      }
    }
  }

  /** hub-1 */
  #notify(listener: TelemetryListener, does: "start" | "end", span: Span): void;
  #notify(listener: TelemetryListener, does: "event", span: Span | undefined, event: TelemetryEvent): void;
  #notify(listener: TelemetryListener, does: "start" | "end" | "event", span?: Span, event?: TelemetryEvent): void {
    const begun = performance.now();
    try {
      const method = listener[does] as ((span?: Span, event?: TelemetryEvent) => unknown) | undefined;
      if (method === undefined) return;
      const answer = method.call(listener, span, event);
      if (isThenable(answer))
        ignoreRejection(
          answer.then(undefined, (error: unknown) => this.#report(listener, "telemetry.failed", describeThrown(error))),
        );
    } catch (error) {
      this.#report(listener, "telemetry.failed", describeThrown(error));
    }
    const ms = Math.round(performance.now() - begun);
    if (ms > BLOCKS_MS) this.#report(listener, "telemetry.slow", `It blocked the process for ${ms} ms.`);
  }

  /** hub-2 */
  #report(listener: TelemetryListener, name: string, problem: string): void {
    if (this.#reported.has(listener)) return;
    this.#reported.add(listener);
    const about = { listener: this.#listeners.indexOf(listener), problem };
    this.event({ at: this.#world.now(), name, about });
  }
}

/** The fields of a span's failure. */
export function errorOf(error: unknown): { readonly code: string; readonly message: string } {
  return { code: error instanceof RuntimeError ? error.code : "error", message: describeThrown(error) };
}
