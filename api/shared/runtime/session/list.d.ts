import { NodeId, SessionId, TurnId } from "../../model/ids.js";
import { SessionState } from "../../stores/store.js";
import { Usage } from "../../model/usage.js";
interface SessionsPage {
  /** Only sessions of this user or tenant. */
  readonly owner?: string | undefined;
  readonly tag?: string | undefined;
  /** `waiting`: the turn is parked. `interrupted`: no process runs the open turn, and any process can resume it. */
  readonly state?: SessionState | undefined;
  /** Only the children of this session. */
  readonly parent?: string | undefined;
  /** Only the forks of this session. */
  readonly origin?: string | undefined;
  /** `activity` and `created` begin with the latest, `id` with the lowest. Default: `id`. */
  readonly order?: "activity" | "created" | "id" | undefined;
  /** With the order `id`: only ids after this one, the last of the previous page. */
  readonly after?: string | undefined;
  /** With the other orders: the `cursor` of the last session of the previous page. */
  readonly before?: string | undefined;
  /** Default: no bound. */
  readonly max?: number | undefined;
}
interface SessionSummary {
  readonly id: SessionId;
  readonly owner?: string;
  readonly tags?: readonly string[];
  readonly label?: string;
  readonly parentId?: SessionId;
  /** The session from which this one was forked, and the node of the fork. */
  readonly origin?: {
    readonly sessionId: SessionId;
    readonly at?: NodeId;
  };
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** When a turn was last opened or a commit last made. */
  readonly activeAt: number;
  readonly state: SessionState;
  /** The beginning of the last text of its latest turn. */
  readonly lastWords?: string;
  readonly turns: number;
  readonly usage: Usage;
  /** In the currency of `prices`; omitted if a price is unknown. */
  readonly cost?: number;
  /** The open turn, in this process or another. */
  readonly openTurn?: TurnId;
  /** The position in the list, for `before`. */
  readonly cursor: string;
}
export { SessionSummary, SessionsPage };
