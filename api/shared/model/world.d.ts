/** Time and randomness. Every id and time comes from here, so that a test can fix them. */
interface World {
  now(): number;
  /** Resolves early, without an error, when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** The same for periodic work. It does not keep the process alive. */
  rest(ms: number, signal?: AbortSignal): Promise<void>;
  /** A unique id with this prefix. Later ids sort after earlier ones. */
  id(prefix: string): string;
  /** 128 random bits as text, for secret keys. */
  secret(): string;
}
export { World };
