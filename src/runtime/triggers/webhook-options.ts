// The options of a webhook. They are checked when the handler is made, so that a mistake shows when the server starts.
import { type Trigger, type TriggerDeclaration, triggerName } from "../../kernel/trigger.ts";
import type { Awaitable } from "../../model/awaitable.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { Json } from "../../model/json.ts";
import { requireOptions, requireWords } from "../checks.ts";

/** Options of a webhook. A `secret` or `verify` verifies the requests. */
export type WebhookOptions<Payload = Json> = {
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

export type Verification =
  | {
      /** The secret with which the sender signs. It stays in memory only. */
      readonly secret: string;
      /**
       * `github` (default): `x-hub-signature-256` has the HMAC-SHA256 of the body. `standard`: as in Standard Webhooks,
       * with a time stamp that differs by at most 5 minutes. A secret that begins with `whsec_` is Base64.
       */
      readonly scheme?: "github" | "standard" | undefined;
      readonly verify?: undefined;
    }
  | {
      /** Checks the sender of the request. Only `true` accepts it. The body has been read already: use `body`. */
      readonly verify: (body: Uint8Array, request: Request) => Awaitable<boolean>;
      readonly secret?: undefined;
      readonly scheme?: undefined;
    };

const OPTIONS: { readonly [K in keyof WebhookOptions]-?: true } = {
  event: true,
  source: true,
  payload: true,
  key: true,
  bytesMax: true,
  secret: true,
  scheme: true,
  verify: true,
};

/** A secret of Standard Webhooks, and its Base64. */
export const WHSEC = /^whsec_(.*)$/s;
const BASE64 = /^(?:[A-Za-z\d+/]{4})*(?:[A-Za-z\d+/]{2}==|[A-Za-z\d+/]{3}=)?$/;

/** Throws for invalid options. */
export function checkedWebhook<P>(options: WebhookOptions<P>, declared: readonly TriggerDeclaration[]): void {
  requireOptions("triggers.webhook", options, OPTIONS);
  requireDeclared(triggerName(options.event), declared);
  const { source, bytesMax = 1 } = options;
  if (source !== undefined) requireWords("source", source);
  for (const option of ["payload", "key"] as const)
    if (options[option] !== undefined && typeof options[option] !== "function")
      invalid(option, "it must be a function");
  if (!(typeof bytesMax === "number" && bytesMax >= 1)) invalid("bytesMax", "it must be a number above 0");
  requireVerification(options);
}

function requireDeclared(event: string, declared: readonly TriggerDeclaration[]): void {
  if (!declared.some(({ name }) => name === event))
    throw new RuntimeError("trigger.unknown", { event, known: declared.map(({ name }) => name) });
}

function requireVerification({ secret, scheme = "github", verify }: Verification): void {
  if (secret !== undefined && verify !== undefined) invalid("verify", "it cannot be combined with `secret`");
  if (verify !== undefined) {
    if (typeof verify !== "function") invalid("verify", "it must be a function");
    return;
  }
  if (secret === undefined)
    invalid("secret", "it is missing (for requests without a signature, write `verify: () => true`)");
  if (typeof secret !== "string" || secret === "") return invalid("secret", "it must be a text");
  if (scheme !== "github" && scheme !== "standard") invalid("scheme", "it must be github or standard");
  const [, base64] = (scheme === "standard" && WHSEC.exec(secret)) || [];
  if (base64 === "" || (base64 !== undefined && !BASE64.test(base64)))
    invalid("secret", "it must be Base64 after `whsec_`");
}

const invalid = (option: string, problem: string): never => {
  throw new RuntimeError("options.invalid", { option, problem });
};
