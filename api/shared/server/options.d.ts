import { Adapter } from "./adapter.js";
import { Awaitable } from "../model/awaitable.js";
import { Principal } from "./principal.js";
import { WebhookOptions } from "../runtime/triggers/webhook-options.js";
interface ServerOptions {
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
  readonly webhooks?: {
    readonly [name: string]: WebhookOptions<never>;
  } | undefined;
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
interface Page {
  readonly [path: `/${string}`]: {
    readonly type: string;
    readonly body: string | Uint8Array;
  };
}
interface ServerLimits {
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
export { Page, ServerLimits, ServerOptions };
