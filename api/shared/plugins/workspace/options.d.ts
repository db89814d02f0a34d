interface ShellOptions {
  /** How long a command may take that the model gives no time, in milliseconds. Default two minutes. */
  readonly timeoutMs?: number;
  /** The longest time that the model may ask for, in milliseconds. Default ten minutes. */
  readonly timeoutMsMax?: number;
  /** How long a command may take to end after SIGTERM, before SIGKILL, in milliseconds. Default 500. */
  readonly graceMs?: number;
  /** Variables for commands. Of this process's own they get only PATH, HOME, USER, LANG, LC_ALL, TMPDIR and TZ. */
  readonly env?: Readonly<Record<string, string>>;
  /** Only commands that one of these matches from beginning to end may run. Default: all. */
  readonly allow?: readonly RegExp[];
}
interface WorkspaceOptions {
  /** The folder of the workspace. File tools cannot leave it. */
  readonly root: string;
  /** Adds the tool `shell`. Default false. It is no sandbox: a command can do what this process can. */
  readonly shell?: boolean | ShellOptions;
  /** Leaves out the tools that write. Default false. */
  readonly readonly?: boolean;
  /** The most that one call returns, in bytes. Default 256 KiB. */
  readonly bytesMax?: number;
  /** The largest file that can be written, edited or shown as an image, in bytes. Default 16 MiB. */
  readonly fileBytesMax?: number;
  /** Names of folders that are neither listed nor searched. Default `.git` and `node_modules`. */
  readonly ignore?: readonly string[];
}
export { ShellOptions, WorkspaceOptions };
