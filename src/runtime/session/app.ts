// `runtime.sessions`: lists, reads, creates, forks and deletes sessions of the store, without opening them in this process.
// Not its job: an open session and its handles (`session.ts`, `handle.ts`), `runtime.session()` (`runtime.ts`).
import { type Comparison, compare, type HistoryPage, type Node, parentOf } from "../../graph/history.ts";
import type { CreatedSession, FirstInput, SavedStates } from "../../kernel/created.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { SessionEvent } from "../../model/event.ts";
import { asSessionId, type InputId, type SessionId, type TurnId } from "../../model/ids.ts";
import type { InjectedMessage, InjectOptions, Input } from "../../model/input.ts";
import type { CancelAnswer } from "../../model/outcome.ts";
import { costOf, type Spent, totalOf, type Usage } from "../../model/usage.ts";
import { requireOptions, requireWords } from "../checks.ts";
import type { Core } from "../core.ts";
import type { Turn } from "../live-turn/handle.ts";
import type { ObserveOptions } from "../readers/readers.ts";
import { requireStored } from "../services/reading.ts";
import { cancel, INJECT, takeFirstInput } from "../services/sessions.ts";
import {
  followTurn,
  historyOfSession,
  observeSession,
  readSession,
  type SessionDetails,
  sendToSession,
  statesOfSession,
} from "./closed.ts";
import { findSession, listSessions, type SessionSummary, type SessionsPage } from "./list.ts";
import { type AppSessionRequest, createForApp, FORK, type ForkOptions, forkRequest, makeSession } from "./make.ts";
import type { SendOptions, Session } from "./public-api.ts";

/** All sessions of the store. */
export interface AppSessions {
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
  send(id: string, input: Input, options?: SendOptions): Promise<{ readonly turnId: TurnId }>;
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
  inject(id: string, message: string | InjectedMessage, options?: InjectOptions): Promise<{ readonly id: InputId }>;
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

export interface TreeUsage {
  readonly usage: Usage;
  /** In the currency of `prices`; left out when the price of a model is unknown. */
  readonly cost?: number;
  /** One row per session, source and model. */
  readonly ledger: readonly (Spent & { readonly sessionId: SessionId; readonly cost?: number })[];
}

export const appSessions = (open: () => Core): AppSessions => ({
  list: async (page: SessionsPage = {}) => listSessions(open(), page),
  find: async (id: string) => findSession(open(), id),
  get: async (id: string) => readSession(open(), id),
  history: async (id: string, page: HistoryPage = {}) => historyOfSession(open(), id, page),
  states: async (id: string) => statesOfSession(open(), id),
  observe: (id: string, options: ObserveOptions = {}) => observeSession(open(), id, options),
  send: async (id: string, input: Input, options: SendOptions = {}) => sendToSession(open(), id, input, options),
  follow: (turnId: string) => followTurn(open(), turnId),
  create: async (request: AppSessionRequest = {}): Promise<CreatedSession> => createForApp(open(), request),
  takeFirstInput: async (id: string): Promise<FirstInput | undefined> => takeFirstInput(open(), id),
  fork: async (id: string, options: ForkOptions = {}): Promise<Session> => {
    const core = open();
    requireOptions("sessions.fork", options, FORK);
    const source = await requireStored(core, id);
    const parent = await parentOf(core.store, source.id, options.before);
    return core.sessions.handle((await makeSession(core, forkRequest(options, parent), source)).id);
  },
  cancel: async (id: string, turnId?: string, reason = "It was cancelled."): Promise<CancelAnswer> => {
    const core = open();
    const { id: known } = await requireStored(core, id);
    requireWords("reason", reason);
    return cancel(core, known, turnId, reason);
  },
  inject: async (
    id: string,
    message: string | InjectedMessage,
    options: InjectOptions = {},
  ): Promise<{ readonly id: InputId }> => {
    const { sessions } = open();
    requireOptions("sessions.inject", options, INJECT);
    return sessions.inject(id, message, options.id);
  },
  compare: async (id: string, other: string): Promise<Comparison> => {
    const core = open();
    const [ours, theirs] = [await requireStored(core, id), await requireStored(core, other)];
    return compare(core.store, ours.id, theirs.id);
  },
  usage: async (id: string): Promise<TreeUsage> => {
    const core = open();
    const rows = await core.store.booked((await requireStored(core, id)).id);
    const priced = (spent: readonly Spent[]): { readonly cost?: number } => {
      const cost = costOf(spent, core.prices);
      return cost === undefined ? {} : { cost };
    };
    return { usage: totalOf(rows), ...priced(rows), ledger: rows.map((row) => ({ ...row, ...priced([row]) })) };
  },
  delete: async (id: string): Promise<void> => {
    const { sessions } = open();
    if (typeof id !== "string") throw new RuntimeError("session.unknown", { id: typeof id });
    await sessions.delete(asSessionId(id));
  },
});
