interface ShellOptions {
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
interface WorkspaceOptions {
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
export { ShellOptions, WorkspaceOptions };
