import type { Awaitable } from "../model/awaitable.ts";
import type { SessionId, TurnId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import type { Any } from "../model/schema.ts";
import type { Extension } from "./extension.ts";
import type { Point } from "./point.ts";

/** What every handler is given besides what its hook shows. */
export interface Here {
  readonly sessionId: SessionId;
  /** Left out outside a turn. */
  readonly turnId?: TurnId;
  /** Aborts when the turn is cancelled, and at the handler's deadline. */
  readonly signal: AbortSignal;
  /** What plugins contributed to a point, combined. */
  read<Out>(point: Point<Any, Out>): Out;
  /** What the caller of the turn gave for this extension; undefined when nothing, and outside a turn. */
  extension<Out>(extension: Extension<Any, Out>): Out | undefined;
  /**
   * Runs `run` once in this turn under this name, which is the plugin's own. A rerun after a crash gets the recorded
   * value.
   */
  once<T extends Json>(name: string, run: () => Awaitable<T>): Promise<T>;
}
