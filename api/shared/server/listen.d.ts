interface ListenOptions {
  /** Default: 0, which selects any free port. */
  readonly port?: number | undefined;
  /** Default: `127.0.0.1`. Another host needs `token` or `authorize`, and `hosts`. */
  readonly host?: string | undefined;
}
interface Listening {
  /** For example `http://127.0.0.1:4100`. */
  readonly url: string;
  readonly port: number;
  /** Accepts no more requests, ends event streams and waits for running requests. */
  close(): Promise<void>;
}
export { ListenOptions, Listening };
