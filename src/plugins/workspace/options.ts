import { resolve } from "node:path";
import type { Schema } from "../../index.ts";
import type { ShellSettings } from "./shell.ts";

export interface ShellOptions {
  /** For a command that names no time of its own; two minutes unless given. */
  readonly timeoutMs?: number;
  /** The most that the model may ask for; ten minutes unless given. */
  readonly timeoutMsMax?: number;
  /** Between asking a command to end and making it end; half a second unless given. */
  readonly graceMs?: number;
  /** Added to PATH, HOME, USER, LANG, LC_ALL, TMPDIR and TZ, which is all that a command is given. */
  readonly env?: Readonly<Record<string, string>>;
  /** Only commands that one of these covers as a whole. */
  readonly allow?: readonly RegExp[];
}

export interface WorkspaceOptions {
  /** The folder that the file tools cannot leave. */
  readonly root: string;
  /** Off unless given. It is no sandbox: a command can do what the process can. */
  readonly shell?: boolean | ShellOptions;
  /** No tool that writes. */
  readonly readonly?: boolean;
  /** What one call returns; 256 KiB unless given. */
  readonly bytesMax?: number;
  /** A file that is written, edited or shown as an image; 16 MiB unless given. */
  readonly fileBytesMax?: number;
  /** Names of folders that are neither listed nor searched; `.git` and `node_modules` unless given. */
  readonly ignore?: readonly string[];
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
const KEYS = ["root", "shell", "readonly", "bytesMax", "fileBytesMax", "ignore"];
const SHELL_KEYS = ["timeoutMs", "timeoutMsMax", "graceMs", "env", "allow"];
const MS_MAX = 86_400_000;

class Wrong extends Error {}

export const optionsSchema: Schema<WorkspaceOptions, Settings> = {
  "~standard": {
    version: 1,
    vendor: "bowline",
    validate(given) {
      try {
        return { value: settingsOf(given) };
      } catch (error) {
        if (error instanceof Wrong) return { issues: [{ message: error.message }] };
        throw error;
      }
    },
  },
};

function settingsOf(given: unknown): Settings {
  const options = objectOf(given, "the options", KEYS);
  const { root, readonly = false, bytesMax = 262_144, fileBytesMax = 16_777_216 } = options;
  const { ignore = [".git", "node_modules"] } = options;
  if (typeof root !== "string" || root === "" || root.includes("\0"))
    throw new Wrong("root must be the path of a folder");
  if (typeof readonly !== "boolean") throw new Wrong("readonly must be true or false");
  if (!Array.isArray(ignore) || !ignore.every((name) => typeof name === "string"))
    throw new Wrong("ignore must be a list of names");
  const shell = shellOf(options.shell ?? false);
  if (readonly && shell !== undefined) throw new Wrong("readonly and shell exclude each other: a command can write");
  return {
    root: resolve(root),
    shell,
    readonly,
    bytesMax: whole(bytesMax, "bytesMax", 1_024, 67_108_864),
    fileBytesMax: whole(fileBytesMax, "fileBytesMax", 1, 268_435_456),
    ignore,
  };
}

function shellOf(given: unknown): ShellSettings | undefined {
  if (given === false) return undefined;
  if (given === true) return SHELL;
  const { timeoutMsMax, timeoutMs, graceMs, env = {}, allow } = objectOf(given, "shell", SHELL_KEYS);
  if (!isObject(env) || !Object.values(env).every((value) => typeof value === "string" && !value.includes("\0")))
    throw new Wrong("shell.env must hold texts");
  if (allow !== undefined && !(Array.isArray(allow) && allow.every((pattern) => pattern instanceof RegExp)))
    throw new Wrong("shell.allow must be a list of regular expressions");
  const most = whole(
    timeoutMsMax ?? Math.max(SHELL.timeoutMsMax, Number(timeoutMs ?? 0)),
    "shell.timeoutMsMax",
    1,
    MS_MAX,
  );
  return {
    timeoutMs: whole(timeoutMs ?? Math.min(SHELL.timeoutMs, most), "shell.timeoutMs", 1, most),
    timeoutMsMax: most,
    graceMs: whole(graceMs ?? SHELL.graceMs, "shell.graceMs", 0, 60_000),
    env: env as Record<string, string>,
    ...(allow === undefined ? {} : { allow: allow as readonly RegExp[] }),
  };
}

const isObject = (given: unknown): given is Readonly<Record<string, unknown>> =>
  typeof given === "object" && given !== null && !Array.isArray(given);

function objectOf(given: unknown, what: string, keys: readonly string[]): Readonly<Record<string, unknown>> {
  if (!isObject(given)) throw new Wrong(`${what} must be an object`);
  const other = Object.keys(given).find((key) => !keys.includes(key));
  if (other !== undefined) throw new Wrong(`${what} cannot hold ${other}; there are ${keys.join(", ")}`);
  return given;
}

function whole(given: unknown, what: string, min: number, max: number): number {
  if (typeof given === "number" && Number.isInteger(given) && given >= min && given <= max) return given;
  throw new Wrong(`${what} must be a whole number from ${min} to ${max}`);
}
