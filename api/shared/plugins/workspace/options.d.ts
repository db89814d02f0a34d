interface ShellOptions {
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
interface WorkspaceOptions {
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
export { ShellOptions, WorkspaceOptions };
