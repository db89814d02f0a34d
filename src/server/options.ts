import type { Awaitable } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import { isObject } from "../model/json.ts";
import { type Known, requireKnown } from "../model/known.ts";
import type { WebhookOptions } from "../runtime/triggers/webhook-options.ts";
import { type Adapter, requireAdapters } from "./adapter.ts";
import type { Principal } from "./principal.ts";

export interface ServerOptions {
  /** One secret for one user, as `Authorization: Bearer …`: at least 16 characters. An `undefined` here is an error. */
  readonly token?: string;
  /** The name of the one user, who answers waits under it. Not with `authorize`. Default: `token`, if there is a token. */
  readonly name?: string | undefined;
  /** Returns the sender of a request, or undefined for a 401. Cannot be combined with `token`. */
  readonly authorize?: (request: Request) => Awaitable<Principal | undefined>;
  /** Host names that requests may name, with or without a port. Default: those of the loopback interface. */
  readonly hosts?: readonly string[] | undefined;
  /** Origins of other pages that may call the API, such as `https://app.example.com`. Default: only its own. */
  readonly origins?: readonly string[] | undefined;
  /** Webhooks of events, by their name in the path: `/webhooks/{name}`. They check signatures instead of a token. */
  readonly webhooks?: { readonly [name: string]: WebhookOptions<never> } | undefined;
  /** Files for a browser at the root, such as the chat page of `bowline serve`. */
  readonly page?: Page | undefined;
  /** Mounts the studio at `/studio/`. Default: false. */
  readonly studio?: boolean | undefined;
  /** Further routes for existing clients, such as `uiStream()` for `useChat`. */
  readonly adapters?: readonly Adapter[] | undefined;
  readonly limits?: ServerLimits | undefined;
  /** Receives each error for which the server could not answer a request. Default: prints it on stderr. */
  readonly onError?: ((error: unknown, request: Request) => void) | undefined;
}

/** The files of a page by path: `/` is the first one. */
export interface Page {
  readonly [path: `/${string}`]: { readonly type: string; readonly body: string | Uint8Array };
}

export interface ServerLimits {
  /** The longest JSON body. Default: 1 MiB. */
  readonly bodyBytes?: number | undefined;
  /** The largest attachment. Default: 8 MiB. */
  readonly blobBytes?: number | undefined;
  /** Open event streams of one caller. Default: 64. */
  readonly streams?: number | undefined;
  /** Open event streams in all. Default: 4,096. */
  readonly streamsInAll?: number | undefined;
  /** How many changing requests one caller may send per minute. Default: 600. */
  readonly writesPerMinute?: number | undefined;
  /** How long a client may take to send a request, in milliseconds, with `listen()`. Default: 30,000. */
  readonly requestMs?: number | undefined;
  /** A comment in each event stream this often keeps the connection open, in milliseconds. Default: 15,000. */
  readonly beatMs?: number | undefined;
}
export const LIMITS: { readonly [K in keyof ServerLimits]-?: number } = {
  bodyBytes: 2 ** 20,
  blobBytes: 8 * 2 ** 20,
  streams: 64,
  streamsInAll: 4_096,
  writesPerMinute: 600,
  requestMs: 30_000,
  beatMs: 15_000,
};

const KNOWN: Known<ServerOptions> = {
  ...{ token: true, authorize: true, hosts: true, origins: true, webhooks: true, page: true, limits: true },
  ...{ name: true, studio: true, adapters: true, onError: true },
};
const KNOWN_LIMITS: Known<ServerLimits> = {
  ...{ bodyBytes: true, blobBytes: true, streams: true, streamsInAll: true, writesPerMinute: true },
  ...{ requestMs: true, beatMs: true },
};

export const TOKEN_MIN = 16;
const NAME_MAX = 256;

export function checkedOptions(options: ServerOptions): ServerOptions & { readonly limits: typeof LIMITS } {
  const invalid = (option: string, problem: string): never => {
    throw new RuntimeError("options.invalid", { option, problem });
  };
  if (!isObject(options)) return invalid("options", "it must be an object");
  requireKnown("serve", options, KNOWN);
  const { token, name, authorize, limits = {}, hosts, origins } = options as ServerOptions;
  // Both protect the server. One that is undefined was meant to be there, such as a variable that is not set.
  for (const protection of ["token", "authorize"] as const)
    if (protection in options && options[protection] === undefined) invalid(protection, "it is undefined");
  if (token !== undefined && (typeof token !== "string" || token.length < TOKEN_MIN))
    invalid("token", `it must be text of at least ${TOKEN_MIN} characters`);
  if (authorize !== undefined && typeof authorize !== "function") invalid("authorize", "it must be a function");
  if (token !== undefined && authorize !== undefined) invalid("token", "it cannot be combined with `authorize`");
  if (name !== undefined && (typeof name !== "string" || name === "" || name.length > NAME_MAX))
    invalid("name", `it must be text of 1 to ${NAME_MAX} characters`);
  if (name !== undefined && authorize !== undefined) invalid("name", "it cannot be combined with `authorize`");
  for (const [option, list] of Object.entries({ hosts, origins }))
    if (list !== undefined && !(Array.isArray(list) && list.every((each) => typeof each === "string" && each !== "")))
      invalid(option, "it must be a list of texts");
  if (!["boolean", "undefined"].includes(typeof options.studio)) invalid("studio", "it must be true or false");
  if (options.adapters !== undefined) requireAdapters(options.adapters);
  if (!isObject(limits)) return invalid("limits", "it must be an object");
  requireKnown("serve: limits", limits, KNOWN_LIMITS);
  for (const [option, limit] of Object.entries(limits))
    if (limit !== undefined && !(typeof limit === "number" && limit > 0))
      invalid(`limits.${option}`, "it must be a number above 0");
  const given = Object.fromEntries(Object.entries(limits).filter(([, limit]) => limit !== undefined));
  return { ...(options as ServerOptions), limits: { ...LIMITS, ...given } };
}
