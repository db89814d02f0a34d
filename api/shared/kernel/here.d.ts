import { Any } from "../model/schema.js";
import { Awaitable } from "../model/awaitable.js";
import { Extension } from "./extension.js";
import { Json } from "../model/json.js";
import { Point } from "./point.js";
import { SessionId, TurnId } from "../model/ids.js";
/** What every handler is given besides what its hook shows. */
interface Here {
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
export { Here };
