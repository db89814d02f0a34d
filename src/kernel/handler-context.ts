import type { Awaitable } from "../model/awaitable.ts";
import type { SessionId, TurnId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import type { Any } from "../model/schema.ts";
import type { Extension } from "./extension.ts";
import type { Point } from "./point.ts";

/** What every handler gets besides the fields of its hook. */
export interface HandlerContext {
  readonly sessionId: SessionId;
  /** Left out outside a turn. */
  readonly turnId?: TurnId;
  /** Aborts when the turn is cancelled, and at the handler's deadline. */
  readonly signal: AbortSignal;
  /** What plugins contributed to a point, combined. */
  read<Out>(point: Point<Any, Out>): Out;
  /** The value that the caller of the turn gave for this extension; undefined without a value, and outside a turn. */
  extension<Out>(extension: Extension<Any, Out>): Out | undefined;
  /**
   * Runs `run` once in this turn. A rerun after a crash gets the recorded value. Other plugins can use the same name.
   */
  once<T extends Json>(name: string, run: () => Awaitable<T>): Promise<T>;
}
