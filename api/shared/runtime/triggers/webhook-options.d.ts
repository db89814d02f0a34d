import { Awaitable } from "../../model/awaitable.js";
import { Json } from "../../model/json.js";
import { Trigger } from "../../kernel/trigger.js";
/** What a webhook is made from. It says how requests are verified: with a `secret`, or by `verify`. */
type WebhookOptions<Payload = Json> = {
  /** The event that a request says has happened, by its name or declaration. */
  readonly event: string | Trigger<Payload>;
  /** Where it happened, for subscriptions that name a source. */
  readonly source?: string | undefined;
  /** Makes the payload of the event from the body. What it throws is answered with 400. Default: the body as JSON. */
  readonly payload?: ((body: string, request: Request) => Awaitable<NoInfer<Payload>>) | undefined;
  /**
   * Names what happened: the same key again is the same occurrence. Default: the header `webhook-id`,
   * `x-github-delivery` or `idempotency-key`, else the hash of the body.
   */
  readonly key?: ((body: string, request: Request) => Awaitable<string>) | undefined;
  /** The longest body, in bytes. Default: 1 MiB. */
  readonly bytesMax?: number | undefined;
} & Verification;
type Verification = {
  /** What the sender signs with. It is kept in memory alone. */
  readonly secret: string;
  /**
   * `github` (default): `x-hub-signature-256` has the HMAC-SHA256 of the body. `standard`: as Standard Webhooks say, with
   * a time stamp that is at most 5 minutes off; the secret may begin with `whsec_`, and is Base64 then.
   */
  readonly scheme?: "github" | "standard" | undefined;
  readonly verify?: undefined;
} | {
  /** Whether the request is from who it should be. Only `true` lets it in. Its body has been read: it is `body`. */
  readonly verify: (body: Uint8Array, request: Request) => Awaitable<boolean>;
  readonly secret?: undefined;
  readonly scheme?: undefined;
};
export { WebhookOptions };
