import { CancelAnswer } from "../../model/outcome.js";
import { Comparison } from "../../graph/history.js";
import { CreatedSession, FirstInput } from "../../kernel/created.js";
import { ForkOptions } from "./make.js";
import { InjectOptions, InjectedMessage } from "../../model/input.js";
import { InputId, NodeId, SessionId, TurnId } from "../../model/ids.js";
import { NewSessionRequest, SessionReading } from "../../kernel/services.js";
import { Session } from "./handle.js";
import { Spent, Usage } from "../../model/usage.js";
/** All sessions of the store. */
interface AppSessions {
  /** Lists sessions in the order of their ids: all, the children of `parent`, or the forks of `origin`. */
  list(page?: SessionsPage): Promise<readonly SessionSummary[]>;
  /** Reads any session as last committed, without opening it. Throws `session.unknown`. */
  get(id: string): Promise<SessionReading>;
  /**
   * Creates a session as plugins do, without opening it: fresh, a child or a fork of the session `from`, with an
   * permissions, plugin states and a first input. Throws `session.exists` unless `ifExists` is `take`.
   */
  create(request?: NewSessionRequest): Promise<CreatedSession>;
  /** Returns the `firstInput` of a session; undefined from the second time on. Throws `session.busy` during a turn. */
  takeFirstInput(id: string): Promise<FirstInput | undefined>;
  /** Creates a session over the same history, with its own future. Default: at the head. */
  fork(id: string, options?: ForkOptions): Promise<Session>;
  /** Asks a turn to end, without opening the session. Without `turnId`: the open turn and all waiting inputs. */
  cancel(id: string, turnId?: string, reason?: string): Promise<CancelAnswer>;
  /**
   * Puts a message into a session without opening it: at the next boundary of its running turn, in whatever process,
   * else when its next turn begins. It opens no turn, and `input` hooks do not see it.
   */
  inject(id: string, message: string | InjectedMessage, options?: InjectOptions): Promise<{
    readonly id: InputId;
  }>;
  /** Finds the last node that two sessions share, and what each has after it. */
  compare(id: string, other: string): Promise<Comparison>;
  /** Adds up what a session and all its descendants have spent. */
  usage(id: string): Promise<TreeUsage>;
  /** Final: the id cannot be used again. Throws `session.busy` while a turn or an operation runs or waits here. */
  delete(id: string): Promise<void>;
}
interface SessionsPage {
  /** Only ids after this one: the last of the page before. */
  readonly after?: string | undefined;
  /** Default: no bound. */
  readonly max?: number | undefined;
  readonly parent?: string | undefined;
  readonly origin?: string | undefined;
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
interface SessionSummary {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  /** The session that this one was forked from, and the node where. */
  readonly origin?: {
    readonly sessionId: SessionId;
    readonly at?: NodeId;
  };
  readonly label?: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly turns: number;
  /** The open turn, in this process or another. */
  readonly openTurn?: TurnId;
}
export { AppSessions, SessionSummary };
