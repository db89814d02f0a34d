import { JobError, JobWake } from "../model/job.js";
import { JobId } from "../model/ids.js";
/** A shell command that is watched line by line. */
interface MonitorSpec {
  /** For `/bin/sh -c`. */
  readonly command: string;
  /** Its name in the session. At most one monitor of a name runs at a time. Default: a generated name. */
  readonly id?: string | undefined;
  /** A short description for people and models. Default: the command. */
  readonly label?: string | undefined;
  /** The directory in which it runs. Default: the directory of the process. */
  readonly cwd?: string | undefined;
  /** Variables for the environment of the command. Put no secrets here, because they are stored with the session. */
  readonly env?: {
    readonly [name: string]: string;
  } | undefined;
  /**
   * What a printed line does to the session. `notify`: the line waits for the next boundary. `wake`: it opens a turn.
   * `none`: only `takeUpdates` returns it. Further lines wait until the session has read the last message. A line on
   * standard error never opens a turn. Default: `notify`.
   */
  readonly wake?: JobWake | undefined;
  /**
   * The time limit. When it has passed, the command is ended and the monitor has failed. At most an hour. Default: 5
   * minutes.
   */
  readonly timeoutMs?: number | undefined;
  /** The command has no time limit. Default: false. */
  readonly isPersistent?: boolean | undefined;
  /** If the process dies, another process starts the command again. Default: false, and the monitor is abandoned. */
  readonly restarts?: boolean | undefined;
}
/** A monitor that a plugin declares. Its name in the session is `plugin/id`. */
interface MonitorDeclaration extends MonitorSpec {
  readonly id: string;
  /** Starts the monitor when the monitors of the session are first read. Default: true. */
  readonly isArmed?: boolean | undefined;
}
/** `idle`: declared and never started. `starting`: it starts when the answer of the hook or tool is recorded. */
type MonitorState = "idle" | "starting" | "running" | "stopped" | "exited" | "failed" | "abandoned";
interface MonitorStatus {
  readonly id: string;
  /** The job of the monitor; left out while the monitor is idle. */
  readonly jobId?: JobId;
  readonly label: string;
  readonly command: string;
  readonly wake: JobWake;
  readonly isPersistent: boolean;
  readonly state: MonitorState;
  /** The number of printed lines. Notes before the last line count too. */
  readonly lines: number;
  /** The last printed line. */
  readonly lastLine?: string;
  /** Omitted if the command did not end by itself. */
  readonly exitCode?: number;
  /** Why it failed. */
  readonly error?: JobError;
  /** How often a process began to run the monitor. More than once if it was restarted. */
  readonly starts: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
}
interface MonitorSnapshot {
  /** Differs after every change. */
  readonly revision: string;
  /** The number of running monitors. */
  readonly active: number;
  /** Sorted by id. Of the monitors that have ended, only the newest 100. */
  readonly monitors: readonly MonitorStatus[];
}
/** A line of a monitor. */
interface MonitorUpdate {
  readonly monitor: string;
  /** Counts from 1 in each run of a monitor. A missing number is a dropped line. */
  readonly n: number;
  readonly at: number;
  /** `note`: a remark of the runtime about the command, for example how it ended. */
  readonly channel: "out" | "err" | "note";
  readonly text: string;
}
interface MonitorsView {
  /** The current state of the session's monitors. */
  snapshot(): Promise<MonitorSnapshot>;
  /** The monitors of another session. A query can only read them. */
  of(session: string): MonitorsView;
}
/** Watched commands of a session. Reading them starts the armed monitors of plugins. */
interface Monitors extends MonitorsView {
  /** Returns each line once, oldest first. Only the newest 128 lines of a monitor are kept. */
  takeUpdates(): Promise<readonly MonitorUpdate[]>;
  /**
   * Starts a command, or a declared monitor by its id. In a turn it starts when the answer of the hook or tool is
   * recorded. If the monitor already runs, this returns its status, or throws `monitor.conflict` if the options differ.
   */
  start(spec: MonitorSpec | string): Promise<MonitorStatus>;
  /** Ends the command and all processes that it started, and returns the new status. */
  stop(id: string, reason?: string): Promise<MonitorStatus>;
  /**
   * The same service for another session, as `Jobs.of`. A monitor of another session starts at once, also in a turn.
   */
  of(session: string): Monitors;
}
export { MonitorDeclaration, MonitorSnapshot, MonitorSpec, MonitorStatus, MonitorUpdate, Monitors, MonitorsView };
