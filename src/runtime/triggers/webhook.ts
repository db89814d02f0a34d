// Receives events over HTTP: a handler of web requests that verifies the sender and records the event.
// Not its job: a server, the options (`webhook-options.ts`), and the work that an event starts (`service.ts`).
// webhook-1: At most `bytesMax` of a body is in memory, and the body is parsed only after it is verified.
// webhook-2: A refused sender does not learn the reason. The trace has it.
// webhook-3: It answers after the occurrence and its jobs are stored. A sender without an answer sends again, and a
//    repeated request is the same occurrence.
// webhook-4: It never throws. An error of the runtime is an answer that makes the sender retry.
import { createHmac, timingSafeEqual } from "node:crypto";
import { triggerName } from "../../kernel/trigger.ts";
import type { Awaitable } from "../../model/awaitable.ts";
import { type Code, hasCode, RuntimeError } from "../../model/errors.ts";
import { hashOf } from "../../model/hash.ts";
import { defined, describeThrown, type Json } from "../../model/json.ts";
import { requireWords } from "../checks.ts";
import type { Core } from "../core.ts";
import { occur } from "./service.ts";
import { type Verification, type WebhookOptions, WHSEC } from "./webhook-options.ts";

const BYTES_MAX = 1_048_576;
const TOLERANCE_MS = 300_000;
const KEY_HEADERS = ["webhook-id", "x-github-delivery", "idempotency-key"];

/** Returns the problem of a signature for the trace; undefined for a valid signature. */
type Verify = (body: Uint8Array, request: Request, now: number) => Awaitable<string | undefined>;

/** The handler of a webhook with checked options. */
export function webhook<P>(open: () => Core, options: WebhookOptions<P>): (request: Request) => Promise<Response> {
  const { source, payload: read, key: keyOf, bytesMax = BYTES_MAX } = options;
  const event = triggerName(options.event);
  const verify = verifierOf(options);

  async function take(core: Core, request: Request): Promise<Response> {
    if (request.method !== "POST") throw new RuntimeError("webhook.method", { method: request.method });
    const bytes = await bodyOf(request, bytesMax);
    const problem = await verify(bytes, request, core.world.now());
    if (problem !== undefined) throw new RuntimeError("webhook.signature", {}, { cause: problem }); // webhook-2
    const body = await readable(() => new TextDecoder("utf-8", { fatal: true }).decode(bytes), "it is not UTF-8");
    const payload = await (read === undefined
      ? readable(() => JSON.parse(body) as Json, "it is not JSON")
      : readable(() => read(body, request), "it is not what was expected"));
    const key = await readable(async () => {
      const given = keyOf === undefined ? keyIn(request, body) : await keyOf(body, request);
      requireWords("key", given);
      return given;
    }, "it has no key that can be used");
    const emitOptions = { key, ...defined({ source }) };
    const { occurrence, isNew } = await occur(core, core.background.declared(), event, payload, emitOptions);
    return answer(isNew ? 202 : 200, { occurrence: occurrence.id, isNew });
  }

  return async (request) => {
    let core: Core | undefined;
    try {
      core = open();
      return await take(core, request);
    } catch (error) {
      const refusal = refusalOf(error); // webhook-4
      const { status, code } = refusal;
      const because = error instanceof Error && error.cause !== undefined ? `: ${describeThrown(error.cause)}` : "";
      core?.trace("webhook", { event, status, code, problem: `${describeThrown(error)}${because}` });
      const headers: { readonly [name: string]: string } = status === 405 ? { allow: "POST" } : {};
      return answer(status, { error: { code, message: refusal.message } }, headers);
    }
  };
}

// ── Answers ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const answer = (status: number, body: Json, headers: { readonly [name: string]: string } = {}): Response =>
  Response.json(body, { status, headers });

const STATUS: { readonly [C in Code]?: number } = {
  "webhook.body": 400,
  "trigger.payload": 400,
  "trigger.invalid": 400,
  "options.invalid": 400,
  "webhook.signature": 401,
  "webhook.method": 405,
  "trigger.occurred": 409,
  "webhook.bytes": 413,
  "limit.bytes": 413,
};

/** The answer for a refused request. Internal errors are not explained to the sender. */
function refusalOf(error: unknown): { readonly status: number; readonly code: Code; readonly message: string } {
  const status = error instanceof RuntimeError ? STATUS[error.code as Code] : undefined;
  if (error instanceof RuntimeError && status !== undefined)
    return { status, code: error.code, message: error.message };
  const { code, message } = hasCode(error, "runtime.closed") ? error : new RuntimeError("webhook.failed", {});
  return { status: 503, code, message };
}

// ── Bodies (webhook-1) ───────────────────────────────────────────────────────────────────────────────────────────────

async function bodyOf(request: Request, max: number): Promise<Uint8Array> {
  const tooLong = (): RuntimeError => new RuntimeError("webhook.bytes", { max });
  if (Number(request.headers.get("content-length") ?? 0) > max) throw tooLong();
  if (request.bodyUsed) throw new Error("The body has been read before: pass the request on as it came.");
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = (request.body ?? undefined)?.getReader();
  for (;;) {
    // If the sender disconnects, the body is incomplete.
    const chunk = await readable(async () => (reader === undefined ? undefined : reader.read()), "it was broken off");
    if (chunk?.value === undefined) return Buffer.concat(chunks);
    bytes += chunk.value.byteLength;
    if (bytes > max) {
      reader?.cancel().catch(() => {}); // The rest of the body is not needed.
      throw tooLong();
    }
    chunks.push(chunk.value);
  }
}

/** Runs code that reads the request. An error of this code means that the request is invalid. */
async function readable<T>(run: () => Awaitable<T>, problem: string): Promise<T> {
  try {
    return await run();
  } catch (cause) {
    throw new RuntimeError("webhook.body", { problem }, { cause });
  }
}

function keyIn({ headers }: Request, body: string): string {
  const given = KEY_HEADERS.map((name) => headers.get(name)).find((value) => value !== null && value !== "");
  return given ?? `sha256:${hashOf(body)}`;
}

// ── Signatures (webhook-2) ───────────────────────────────────────────────────────────────────────────────────────────

function verifierOf({ secret, scheme, verify }: Verification): Verify {
  if (verify !== undefined) return (body, request) => allowed(verify, body, request);
  return scheme === "standard" ? byStandard(keyOfSecret(secret)) : byGithub(secret);
}

type OwnVerify = (body: Uint8Array, request: Request) => Awaitable<boolean>;
/** If `verify` throws, the request is refused. */
async function allowed(verify: OwnVerify, body: Uint8Array, request: Request): Promise<string | undefined> {
  try {
    return (await verify(body, request)) === true ? undefined : "`verify` did not return true";
  } catch (error) {
    return `\`verify\` threw: ${describeThrown(error)}`;
  }
}

const byGithub =
  (secret: string): Verify =>
  (body, { headers }) => {
    const [, hex] = /^sha256=([\da-f]{64})$/i.exec(headers.get("x-hub-signature-256") ?? "") ?? [];
    if (hex === undefined) return "there is no signature in x-hub-signature-256";
    const isRight = timingSafeEqual(createHmac("sha256", secret).update(body).digest(), Buffer.from(hex, "hex"));
    return isRight ? undefined : "the signature is another one";
  };

/** https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md */
const byStandard =
  (key: Uint8Array): Verify =>
  (body, { headers }, now) => {
    const [id, sentAt, given] = ["id", "timestamp", "signature"].map((name) => headers.get(`webhook-${name}`) ?? "");
    if (!id || !sentAt || !given) return "webhook-id, webhook-timestamp or webhook-signature is missing";
    if (!/^\d{1,12}$/.test(sentAt) || Math.abs(now - Number(sentAt) * 1_000) > TOLERANCE_MS)
      return "it was signed more than 5 minutes ago, or by another clock";
    const wanted = createHmac("sha256", key).update(`${id}.${sentAt}.`).update(body).digest();
    // A sender that changes its secret signs with the old and the new one.
    const isRight = given.split(" ").some((each) => {
      const [, base64] = /^v1,([\w+/]{43}=)$/.exec(each) ?? [];
      return base64 !== undefined && timingSafeEqual(wanted, Buffer.from(base64, "base64"));
    });
    return isRight ? undefined : "the signature is another one";
  };

function keyOfSecret(secret: string): Uint8Array {
  const [, base64] = WHSEC.exec(secret) ?? [];
  return base64 === undefined ? Buffer.from(secret) : Buffer.from(base64, "base64");
}
