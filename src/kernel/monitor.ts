import { RuntimeError } from "../model/errors.ts";
import type { JobId } from "../model/ids.ts";
import type { JobError, JobWake } from "../model/job.ts";
import { defined, isObject } from "../model/json.ts";
import { type Known, requireKnown } from "../model/known.ts";

/** Every monitor is a job with this task. Every process can run it. */
export const WATCH = "bowline/monitors.watch";

/** A shell command that is watched line by line. */
export interface MonitorSpec {
  /** For `/bin/sh -c`. */
  readonly command: string;
  /** Its name in the session. At most one monitor of a name runs at a time. Default: a generated name. */
  readonly id?: string | undefined;
  /** A short description for people and models. Default: the command. */
  readonly label?: string | undefined;
  /** The directory in which it runs. Default: the directory of the process. */
  readonly cwd?: string | undefined;
  /** Variables for the environment of the command. Put no secrets here, because they are stored with the session. */
  readonly env?: { readonly [name: string]: string } | undefined;
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
export interface MonitorDeclaration extends MonitorSpec {
  readonly id: string;
  /** Starts the monitor when the monitors of the session are first read. Default: true. */
  readonly isArmed?: boolean | undefined;
}

/** `idle`: declared and never started. `starting`: it starts when the answer of the hook or tool is recorded. */
export type MonitorState = "idle" | "starting" | "running" | "stopped" | "exited" | "failed" | "abandoned";

export interface MonitorStatus {
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

export interface MonitorSnapshot {
  /** Differs after every change. */
  readonly revision: string;
  /** The number of running monitors. */
  readonly active: number;
  /** Sorted by id. Of the monitors that have ended, only the newest 100. */
  readonly monitors: readonly MonitorStatus[];
}

/** A line of a monitor. */
export interface MonitorUpdate {
  readonly monitor: string;
  /** Counts from 1 in each run of a monitor. A missing number is a dropped line. */
  readonly n: number;
  readonly at: number;
  /** `note`: a remark of the runtime about the command, for example how it ended. */
  readonly channel: "out" | "err" | "note";
  readonly text: string;
}

export interface MonitorsView {
  /** The current state of the session's monitors. */
  snapshot(): Promise<MonitorSnapshot>;
  /** The monitors of another session. A query can only read them. */
  of(session: string): MonitorsView;
}

/** Watched commands of a session. Reading them starts the armed monitors of plugins. */
export interface Monitors extends MonitorsView {
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

const SPEC: Known<MonitorSpec> = {
  command: true,
  id: true,
  label: true,
  cwd: true,
  env: true,
  wake: true,
  timeoutMs: true,
  isPersistent: true,
  restarts: true,
};
const WAKES: readonly unknown[] = ["none", "notify", "wake"] satisfies JobWake[];
const TIMEOUT_MS = 300_000;
const TIMEOUT_MAX_MS = 3_600_000;
const ID_MAX = 256;
const LABEL_MAX = 1_000;
const COMMAND_MAX = 100_000;

/** A monitor with all defaults. */
export type CheckedMonitor = MonitorSpec & {
  readonly label: string;
  readonly wake: JobWake;
  readonly timeoutMs: number;
  readonly isPersistent: boolean;
  readonly restarts: boolean;
};

/** Throws `monitor.invalid`. */
export function checkedMonitor(spec: MonitorSpec): CheckedMonitor {
  const wrong = (problem: string): never => {
    throw new RuntimeError("monitor.invalid", { problem });
  };
  const isWords = (text: unknown, max: number): boolean =>
    typeof text === "string" && text.trim() !== "" && text.length <= max && !text.includes("\0");
  if (!isObject(spec)) return wrong("it must be an object with a command");
  requireKnown("monitors.start", spec, SPEC);
  const { command, id, label, cwd, env, wake = "notify", timeoutMs = TIMEOUT_MS } = spec;
  const { isPersistent = false, restarts = false } = spec;
  if (!isWords(command, COMMAND_MAX))
    wrong(`its command must be a text of 1 to ${COMMAND_MAX} characters, without NUL`);
  if (id !== undefined && !isWords(id, ID_MAX)) wrong(`its id must be a text of 1 to ${ID_MAX} characters`);
  if (label !== undefined && !isWords(label, LABEL_MAX))
    wrong(`its label must be a text of 1 to ${LABEL_MAX} characters`);
  if (cwd !== undefined && !isWords(cwd, COMMAND_MAX)) wrong("its cwd must be a directory");
  const isEnv =
    env === undefined ||
    (isObject(env) && Object.entries(env).every(([name, value]) => /^[^=\0]+$/.test(name) && isValue(value)));
  if (!isEnv) wrong("its env must be an object of texts");
  if (!WAKES.includes(wake)) wrong("its wake must be none, notify or wake");
  if (!(Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= TIMEOUT_MAX_MS))
    wrong(`its timeoutMs must be a whole number from 1 to ${TIMEOUT_MAX_MS} (to watch for longer, use isPersistent)`);
  if (typeof isPersistent !== "boolean") wrong("its isPersistent must be true or false");
  if (typeof restarts !== "boolean") wrong("its restarts must be true or false");
  const given = defined({ id, cwd, env: env === undefined ? undefined : { ...env } });
  return { command, label: label ?? firstLine(command), wake, timeoutMs, isPersistent, restarts, ...given };
}

const isValue = (value: unknown): boolean => typeof value === "string" && !value.includes("\0");

const SHOWN = 80;
const firstLine = (command: string): string => {
  const [line = command] = command.trim().split("\n");
  return line.length <= SHOWN ? line : `${line.slice(0, SHOWN)}…`;
};
