import { Budget, SessionConfig } from "../model/config.js";
import { CancelAnswer } from "../model/outcome.js";
import { Comparison } from "../graph/history.js";
import { EffectHost } from "../hosts/host.js";
import { ForkOptions } from "./session/make.js";
import { Json } from "../model/json.js";
import { Limits } from "../model/limits.js";
import { Model, ModelResolver } from "../providers/provider.js";
import { ModelSettings } from "../model/request.js";
import { NodeId, SessionId, TurnId } from "../model/ids.js";
import { Plugin, PluginOptions } from "../kernel/plugin.js";
import { PriceTable, Spent, Usage } from "../model/usage.js";
import { Probe } from "../kernel/hook-runner.js";
import { PromptPart } from "../model/prompt.js";
import { Recovered } from "./session/elsewhere.js";
import { Section } from "../kernel/prompt.js";
import { Session } from "./session/handle.js";
import { SessionReading } from "../kernel/services.js";
import { Store } from "../stores/store.js";
import { Tool, ToolProvider } from "../kernel/tool.js";
import { TraceSink } from "../trace/trace.js";
type RuntimeOptions = {
  readonly store: Store;
  readonly host?: EffectHost;
  readonly trace?: TraceSink;
  readonly tools?: readonly (Tool | ToolProvider)[];
  readonly plugins?: readonly Plugin[];
  readonly instructions?: string;
  /** More of the prompt, for every session: the lowest of its layers. */
  readonly prompt?: readonly PromptPart[];
  /** Headings and order of the prompt's slots. */
  readonly template?: readonly Section[];
  readonly settings?: ModelSettings;
  readonly limits?: Partial<Limits>;
  /** What may be spent, unless a session has a budget of its own. */
  readonly budget?: Budget;
  /** What models cost, by the name that sessions keep. */
  readonly prices?: PriceTable;
  /** Whether turns that others left are gone on with by themselves: `auto` on a durable store, unless set. */
  readonly recover?: "auto" | "manual";
  /** Sees the beginning and the end of every hook call. */
  readonly probe?: Probe;
} & ({
  readonly model: Model;
  readonly models?: ModelResolver;
} | {
  readonly model: string;
  readonly models: ModelResolver;
});
interface Runtime extends AsyncDisposable {
  /** Opens a session, or creates it; without an id, a new one. */
  session(id?: string, options?: SessionOptions): Promise<Session>;
  readonly sessions: {
    /** All of them, the children of one, or its forks; by id. */
    list(page?: SessionsPage): Promise<readonly SessionSummary[]>;
    /** Any session as it is committed; throws `session.unknown`. */
    get(id: string): Promise<SessionReading>;
    /** A second session over the same history, with its own future; at the head unless told where. */
    fork(id: string, options?: ForkOptions): Promise<Session>;
    /** Asks a turn to end, or without one whatever is open, without opening the session; inputs that wait are taken back then. */
    cancel(id: string, turnId?: string, reason?: string): Promise<CancelAnswer>;
    /** Where two sessions part, and what each has after that. */
    compare(id: string, other: string): Promise<Comparison>;
    /** What a session and all that descend from it have spent. */
    usage(id: string): Promise<TreeUsage>;
    /** Final: the id is never used again. Refused while a turn runs here. */
    delete(id: string): Promise<void>;
  };
  readonly waits: {
    /** Answers a wait; the first answer counts. Throws `wait.unknown`. */
    resolve(key: string, answer: Json): Promise<"accepted" | "already-resolved">;
  };
  /**
   * Goes on with turns that another process left, and with inputs that wait, in any session; answers when they are
   * done. A runtime on a durable store does so by itself, at its start and then every ten seconds.
   */
  recover(): Promise<Recovered>;
  /** Accepts nothing more, gives running turns 5 seconds, closes plugins in reverse order, then the store. */
  close(): Promise<void>;
}
interface SessionOptions {
  /** What the session has of its own; given when it is made, changed with `configure`. */
  readonly config?: Partial<SessionConfig>;
  /** Options of plugins for this opening, in the place of those they were installed with. */
  readonly plugins?: readonly PluginOptions[];
}
interface SessionsPage {
  readonly after?: string;
  readonly max?: number;
  readonly parent?: string;
  readonly origin?: string;
}
interface TreeUsage {
  readonly usage: Usage;
  /** Where the price of every model is known. */
  readonly cost?: number;
  /** By session, source and model. */
  readonly ledger: readonly (Spent & {
    readonly sessionId: SessionId;
    readonly cost?: number;
  })[];
}
interface SessionSummary {
  readonly id: SessionId;
  readonly parentId?: SessionId;
  /** What it was forked from, and where. */
  readonly origin?: {
    readonly sessionId: SessionId;
    readonly at?: NodeId;
  };
  readonly label?: string;
  readonly createdAt: number;
  readonly turns: number;
  /** The turn that is open, here or elsewhere. */
  readonly openTurn?: TurnId;
}
export { Runtime, RuntimeOptions, SessionSummary, TreeUsage };
