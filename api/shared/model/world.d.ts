/** Time and chance, handed in so that tests can hold them still. Every id and time stamp comes from here. */
interface World {
  now(): number;
  /** Ends early, without an error, when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** A time-ordered id with this prefix; unique. */
  id(prefix: string): string;
  /** 128 bits that nobody can guess, as text. */
  secret(): string;
}
export { World };
