interface ShellOptions {
  /** How long a command may take that the model gives no time, in milliseconds. Default two minutes. */
  readonly timeoutMs?: number | undefined;
  /** The longest time that the model may ask for, in milliseconds. Default ten minutes. */
  readonly timeoutMsMax?: number | undefined;
  /** How long a command may take to end after SIGTERM, before SIGKILL, in milliseconds. Default 500. */
  readonly graceMs?: number | undefined;
  /** Variables for commands. Of this process's own they get only PATH, HOME, USER, LANG, LC_ALL, TMPDIR and TZ. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /**
   * Only commands that one of these matches from beginning to end may run. Default: all. Options of one session are
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
  /** Adds the tool `shell`. Default false. It is no sandbox: a command can do what this process can. */
  readonly shell?: boolean | ShellOptions | undefined;
  /** Leaves out the tools that write. Default false. */
  readonly readonly?: boolean | undefined;
  /** The most that one call returns, in bytes. Default 256 KiB. */
  readonly bytesMax?: number | undefined;
  /** The largest file that can be written, edited or shown as an image, in bytes. Default 16 MiB. */
  readonly fileBytesMax?: number | undefined;
  /** Names of folders that are neither listed nor searched. Default `.git` and `node_modules`. */
  readonly ignore?: readonly string[] | undefined;
}
export { ShellOptions, WorkspaceOptions };
