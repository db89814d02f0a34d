// One request: its URL, its headers, and its errors as `ClientError`. Not its job: retries (`retry.ts`).
import type { Problem, RouteName } from "../server/api.ts";
import { ROUTES } from "./routes.ts";

export interface ClientOptions {
  /** Where the server is, for example `http://127.0.0.1:4100`. A path is allowed, for a server that is mounted below it. */
  readonly url: string;
  /** Sent as `Authorization: Bearer …`. A function is called for each request, so that a token can be renewed. */
  readonly token?: string | (() => string | Promise<string>) | undefined;
  /** Default: the global `fetch`. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** More headers for each request. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /**
   * A stream without data for this many milliseconds is opened again. Default: 45,000. The server sends something every
   * 15 seconds.
   */
  readonly silentMs?: number | undefined;
}

/** Why a request failed: `code`, `hint` and `retry` are those of the server. `client.*` are codes of the client itself. */
export class ClientError extends Error {
  override readonly name = "ClientError";
  readonly code: string;
  /** What to do about the error. */
  readonly hint: string;
  /** Whether trying again can help, as in the errors of the runtime. */
  readonly retry: Problem["retry"];
  /** Omitted if there was no answer. */
  declare readonly status?: number;
  /** How many milliseconds the server asks to wait. */
  declare readonly retryAfterMs?: number;

  constructor({ title, code, hint, retry, status, retryAfterMs }: Said, options?: ErrorOptions) {
    super(title, options);
    this.code = code;
    this.hint = hint;
    this.retry = retry;
    if (status !== undefined) this.status = status;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}
type Said = Pick<Problem, "title" | "code" | "hint" | "retry"> & {
  readonly status?: number | undefined;
  readonly retryAfterMs?: number | undefined;
};

export interface Call {
  readonly path?: { readonly [name: string]: string } | undefined;
  readonly query?: object | undefined;
  readonly body?: unknown;
  readonly headers?: { readonly [name: string]: string } | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Sends a request. Rejects if the answer is an error. */
export type Send = (name: RouteName, call?: Call) => Promise<Response>;

const invalid = (title: string, hint: string): ClientError =>
  new ClientError({ title, code: "client.invalid", hint, retry: "never" });

const OPTIONS = "url, token, fetch, headers, silentMs";

/** Throws `client.invalid`. On a page the URL can be a path. */
function requireValid(options: Partial<ClientOptions> | undefined): void {
  const unknown = Object.keys(options ?? {}).find((name) => !OPTIONS.split(", ").includes(name));
  if (unknown === undefined && /^(?:https?:\/)?\/./.test(String(options?.url))) return;
  throw invalid(`Invalid option \`${unknown ?? "url"}\`.`, `The options are ${OPTIONS}. The URL begins with http:`);
}

export function sender(options: ClientOptions): Send {
  requireValid(options);
  const { url, token, headers, fetch = (...args) => globalThis.fetch(...args) } = options;
  const base = `${String(url).replace(/\/+$/, "")}/v1`;
  return async (name, { path = {}, query = {}, body, headers: more, signal } = {}) => {
    const [method, template] = ROUTES[name].split(" ") as [string, string];
    const target = base + template.replace(/\{(\w+)\}/g, (_, param: string) => pathPart(path[param], param));
    const isBytes = body instanceof Uint8Array || body instanceof Blob;
    const sent = isBytes ? body : JSON.stringify(body);
    const bearer = typeof token === "function" ? await token() : token;
    const all = {
      ...headers,
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(body === undefined || isBytes ? {} : { "content-type": "application/json" }),
      ...more,
    };
    const init = { method, headers: all, body: sent as string, signal: signal ?? null };
    const response = await fetch(target + search(query), init).catch((error: unknown) => {
      throw signal?.aborted === true ? signal.reason : unreachable(error);
    });
    if (response.ok) return response;
    throw await problemIn(response);
  };
}

/** Throws for `.` and `..`, because every URL parser changes the path for them. */
function pathPart(value: string | undefined, param: string): string {
  if (typeof value === "string" && !/^\.{0,2}$/.test(value) && value.isWellFormed()) return encodeURIComponent(value);
  throw invalid(`Invalid ${param}: ${JSON.stringify(value)}.`, "Pass an id of the server.");
}

function search(query: object): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  return given.length === 0 ? "" : `?${new URLSearchParams(given as [string, string][])}`;
}

export const unreachable = (cause: unknown): ClientError =>
  new ClientError(
    {
      title: "The server cannot be reached, or the connection was lost.",
      code: "client.unreachable",
      hint: "Check the URL, and that the server runs. A request that only reads can be repeated.",
      retry: "unchanged",
    },
    { cause },
  );

const PASSING: readonly number[] = [408, 429, 502, 503, 504];

export async function problemIn(response: Response): Promise<ClientError> {
  const { status } = response;
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  const retryAfterMs = seconds >= 0 ? seconds * 1_000 : undefined;
  const problem = (await response.json().catch(() => undefined)) as Partial<Problem> | null | undefined;
  if (typeof problem?.code === "string") return new ClientError({ ...(problem as Problem), status, retryAfterMs });
  return new ClientError({
    title: `Something that is no Bowline server answered with ${status}.`,
    code: "client.answer",
    hint: "Check the URL, and the proxies before the server.",
    retry: PASSING.includes(status) ? "unchanged" : "never",
    status,
    retryAfterMs,
  });
}
