/** The maximum length of the text for the patterns below. No message for a person needs more. */
const WORDS_MAX = 4_000;

/**
 * Secrets are found by the usual prefixes of keys, as credentials in headers and URLs, and after words such as
 * "password:".
 */
const SECRET =
  /\b(?:sk|pk|rk|gsk|xai|hf|r8|pplx|csk)[-_][\w*.-]{6,}|\bAIza[\w*-]{6,}|\b(?:Bearer|Basic|Token)\s+[\w+/=.*~-]{6,}|\beyJ[\w-]{8,}\.[\w.-]+/gi;
const IN_ADDRESS = /(\/\/)[^/\s@]{1,200}@|([?&](?:api[_-]?key|key|token|access_token)=)[^&\s"']+/gi;
const LABELLED =
  /((?:api[ _-]?key|token|authorization|secret|password)\b[^:=]{0,20}[:=]\s*\\?["']?)(?!\[hidden\])[^\s"',\\]{6,}/gi;
const NAMED = /(\bAPI key\s+)(?!is\b|was\b|not\b|for\b|in\b|to\b|or\b|and\b|must\b|has\b|\[hidden\])\S{6,}/gi;

/** Hides texts that look like credentials, because messages in outcomes are stored. */
export const redacted = (words: string): string =>
  words
    .slice(0, WORDS_MAX)
    .replace(SECRET, "[hidden]")
    .replace(IN_ADDRESS, (_, slashes: string | undefined, key: string | undefined) =>
      slashes === undefined ? `${key}[hidden]` : `${slashes}[hidden]@`,
    )
    .replace(LABELLED, "$1[hidden]")
    .replace(NAMED, "$1[hidden]");
