import { resolve } from "node:path";
import { type Fields, optionsSchema } from "../../plugin.ts";
import type { ShellSettings } from "./shell.ts";

export interface ShellOptions {
  /** The time limit of a command if the model sets none, in milliseconds. Default two minutes. */
  readonly timeoutMs?: number | undefined;
  /** The longest time limit that the model can set, in milliseconds. Default ten minutes. */
  readonly timeoutMsMax?: number | undefined;
  /** How long a command has to end between SIGTERM and SIGKILL, in milliseconds. Default 500. */
  readonly graceMs?: number | undefined;
  /** Variables for commands. From this process they inherit only PATH, HOME, USER, LANG, LC_ALL, TMPDIR and TZ. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * A command may run only if one of these expressions matches all of it. Default: all. Options of one session are
   * JSON: there an expression is written `{ pattern: "npm (test|run \\w+)" }`.
   */
  readonly allow?: readonly (RegExp | Pattern)[] | undefined;
}

interface Pattern {
  readonly pattern: string;
}

export interface WorkspaceOptions {
  /** The folder of the workspace. File tools cannot leave it. */
  readonly root: string;
  /** Adds the tool `shell`. Default false. It is not a sandbox: a command can do everything that this process can. */
  readonly shell?: boolean | ShellOptions | undefined;
  /** Omits the tools that write. Default false. */
  readonly readonly?: boolean | undefined;
  /** The maximum size of a call's result, in bytes. Default 256 KiB. */
  readonly bytesMax?: number | undefined;
  /** The largest file that can be written, edited or shown as an image, in bytes. Default 16 MiB. */
  readonly fileBytesMax?: number | undefined;
  /** Names of folders that are neither listed nor searched. Default `.git` and `node_modules`. */
  readonly ignore?: readonly string[] | undefined;
}

export interface Settings {
  readonly root: string;
  readonly shell: ShellSettings | undefined;
  readonly readonly: boolean;
  readonly bytesMax: number;
  readonly fileBytesMax: number;
  readonly ignore: readonly string[];
}

const SHELL: ShellSettings = { timeoutMs: 120_000, timeoutMsMax: 600_000, graceMs: 500, env: {} };
const MS_MAX = 86_400_000;

export const OPTIONS = optionsSchema<WorkspaceOptions, Settings>((given) => {
  given.only("root", "shell", "readonly", "bytesMax", "fileBytesMax", "ignore");
  const readonly = given.flag("readonly", false);
  const shell = shellOf(given);
  if (readonly && shell !== undefined)
    throw given.wrong("must not be given with readonly: a command can write", "shell");
  return {
    root: resolve(given.checked("root", isPath, "the path of a folder")),
    shell,
    readonly,
    bytesMax: given.whole("bytesMax", { min: 1_024, max: 67_108_864 }, 262_144),
    fileBytesMax: given.whole("fileBytesMax", { min: 1, max: 268_435_456 }, 16_777_216),
    ignore: given.texts("ignore", [".git", "node_modules"]),
  };
});

function shellOf(given: Fields): ShellSettings | undefined {
  const chosen = given.value("shell") ?? false;
  if (chosen === false) return undefined;
  if (chosen === true) return SHELL;
  const shell = given.object("shell");
  shell.only("timeoutMs", "timeoutMsMax", "graceMs", "env", "allow");
  const wanted = shell.whole("timeoutMs", { min: 1, max: MS_MAX }, undefined);
  const timeoutMsMax = shell.whole("timeoutMsMax", { min: 1, max: MS_MAX }, Math.max(SHELL.timeoutMsMax, wanted ?? 0));
  const allow = shell.checked("allow", isPatterns, "a list of regular expressions", undefined);
  return {
    timeoutMs: shell.whole("timeoutMs", { min: 1, max: timeoutMsMax }, Math.min(SHELL.timeoutMs, timeoutMsMax)),
    timeoutMsMax,
    graceMs: shell.whole("graceMs", { max: 60_000 }, SHELL.graceMs),
    env: envOf(shell.object("env", undefined)),
    ...(allow === undefined ? {} : { allow: allow.map((each) => expressionOf(each) as RegExp) }),
  };
}

const envOf = (env: Fields | undefined): Readonly<Record<string, string>> =>
  Object.fromEntries(env?.names.map((name) => [name, env.checked(name, isPlain, "a text without NUL")]) ?? []);

const isPlain = (given: unknown): given is string => typeof given === "string" && !given.includes("\0");
const isPath = (given: unknown): given is string => isPlain(given) && given !== "";
const isPatterns = (given: unknown): given is readonly (RegExp | Pattern)[] => {
  try {
    return Array.isArray(given) && given.every((each) => expressionOf(each as RegExp | Pattern) !== undefined);
  } catch {
    return false;
  }
};
const expressionOf = (given: RegExp | Pattern): RegExp | undefined =>
  given instanceof RegExp ? given : typeof given?.pattern === "string" ? new RegExp(given.pattern) : undefined;
