import { JobError, JobWake } from "../model/job.js";
import { JobId } from "../model/ids.js";
/** A shell command that is watched line by line. */
interface MonitorSpec {
  /** For `/bin/sh -c`. */
  readonly command: string;
  /** Its name in the session, under which one runs at a time. Default: a generated one. */
  readonly id?: string | undefined;
  /** What it is for, in a few words, for people and models. Default: the command. */
  readonly label?: string | undefined;
  /** The directory in which it runs. Default: that of the process. */
  readonly cwd?: string | undefined;
  /** Added to the environment of the process. It is stored with the session: give no secrets. */
  readonly env?: {
    readonly [name: string]: string;
  } | undefined;
  /**
   * What a line that it prints does to the session: `notify` waits for the next boundary, `wake` opens a turn, `none`
   * leaves it to `takeUpdates`. Further lines wait until the session has taken in the last. What it prints to its standard
   * error only notifies. Default: `notify`.
   */
  readonly wake?: JobWake | undefined;
  /** It is stopped, and has failed, after so long. At most an hour. Default: 5 minutes. */
  readonly timeoutMs?: number | undefined;
  /** It has no time limit. Default: false. */
  readonly isPersistent?: boolean | undefined;
  /** When its process is gone another one starts the command again. Default: false, and it is over then. */
  readonly restarts?: boolean | undefined;
}
/** A monitor that a plugin declares. Its name in the session is `plugin/id`. */
interface MonitorDeclaration extends MonitorSpec {
  readonly id: string;
  /** Whether it starts when somebody first reads the monitors of the session. Default: true. */
  readonly isArmed?: boolean | undefined;
}
/** `idle`: declared, and never started. `starting`: it begins with the answer of the hook or tool that started it. */
type MonitorState = "idle" | "starting" | "running" | "stopped" | "exited" | "failed" | "abandoned";
interface MonitorStatus {
  readonly id: string;
  /** The job that it is; left out while it is idle. */
  readonly jobId?: JobId;
  readonly label: string;
  readonly command: string;
  readonly wake: JobWake;
  readonly isPersistent: boolean;
  readonly state: MonitorState;
  /** How many lines there were, with notes about it before its last line; and that line. */
  readonly lines: number;
  readonly lastLine?: string;
  /** Of a command that ended by itself. */
  readonly exitCode?: number;
  /** Why it failed. */
  readonly error?: JobError;
  /** How often a process began with it: more than once, if it was restarted. */
  readonly starts: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
}
interface MonitorSnapshot {
  /** Another one when anything has changed. */
  readonly revision: string;
  /** How many run. */
  readonly active: number;
  /** By id. Of those that are over, the newest 100. */
  readonly monitors: readonly MonitorStatus[];
}
/** Something that a monitor has to tell. */
interface MonitorUpdate {
  readonly monitor: string;
  /** Counts up from 1 in each run of a monitor; where numbers are missing, lines were dropped. */
  readonly n: number;
  readonly at: number;
  /** `note`: not of the command, but about it, for example how it ended. */
  readonly channel: "out" | "err" | "note";
  readonly text: string;
}
interface MonitorsView {
  /** The monitors of the session as they stand. */
  snapshot(): Promise<MonitorSnapshot>;
}
/** Commands that are watched for a session. Reading them starts those that plugins have armed. */
interface Monitors extends MonitorsView {
  /** Takes the lines that nobody has taken yet, oldest first: the newest 128 of each monitor are kept. */
  takeUpdates(): Promise<readonly MonitorUpdate[]>;
  /**
   * Starts a command, or a declared monitor by its id. In a turn it begins with the answer of the hook or the tool. One
   * that runs is answered as it stands; with another command it is `monitor.conflict`.
   */
  start(spec: MonitorSpec | string): Promise<MonitorStatus>;
  /** Ends the command with all that it has started, and answers how it stands then. */
  stop(id: string, reason?: string): Promise<MonitorStatus>;
}
export { MonitorDeclaration, MonitorSnapshot, MonitorSpec, MonitorStatus, MonitorUpdate, Monitors, MonitorsView };
