// `runtime.sessions`: lists, reads, creates, forks and deletes sessions of the store, without opening them in this process.
// Not its job: an open session and its handles (`session.ts`, `handle.ts`), `runtime.session()` (`runtime.ts`).
import { type Comparison, compare, parentOf } from "../../graph/history.ts";
import type { CreatedSession, FirstInput } from "../../kernel/created.ts";
import type { NewSessionRequest, SessionReading } from "../../kernel/services.ts";
import { RuntimeError } from "../../model/errors.ts";
import { asSessionId, type InputId, type NodeId, type SessionId, type TurnId } from "../../model/ids.ts";
import type { InjectedMessage, InjectOptions } from "../../model/input.ts";
import { defined } from "../../model/json.ts";
import type { Known } from "../../model/known.ts";
import type { CancelAnswer } from "../../model/outcome.ts";
import { costOf, type Spent, totalOf, type Usage } from "../../model/usage.ts";
import type { Store, StoredSession } from "../../stores/store.ts";
import { requireOptions, requireWords } from "../checks.ts";
import type { Core } from "../core.ts";
import { requireStored, snapshot } from "../services/reading.ts";
import { cancel, INJECT, takeFirstInput } from "../services/sessions.ts";
import type { Session } from "./handle.ts";
import { createForApp, FORK, type ForkOptions, forkRequest, makeSession } from "./make.ts";

/** All sessions of the store. */
export interface AppSessions {
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
  inject(id: string, message: string | InjectedMessage, options?: InjectOptions): Promise<{ readonly id: InputId }>;
  /** Finds the last node that two sessions share, and what each has after it. */
  compare(id: string, other: string): Promise<Comparison>;
  /** Adds up what a session and all its descendants have spent. */
  usage(id: string): Promise<TreeUsage>;
  /** Final: the id cannot be used again. Throws `session.busy` while a turn or an operation runs or waits here. */
  delete(id: string): Promise<void>;
}

export interface SessionsPage {
  /** Only ids after this one: the last of the page before. */
  readonly after?: string | undefined;
  /** Default: no bound. */
  readonly max?: number | undefined;
  readonly parent?: string | undefined;
  readonly origin?: string | undefined;
}

export interface TreeUsage {
  readonly usage: Usage;
  /** In the currency of `prices`; left out when the price of a model is unknown. */
  readonly cost?: number;
  /** One row per session, source and model. */
  readonly ledger: readonly (Spent & { readonly sessionId: SessionId; readonly cost?: number })[];
}

export interface SessionSummary {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  /** The session that this one was forked from, and the node where. */
  readonly origin?: { readonly sessionId: SessionId; readonly at?: NodeId };
  readonly label?: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly turns: number;
  /** The open turn, in this process or another. */
  readonly openTurn?: TurnId;
}

const PAGE: Known<SessionsPage> = { after: true, max: true, parent: true, origin: true };

export const appSessions = (open: () => Core): AppSessions => ({
  list: async (page: SessionsPage = {}): Promise<readonly SessionSummary[]> => {
    const { store } = open();
    requireOptions("sessions.list", page, PAGE);
    const { after, max, parent, origin } = page;
    for (const [option, value] of Object.entries({ after, parent, origin }))
      if (value !== undefined && typeof value !== "string")
        throw new RuntimeError("options.invalid", { option, problem: "it must be an id" });
    if (max !== undefined && !(typeof max === "number" && max >= 1 && (max === Infinity || Number.isInteger(max))))
      throw new RuntimeError("options.invalid", { option: "max", problem: "it must be a number above 0" });
    const asked = defined({ after, max, parent, origin }) as Parameters<Store["list"]>[0];
    return (await store.list(asked)).map(summaryOf);
  },
  get: async (id: string): Promise<SessionReading> => snapshot(open(), id),
  create: async (request: NewSessionRequest = {}): Promise<CreatedSession> => createForApp(open(), request),
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

const summaryOf = ({ id, parentId, origin, createdAt, turns, openTurn, config }: StoredSession): SessionSummary =>
  defined({ id, parentId, origin, label: config.label, createdAt, turns, openTurn });
