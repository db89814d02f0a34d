import { RuntimeError } from "../../model/errors.ts";
import { describeThrown } from "../../model/json.ts";

/** Classifies errors of the server and the driver by what can be done about them. */

const codeOf = (error: unknown): string => {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === "string" ? code : "";
};

/** Codes of lost or failed connections: of the system, and of a server that stops or starts. */
const CUT = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "EAI_AGAIN",
  "57P01", // an administrator ended it
  "57P02", // the server crashed
  "57P03", // the server is starting
  "57P05", // idle for too long
  "25P03", // idle in a transaction for too long
]);
/** The driver has no codes for these errors. */
const CUT_WORDS =
  /Connection terminated|connection error and is not queryable|Query read timeout|Client was closed|server closed the connection|server conn crashed|pgbouncer cannot connect|client_login_timeout|query_wait_timeout/i;

const isOfConnecting = (error: unknown): boolean => (error as NodeJS.ErrnoException).syscall === "connect";
const isOfSocket = (error: unknown): boolean =>
  String((error as { readonly address?: unknown }).address).startsWith("/");
/** Returns whether the system forbids this user to open a connection. */
const isForbidden = (error: unknown): boolean => isOfConnecting(error) && ["EACCES", "EPERM"].includes(codeOf(error));

/** Returns whether the connection was lost. The statement may or may not have been executed. */
export function isCut(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  // A local server that is down has no socket file.
  if (isOfConnecting(error)) return !isForbidden(error);
  return CUT.has(code) || code.startsWith("08") || CUT_WORDS.test(error.message);
}

/** Returns whether no connection was available in the pool or on the server. */
const isExhausted = (error: Error): boolean =>
  codeOf(error) === "53300" || /timeout exceeded when trying to connect/.test(error.message);

/** Returns whether a retry may succeed. */
export const isPassing = (error: unknown): boolean =>
  error instanceof Error && (isCut(error) || isAgainstAnother(error) || isExhausted(error) || isOutdated(error));

/**
 * Returns whether the host is unknown. A name that worked before may be missing for a moment while its host is
 * replaced.
 */
export const isUnknownHost = (error: unknown): boolean => codeOf(error) === "ENOTFOUND";

/** Returns whether two transactions conflicted and one was rolled back. */
const isAgainstAnother = (error: unknown): boolean =>
  error instanceof Undecided || ["40001", "40P01", "55P03", "57014"].includes(codeOf(error));

/** The answer to a COMMIT was lost, and the server is still executing it, because its disk or a replica is slow. */
export class Undecided extends Error {}

/**
 * Returns whether the tables changed after the connection prepared the statement. Another connection plans it again.
 */
export const isOutdated = (error: unknown): boolean =>
  error instanceof Error && codeOf(error) === "0A000" && /cached plan/.test(error.message);

/** Returns whether a pooler sent a prepared statement to a connection that does not have it. */
export const isPreparedLost = (error: unknown): boolean => ["26000", "42P05"].includes(codeOf(error));

/** Returns whether the name of a new table or index is in use. */
export const isTaken = (error: unknown): boolean => ["42P07", "42710"].includes(codeOf(error));

/** Returns whether a table, a column or the whole schema is missing. */
const isMissing = (error: unknown): boolean => ["42P01", "42703", "3F000"].includes(codeOf(error));

/** The driver has no codes for these errors: a missing password, and a server without TLS. */
const NO_PASSWORD = /^SASL: .*client password must be a/;
const REFUSED_WORDS = /^SASL|support SSL connections|establishing an SSL connection/;
/** Codes of TLS errors are words: untrusted certificates and protocols. */
const REFUSED_CODES = /CERT|^ERR_(?:TLS|SSL)/;

export const isDuplicate = (error: unknown): boolean => codeOf(error) === "23505";

/** Converts an error of the server or the driver to one that a caller can act on. Returns other errors unchanged. */
export function typed(error: unknown, store: string, ms: number): unknown {
  if (!(error instanceof Error) || error instanceof RuntimeError) return error;
  const cause = { cause: error };
  const problem = NO_PASSWORD.test(error.message)
    ? "it requires a password, and the URL or pool has none"
    : describeThrown(error);
  const code = codeOf(error);
  if (isExhausted(error)) return new RuntimeError("store.exhausted", { store, problem }, cause);
  if (isUnknownHost(error) || isCut(error)) return new RuntimeError("store.unreachable", { store, problem, ms }, cause);
  if (isAgainstAnother(error)) return new RuntimeError("store.locked", { path: store, ms }, cause);
  if (code === "53100") return new RuntimeError("store.full", { path: store }, cause);
  if (code === "25006") return new RuntimeError("store.readonly", { path: store }, cause);
  if (isForbidden(error) && isOfSocket(error))
    return new RuntimeError("store.refused", { store, problem, isSocket: true }, cause);
  const isRefused = code.startsWith("28") || code === "3D000" || code === "42501" || isForbidden(error);
  if (isRefused || REFUSED_CODES.test(code) || (code === "" && REFUSED_WORDS.test(error.message)))
    return new RuntimeError("store.refused", { store, problem }, cause);
  if (code.startsWith("XX") || isMissing(error))
    return new RuntimeError("store.corrupt", { item: store, problem }, cause);
  // A remaining error with a server code is a failure of the server or a bug in the store.
  return /^[0-9A-Z]{5}$/.test(code) ? new RuntimeError("store.failed", { path: store, problem }, cause) : error;
}
