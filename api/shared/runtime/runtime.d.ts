import { AppJobs } from "./jobs/app.js";
import { AppSessions } from "./session/app.js";
import { AppTriggers } from "./triggers/app.js";
import { Budget, SessionConfig } from "../model/config.js";
import { CheckOptions } from "../stores/rules/check/check.js";
import { EffectHost } from "../hosts/host.js";
import { Finding } from "../stores/rules/port.js";
import { KeepJournals } from "./records/keep-journals.js";
import { Limits } from "../model/limits.js";
import { Model, ModelResolver } from "../providers/provider.js";
import { ModelSettings } from "../model/request.js";
import { Monitors } from "../kernel/monitor.js";
import { Optional } from "../model/known.js";
import { Plugin } from "../kernel/plugin.js";
import { PluginOptions } from "../kernel/session-requests.js";
import { PriceTable } from "../model/usage.js";
import { PromptPart } from "../model/prompt.js";
import { Recovered } from "./session/session-watcher.js";
import { RuntimeFact } from "../model/event.js";
import { RuntimeObserveOptions } from "./readers/runtime-feed.js";
import { RuntimeStatus } from "./status.js";
import { Section } from "../kernel/prompt.js";
import { Services } from "../kernel/services.js";
import { Session } from "./session/public-api.js";
import { SessionAccess } from "./services/session-service.js";
import { SessionMarks } from "./session/make.js";
import { Store } from "../stores/store.js";
import { TelemetryListener } from "../telemetry/telemetry.js";
import { Tool, ToolProvider } from "../kernel/tool.js";
import { Turns } from "./records/turns.js";
import { UsagePage, UsageReport } from "./records/usage.js";
import { Waits } from "./waits.js";
import { World } from "../model/world.js";
/** Options of `createRuntime`. Only `store` and `model` are required. */
type RuntimeOptions = {
  /** Where sessions are stored, for example `sqlite("agent.db")`. */
  readonly store: Store;
  /** Where effects run. Default: the journal host on a durable store, else the inline host. */
  readonly host?: EffectHost | undefined;
  /** Tools for every session. */
  readonly tools?: readonly (Tool | ToolProvider)[] | undefined;
  /** Plugins for every session. Plugins with the same `order` run in the order of this list. */
  readonly plugins?: readonly Plugin[] | undefined;
  /** The text of the system prompt. A session can override it. */
  readonly instructions?: string | undefined;
  /** Prompt parts for every session: the first layer, before the parts of sessions, turns and plugins. */
  readonly prompt?: readonly PromptPart[] | undefined;
  /** Headings and order of the prompt's sections. */
  readonly template?: readonly Section[] | undefined;
  /** Temperature, output limit and similar settings for every model call. A session can override them. */
  readonly settings?: ModelSettings | undefined;
  /** The plugins that can use jobs and monitors of sessions other than their own and its descendants. Default: none. */
  readonly sessionAccess?: SessionAccess | undefined;
  /** Limits of time, size and number. `Limits` has the default of each. */
  readonly limits?: Optional<Limits> | undefined;
  /** How much a session can spend. A session can override it. Default: no limit. */
  readonly budget?: Budget | undefined;
  /**
   * How long the journals of ended turns are kept, so that `turns.timeline` can show them. Default: 7 days, 200 turns of a
   * session, 1 GiB in all. `false`: not at all.
   */
  readonly keepJournals?: KeepJournals | false | undefined;
  /** Prices per million tokens, by model name (`provider/model`). A cost budget needs them. */
  readonly prices?: PriceTable | undefined;
  /**
   * What this process runs on a durable store. `auto` (default): also orphaned turns and parked turns that were
   * answered. It searches for them at the start and every second. `manual`: only turns of sessions that are open here,
   * and all others when `recover()` is called. `never`: no turn, tool, job, monitor or schedule, for a process that
   * only sends, reads and answers. Its inputs wait for another process, and its handles follow the turns that run
   * there.
   */
  readonly recover?: "auto" | "manual" | "never" | undefined;
  /**
   * Receives spans and diagnostics of this process: spans of turns, rounds, model calls, tools, hooks, waits, commits,
   * jobs and store calls. `bowline/otel` and `bowline/telemetry` have listeners.
   */
  readonly telemetry?: TelemetryListener | readonly TelemetryListener[] | undefined;
  /** Time and randomness. For tests: `simulatedWorld()` of `bowline/testing`, in which the test controls the time. */
  readonly world?: World | undefined;
} & ({
  readonly model: Model;
  readonly models?: ModelResolver | undefined;
} | {
  readonly model: string;
  readonly models: ModelResolver;
});
interface Runtime extends AsyncDisposable {
  /** Opens the session with this id, or creates it. Without an id, creates one with a generated id. */
  session(id?: string, options?: SessionOptions): Promise<Session>;
  /** Access to all sessions without opening them. */
  readonly sessions: AppSessions;
  /** Records of the turns of all sessions, without opening a session: lists, one turn, and its timeline. */
  readonly turns: Turns;
  /**
   * Streams the facts of all sessions in one order, also those that other processes store. To continue after a restart,
   * pass the `cursor` of the last fact as `after`: no fact is missed or repeated.
   */
  observe(options?: RuntimeObserveOptions): AsyncIterableIterator<RuntimeFact>;
  /** Waits of turns: approvals, deferred results, questions. Lists and answers them from any process. */
  readonly waits: Waits;
  /** Background work of all sessions; `jobs.of(id)` has the jobs of one session. */
  readonly jobs: AppJobs;
  readonly monitors: {
    /** The monitors of a session, without opening it. */
    of(session: string): Monitors;
  };
  /** The triggers of all sessions. `triggers.of(id)` has the triggers of one session. */
  readonly triggers: AppTriggers;
  /** Adds up what turns have spent, by time, model, session and tool. Default: of the last 24 hours. */
  usage(page?: UsagePage): Promise<UsageReport>;
  /** Reads how much work there is in all processes, and which of them do it. */
  status(): Promise<RuntimeStatus>;
  /**
   * Looks for damage in the store, as `bowline doctor` does, and changes nothing. Reads the whole store: a process with
   * SQLite does nothing else meanwhile. A store in memory has no findings.
   */
  check(options?: CheckOptions): Promise<readonly Finding[]>;
  /** Bytes by the hash of their content: `get` returns those of an attachment. */
  readonly blobs: Services["blobs"];
  /**
   * Resumes orphaned turns and jobs, and runs waiting inputs, in all sessions. Settles when each has ended or waits.
   * Throws `runtime.passive` with `recover: "never"`.
   */
  recover(): Promise<Recovered>;
  /**
   * Keeps the process alive as a worker until SIGTERM, SIGINT, `signal` or a call of `close()`, then closes the runtime.
   * Resolves when it is closed. `recover` decides what runs; throws `runtime.passive` with `recover: "never"`.
   */
  run(options?: RunOptions): Promise<void>;
  /**
   * Refuses new calls, parks turns that only wait, gives other running turns and jobs a grace period (default: 5
   * seconds), closes plugins in reverse order, then the store. The grace period of the first call counts.
   */
  close(options?: CloseOptions): Promise<void>;
}
interface CloseOptions {
  /** How long running turns and jobs can still finish, in milliseconds. Default: 5,000. */
  readonly graceMs?: number | undefined;
}
interface RunOptions extends CloseOptions {
  /** Closes the runtime when it aborts. */
  readonly signal?: AbortSignal | undefined;
}
interface SessionOptions extends SessionMarks {
  /** The settings of the session, if this call creates it. Later `configure` changes them. */
  readonly config?: Optional<SessionConfig> | undefined;
  /**
   * Options of plugins for this session. They replace the options of the installed plugins. They are stored with the
   * session, so they must be JSON without secrets. For an existing session they replace the stored options, plugin by
   * plugin, from the next turn on.
   */
  readonly plugins?: readonly PluginOptions[] | undefined;
}
export { Runtime, RuntimeOptions };
