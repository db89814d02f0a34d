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
  /** Plugins for every session. Those of the same `order` run in the order of this list. */
  readonly plugins?: readonly Plugin[] | undefined;
  /** The system prompt's own text, unless a session has its own. */
  readonly instructions?: string | undefined;
  /** Prompt parts for every session: the lowest layer, below those of sessions, turns and plugins. */
  readonly prompt?: readonly PromptPart[] | undefined;
  /** Headings and order of the prompt's sections. */
  readonly template?: readonly Section[] | undefined;
  /** Temperature, output limit and the like for every model call, unless a session has its own. */
  readonly settings?: ModelSettings | undefined;
  /** Which plugins reach jobs and monitors beyond their session and its descendants. Default: none. */
  readonly sessionAccess?: SessionAccess | undefined;
  /** Bounds on time, size and number; `Limits` names the default of each. */
  readonly limits?: Optional<Limits> | undefined;
  /** How much may be spent, unless a session has its own budget. Default: no bound. */
  readonly budget?: Budget | undefined;
  /**
   * How long the journals of ended turns are kept, so that `turns.timeline` can show them. Default: 7 days, 200 turns of a
   * session, 1 GiB in all. `false`: not at all.
   */
  readonly keepJournals?: KeepJournals | false | undefined;
  /** Prices per million tokens, by model name (`provider/model`). A cost budget needs them. */
  readonly prices?: PriceTable | undefined;
  /**
   * What this process runs on a durable store. `auto` (default): also turns that other processes left, and parked ones
   * that were answered; it looks for them at once and every second. `manual`: only turns of sessions that are open here,
   * and the rest when `recover()` is called. `never`: no turn, tool, job, monitor or schedule, for a process that only
   * sends, reads and answers. Its inputs wait for another process, and its handles follow the turns that run there.
   */
  readonly recover?: "auto" | "manual" | "never" | undefined;
  /**
   * Receives what this process does: spans of turns, rounds, model calls, tools, hooks, waits, commits, jobs and store
   * calls, and diagnostics. `bowline/otel` and `bowline/telemetry` have listeners.
   */
  readonly telemetry?: TelemetryListener | readonly TelemetryListener[] | undefined;
  /** Time and chance. For tests: `simulatedWorld()` of `bowline/testing`, in which time passes when you say so. */
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
  /** All sessions, without opening one. */
  readonly sessions: AppSessions;
  /** What turns did: lists, one turn, and what happened in it. Of all sessions, without opening one. */
  readonly turns: Turns;
  /**
   * Streams the facts of all sessions in one order, also those that other processes store. To continue after a restart,
   * pass the `cursor` of the last fact as `after`: no fact is missed or repeated.
   */
  observe(options?: RuntimeObserveOptions): AsyncIterableIterator<RuntimeFact>;
  /** What turns wait for: approvals, results that come later, questions. Lists and answers them, from any process. */
  readonly waits: Waits;
  /** Background work of all sessions; `jobs.of(id)` is that of one. */
  readonly jobs: AppJobs;
  readonly monitors: {
    /** The commands that are watched for a session, without opening it. */
    of(session: string): Monitors;
  };
  /** What starts work by itself, of all sessions; `triggers.of(id)` is that of one. */
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
   * Resumes turns and jobs that other processes left, and inputs that wait, in all sessions; settles when they are done,
   * or wait for something. Throws `runtime.passive` with `recover: "never"`.
   */
  recover(): Promise<Recovered>;
  /**
   * Keeps the process alive as a worker until SIGTERM, SIGINT, `signal` or a call of `close()`, then closes the runtime.
   * Resolves when it is closed. `recover` decides what runs; throws `runtime.passive` with `recover: "never"`.
   */
  run(options?: RunOptions): Promise<void>;
  /**
   * Refuses new calls, parks turns that only wait, gives other running turns and jobs a grace (default: 5 seconds), closes
   * plugins in reverse order, then the store. The grace of the first call holds.
   */
  close(options?: CloseOptions): Promise<void>;
}
interface CloseOptions {
  /** How long running turns and jobs may still finish, in milliseconds. Default: 5,000. */
  readonly graceMs?: number | undefined;
}
interface RunOptions extends CloseOptions {
  /** Closes the runtime when it aborts. */
  readonly signal?: AbortSignal | undefined;
}
interface SessionOptions extends SessionMarks {
  /** The session's own settings, if this call creates it. Later they are changed with `configure`. */
  readonly config?: Optional<SessionConfig> | undefined;
  /**
   * Options of plugins for this session, in place of the installed ones. They are stored with it, so give JSON and no
   * secrets; those of an existing session are replaced, plugin by plugin, from the next turn on.
   */
  readonly plugins?: readonly PluginOptions[] | undefined;
}
export { Runtime, RuntimeOptions };
