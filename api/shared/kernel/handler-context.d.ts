import { Any } from "../model/schema.js";
import { Awaitable } from "../model/awaitable.js";
import { Extension } from "./extension.js";
import { Json } from "../model/json.js";
import { Point } from "./point.js";
import { SessionId, TurnId } from "../model/ids.js";
/** What every handler gets besides the fields of its hook. */
interface HandlerContext {
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
export { HandlerContext };
