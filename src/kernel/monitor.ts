import { RuntimeError } from "../model/errors.ts";
import type { JobId } from "../model/ids.ts";
import type { JobError, JobWake } from "../model/job.ts";
import { defined, isObject } from "../model/json.ts";
import { type Known, requireKnown } from "../model/known.ts";

/** The task of the jobs that monitors are. Every process can run it. */
export const WATCH = "bowline/monitors.watch";

/** A shell command that is watched line by line. */
export interface MonitorSpec {
  /** For `/bin/sh -c`. */
  readonly command: string;
  /** Its name in the session, under which one runs at a time. Default: a generated one. */
  readonly id?: string | undefined;
  /** What it is for, in a few words, for people and models. Default: the command. */
  readonly label?: string | undefined;
  /** The directory in which it runs. Default: that of the process. */
  readonly cwd?: string | undefined;
  /** Added to the environment of the process. It is stored with the session: give no secrets. */
  readonly env?: { readonly [name: string]: string } | undefined;
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
export interface MonitorDeclaration extends MonitorSpec {
  readonly id: string;
  /** Whether it starts when somebody first reads the monitors of the session. Default: true. */
  readonly isArmed?: boolean | undefined;
}

/** `idle`: declared, and never started. `starting`: it begins with the answer of the hook or tool that started it. */
export type MonitorState = "idle" | "starting" | "running" | "stopped" | "exited" | "failed" | "abandoned";

export interface MonitorStatus {
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

export interface MonitorSnapshot {
  /** Another one when anything has changed. */
  readonly revision: string;
  /** How many run. */
  readonly active: number;
  /** By id. Of those that are over, the newest 100. */
  readonly monitors: readonly MonitorStatus[];
}

/** Something that a monitor has to tell. */
export interface MonitorUpdate {
  readonly monitor: string;
  /** Counts up from 1 in each run of a monitor; where numbers are missing, lines were dropped. */
  readonly n: number;
  readonly at: number;
  /** `note`: not of the command, but about it, for example how it ended. */
  readonly channel: "out" | "err" | "note";
  readonly text: string;
}

export interface MonitorsView {
  /** The monitors of the session as they stand. */
  snapshot(): Promise<MonitorSnapshot>;
}

/** Commands that are watched for a session. Reading them starts those that plugins have armed. */
export interface Monitors extends MonitorsView {
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

/** A monitor with all that was left out. */
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
  if (!isObject(spec)) return wrong("it is no object with a command");
  requireKnown("monitors.start", spec, SPEC);
  const { command, id, label, cwd, env, wake = "notify", timeoutMs = TIMEOUT_MS } = spec;
  const { isPersistent = false, restarts = false } = spec;
  if (!isWords(command, COMMAND_MAX)) wrong(`its command is a text of 1 to ${COMMAND_MAX} characters, without NUL`);
  if (id !== undefined && !isWords(id, ID_MAX)) wrong(`its id is a text of 1 to ${ID_MAX} characters`);
  if (label !== undefined && !isWords(label, LABEL_MAX)) wrong(`its label is a text of 1 to ${LABEL_MAX} characters`);
  if (cwd !== undefined && !isWords(cwd, COMMAND_MAX)) wrong("its cwd is no directory");
  const isEnv =
    env === undefined ||
    (isObject(env) && Object.entries(env).every(([name, value]) => /^[^=\0]+$/.test(name) && isValue(value)));
  if (!isEnv) wrong("its env is an object of texts");
  if (!WAKES.includes(wake)) wrong("its wake is one of none, notify, wake");
  if (!(Number.isInteger(timeoutMs) && timeoutMs >= 1 && timeoutMs <= TIMEOUT_MAX_MS))
    wrong(`its timeoutMs is a whole number from 1 to ${TIMEOUT_MAX_MS}; to watch for longer say isPersistent`);
  if (typeof isPersistent !== "boolean") wrong("its isPersistent is neither true nor false");
  if (typeof restarts !== "boolean") wrong("its restarts is neither true nor false");
  const given = defined({ id, cwd, env: env === undefined ? undefined : { ...env } });
  return { command, label: label ?? firstLine(command), wake, timeoutMs, isPersistent, restarts, ...given };
}

const isValue = (value: unknown): boolean => typeof value === "string" && !value.includes("\0");

const SHOWN = 80;
const firstLine = (command: string): string => {
  const [line = command] = command.trim().split("\n");
  return line.length <= SHOWN ? line : `${line.slice(0, SHOWN)}…`;
};
