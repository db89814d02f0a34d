import { describeThrown } from "../../model/json.ts";
import { redacted } from "../../model/redact.ts";
import { ProviderFailure, type ProviderFailureClass } from "../../model/request.ts";
import { type ErrorFacts, factsOf } from "./error-facts.ts";

/**
 * Classifies an error of a model. The error becomes the cause only if its class is unknown and it does not contain the
 * request, which must not get into a log.
 */
export function toFailure(
  thrown: unknown,
  signal?: AbortSignal,
  otherwise: ProviderFailureClass = "unknown",
): ProviderFailure {
  if (signal?.aborted) return new ProviderFailure({ class: "cancelled", message: "The call was cancelled." });
  if (thrown instanceof ProviderFailure) return thrown;
  const facts = factsOf(thrown);
  const kind = classOf(facts) ?? otherwise;
  const retryAfterMs = retryAfter(facts);
  return new ProviderFailure(
    {
      class: kind,
      message: messageOf(facts, kind, thrown),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      ...(isFinal(facts) ? { isRetryable: false } : {}),
    },
    kind === "unknown" && !facts.hasRequest ? { cause: thrown } : undefined,
  );
}

function classOf(facts: ErrorFacts): ProviderFailureClass | undefined {
  return BY_NAME[facts.name] ?? byStatus(facts) ?? find(SENT, facts.words) ?? byNetwork(facts) ?? UNCLEAR[facts.name];
}

const BY_NAME: { readonly [name: string]: ProviderFailureClass } = {
  AI_LoadAPIKeyError: "auth",
  AI_LoadSettingError: "setup",
  AI_NoSuchModelError: "setup",
  AI_NoSuchProviderError: "setup",
  AI_UnsupportedFunctionalityError: "unsupported",
  AI_InvalidPromptError: "request",
  AI_InvalidArgumentError: "request",
  // Detected only by name, because the messages of these two errors quote the reply.
  AI_JSONParseError: "stream",
  AI_TypeValidationError: "stream",
  AbortError: "cancelled",
  ResponseAborted: "cancelled",
  TimeoutError: "timeout",
};

/**
 * Errors of a package that could not parse the provider's answer. They count only if nothing else determines the class.
 */
const UNCLEAR: { readonly [name: string]: ProviderFailureClass } = {
  AI_APICallError: "stream",
  AI_InvalidResponseDataError: "stream",
  AI_EmptyResponseBodyError: "stream",
};

function byStatus({ status, words }: ErrorFacts): ProviderFailureClass | undefined {
  if (status === undefined) return undefined;
  if (status === 401 || status === 403) return "auth";
  if (status === 402 || status === 429) return "rate-limit";
  if (status === 408) return "timeout";
  if (status === 413) return "context-overflow";
  if (status === 501) return "unsupported";
  if (status === 503 || status === 529) return "overloaded";
  if (status >= 500 || status === 409) return "server";
  return find(REFUSED, words) ?? (NOT_THERE.has(status) ? "setup" : "request");
}

/** The model or the API does not exist at this address. */
const NOT_THERE: ReadonlySet<number> = new Set([404, 405, 410]);

type Words = readonly (readonly [RegExp, ProviderFailureClass])[];

/**
 * Words that show why a request was refused, if the status does not. A refusal without these words is `request`,
 * because providers mostly refuse settings and schemas, and hardly ever messages or attachments.
 */
const REFUSED: Words = [
  [
    /context[ _]length|context window|context limit|available context|prompt is too long|input is too long/,
    "context-overflow",
  ],
  [
    /input token count.*exceeds|too many (input )?tokens|reduce the length of the (messages|prompt)/,
    "context-overflow",
  ],
  [/insufficient_quota|credit balance is too low|billing_error/, "rate-limit"],
  [/authentication_error|permission_error|invalid_api_key|api_key_invalid|api key not valid/, "auth"],
  [/model_not_found|model_unavailable|(unknown|invalid|no such) model|\bmodel\b.* (does not exist|not found)/, "setup"],
  [/content_filter|content_policy|content policy|usage polic|invalid_prompt|flagged|moderation/, "input"],
  [
    /(invalid|unsupported|process( the| input)?)[_ ](image|media|file|audio|video)|media[_ ]type|mime[_ ]?type/,
    "input",
  ],
  [/(image|file|document|pdf|audio|video)s? (is |are )?(too (large|many|long|big)|exceed)/, "input"],
];
/** Words in errors inside a stream, which have no status. */
const SENT: Words = [
  ...REFUSED,
  [/rate_limit|resource_exhausted|too many requests/, "rate-limit"],
  [/overloaded|unavailable/, "overloaded"],
  [/server_error|api_error/, "server"],
  [/not_found_error/, "setup"],
  [/invalid_request/, "request"],
];

const find = (table: Words, words: string): ProviderFailureClass | undefined =>
  table.find(([pattern]) => pattern.test(words))?.[1];

const NETWORK = /fetch failed|failed to fetch|terminated|socket hang up|other side closed|network error|cannot connect/;

function byNetwork({ systemCode, words }: ErrorFacts): ProviderFailureClass | undefined {
  if (systemCode !== undefined)
    return systemCode.includes("TIMEOUT") || systemCode === "ETIMEDOUT" ? "timeout" : "network";
  return NETWORK.test(words) ? "network" : undefined;
}

/** Whether the account has no credit left, so that trying again does not help. */
function isFinal(facts: ErrorFacts): boolean {
  return facts.status === 402 || /insufficient_quota|credit balance is too low|billing_error/.test(facts.words);
}

function retryAfter({ headers, retryDelay }: ErrorFacts): number | undefined {
  const ms = Number.parseFloat(headers["retry-after-ms"] ?? "");
  if (ms >= 0) return ms;
  const after = headers["retry-after"]?.trim() ?? "";
  if (/^\d+(\.\d+)?$/.test(after)) return Math.round(Number(after) * 1000);
  const at = Date.parse(after);
  if (!Number.isNaN(at)) {
    const now = Date.parse(headers.date ?? ""); // Uses the server's clock, because the local clock may differ.
    return Math.max(0, at - (Number.isNaN(now) ? Date.now() : now));
  }
  const seconds = /^(\d+(?:\.\d+)?)s$/.exec(retryDelay ?? "")?.[1];
  return seconds === undefined ? undefined : Math.round(Number(seconds) * 1000);
}

function messageOf(facts: ErrorFacts, kind: ProviderFailureClass, thrown: unknown): string {
  if (facts.name === "AI_LoadAPIKeyError") {
    const variable = /\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/.exec(facts.message)?.[0];
    if (variable !== undefined) return `There is no API key: set ${variable}.`;
  }
  if (facts.name === "AI_JSONParseError" || facts.name === "AI_TypeValidationError") {
    return "The provider sent something that its package could not read.";
  }
  if (kind === "network") return `The connection to the provider failed: ${oneLine(facts.innermost)}.`;
  const said = oneLine(facts.message === "" && facts.status === undefined ? describeThrown(thrown) : facts.message);
  if (facts.status === undefined) return said === "" ? `The call failed (${kind}).` : said;
  return said === "" ? `The provider answered with status ${facts.status}.` : `${said} (status ${facts.status})`;
}

const MESSAGE_MAX = 400;

function oneLine(words: string): string {
  const line = redacted(words.slice(0, 4_000).replace(/\s+/g, " ").trim());
  return line.length > MESSAGE_MAX ? `${line.slice(0, MESSAGE_MAX)}…` : line;
}
