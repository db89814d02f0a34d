import { Awaitable } from "../../model/awaitable.js";
import { Json } from "../../model/json.js";
import { Trigger } from "../../kernel/trigger.js";
/** Options of a webhook. A `secret` or `verify` verifies the requests. */
type WebhookOptions<Payload = Json> = {
  /** The event of a request, by its name or declaration. */
  readonly event: string | Trigger<Payload>;
  /** Where the event happened, for subscriptions that name a source. */
  readonly source?: string | undefined;
  /** Makes the payload of the event from the body. If it throws, the answer is 400. Default: the body as JSON. */
  readonly payload?: ((body: string, request: Request) => Awaitable<NoInfer<Payload>>) | undefined;
  /**
   * Identifies the event: a second request with the same key returns the same occurrence. Default: the header
   * `webhook-id`, `x-github-delivery` or `idempotency-key`, or else the hash of the body.
   */
  readonly key?: ((body: string, request: Request) => Awaitable<string>) | undefined;
  /** The longest body, in bytes. Default: 1 MiB. */
  readonly bytesMax?: number | undefined;
} & Verification;
type Verification = {
  /** The secret with which the sender signs. It stays in memory only. */
  readonly secret: string;
  /**
   * `github` (default): `x-hub-signature-256` has the HMAC-SHA256 of the body. `standard`: as in Standard Webhooks,
   * with a time stamp that differs by at most 5 minutes. A secret that begins with `whsec_` is Base64.
   */
  readonly scheme?: "github" | "standard" | undefined;
  readonly verify?: undefined;
} | {
  /** Checks the sender of the request. Only `true` accepts it. The body has been read already: use `body`. */
  readonly verify: (body: Uint8Array, request: Request) => Awaitable<boolean>;
  readonly secret?: undefined;
  readonly scheme?: undefined;
};
export { WebhookOptions };
