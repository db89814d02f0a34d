import { AppSessionRequest, ForkOptions } from "./make.js";
import { CancelAnswer } from "../../model/outcome.js";
import { Comparison, HistoryPage, Node } from "../../graph/history.js";
import { CreatedSession, FirstInput, SavedStates } from "../../kernel/created.js";
import { InjectOptions, InjectedMessage, Input } from "../../model/input.js";
import { InputId, SessionId, TurnId } from "../../model/ids.js";
import { ObserveOptions } from "../readers/readers.js";
import { SendOptions, Session } from "./public-api.js";
import { SessionDetails } from "./closed.js";
import { SessionEvent } from "../../model/event.js";
import { SessionSummary, SessionsPage } from "./list.js";
import { Spent, Usage } from "../../model/usage.js";
import { Turn } from "../live-turn/handle.js";
/** All sessions of the store. */
interface AppSessions {
  /** Lists the sessions that meet all given conditions. */
  list(page?: SessionsPage): Promise<readonly SessionSummary[]>;
  /** Finds a session and returns its entry of `list`, without its messages. Undefined if there is none. */
  find(id: string): Promise<SessionSummary | undefined>;
  /** Reads any session like `session.read()`: its committed data and its open turn so far. Throws `session.unknown`. */
  get(id: string): Promise<SessionDetails>;
  /** Nodes of all frames, newest first. */
  history(id: string, page?: HistoryPage): Promise<readonly Node[]>;
  /** Returns the plugin states as last committed. */
  states(id: string): Promise<SavedStates>;
  /** Streams facts and previews, as `session.observe()` does. The first `next()` throws `session.unknown`. */
  observe(id: string, options?: ObserveOptions): AsyncIterableIterator<SessionEvent>;
  /** Sends an input. A running turn takes it, or a process that runs turns opens one; this can be another process. */
  send(id: string, input: Input, options?: SendOptions): Promise<{
    readonly turnId: TurnId;
  }>;
  /** Follows a turn of any session before, while or after it runs. `result()` throws `turn.unknown`. */
  follow(turnId: string): Turn;
  /**
   * Creates a session as plugins do, without opening it: fresh, a child or a fork of the session `from`, with
   * permissions, plugin states and a first input. Throws `session.exists` unless `ifExists` is `take`.
   */
  create(request?: AppSessionRequest): Promise<CreatedSession>;
  /** Returns the `firstInput` of a session; undefined from the second time on. Throws `session.busy` during a turn. */
  takeFirstInput(id: string): Promise<FirstInput | undefined>;
  /** Creates a session that shares the history up to a node. Default: the head. */
  fork(id: string, options?: ForkOptions): Promise<Session>;
  /** Asks a turn to end, without opening the session. Without `turnId`: the open turn and all waiting inputs. */
  cancel(id: string, turnId?: string, reason?: string): Promise<CancelAnswer>;
  /**
   * Adds a message to a session without opening it: at the next boundary of its running turn, in any process, or at the
   * beginning of its next turn. It opens no turn, and `input` hooks do not see it.
   */
  inject(id: string, message: string | InjectedMessage, options?: InjectOptions): Promise<{
    readonly id: InputId;
  }>;
  /** Finds the last node that two sessions share, and what each has after it. */
  compare(id: string, other: string): Promise<Comparison>;
  /** Returns the total spending of a session and all its descendants. */
  usage(id: string): Promise<TreeUsage>;
  /**
   * Deletes a session. Its id cannot be used again. Throws `session.busy` while a turn or an operation runs or waits
   * here.
   */
  delete(id: string): Promise<void>;
}
interface TreeUsage {
  readonly usage: Usage;
  /** In the currency of `prices`; left out when the price of a model is unknown. */
  readonly cost?: number;
  /** One row per session, source and model. */
  readonly ledger: readonly (Spent & {
    readonly sessionId: SessionId;
    readonly cost?: number;
  })[];
}
export { AppSessions, TreeUsage };
