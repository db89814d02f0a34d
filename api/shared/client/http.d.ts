import { Problem } from "../server/api.js";
interface ClientOptions {
  /** Where the server is, for example `http://127.0.0.1:4100`. A path is allowed, for a server that is mounted below it. */
  readonly url: string;
  /** Sent as `Authorization: Bearer …`. A function is called for each request, so that a token can be renewed. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** More headers for each request. */
  readonly headers?: {
    readonly [name: string]: string;
  } | undefined;
  /**
   * A stream without data for this many milliseconds is opened again. Default: 45,000. The server sends something every
   * 15 seconds.
   */
  readonly silentMs?: number | undefined;
}
/** Why a request failed: `code`, `hint` and `retry` are those of the server. `client.*` are codes of the client itself. */
declare class ClientError extends Error {
  readonly name = "ClientError";
  readonly code: string;
  /** What to do about the error. */
  readonly hint: string;
  /** Whether trying again can help, as in the errors of the runtime. */
  readonly retry: Problem["retry"];
  /** Omitted if there was no answer. */
  readonly status?: number;
  /** How many milliseconds the server asks to wait. */
  readonly retryAfterMs?: number;
  constructor({ title, code, hint, retry, status, retryAfterMs }: Said, options?: ErrorOptions);
}
type Said = Pick<Problem, "title" | "code" | "hint" | "retry"> & {
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
};
export { ClientError, ClientOptions };
