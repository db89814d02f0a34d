/** Time and chance. Every id and time stamp comes from here, so that a test can hold them still. */
export interface World {
  now(): number;
  /** Resolves early, without an error, when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** The same for work that comes by itself, again and again. It does not keep the process alive. */
  rest(ms: number, signal?: AbortSignal): Promise<void>;
  /** A unique id with this prefix. Later ids sort after earlier ones. */
  id(prefix: string): string;
  /** 128 random bits as text, for keys that nobody may guess. */
  secret(): string;
}
