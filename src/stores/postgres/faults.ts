import { RuntimeError } from "../../model/errors.ts";
import { describeThrown } from "../../model/json.ts";

/** What the server and the driver throw, by what can be done about it. */

const codeOf = (error: unknown): string => {
  const { code } = Object(error) as { readonly code?: unknown };
  return typeof code === "string" ? code : "";
};

/** Codes of connections that were lost or could not be made: of the system, and of a server that goes or comes up. */
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
/** The driver has no codes for these. */
const CUT_WORDS =
  /Connection terminated|connection error and is not queryable|Query read timeout|Client was closed|server closed the connection|server conn crashed|pgbouncer cannot connect|client_login_timeout|query_wait_timeout/i;

const isOfConnecting = (error: unknown): boolean => (error as NodeJS.ErrnoException).syscall === "connect";
const isOfSocket = (error: unknown): boolean =>
  String((error as { readonly address?: unknown }).address).startsWith("/");
/** Whether the system does not let this user open a connection to the server. */
const isForbidden = (error: unknown): boolean => isOfConnecting(error) && ["EACCES", "EPERM"].includes(codeOf(error));

/** Whether the connection was lost: what was sent over it may or may not have been done. */
export function isCut(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = codeOf(error);
  // The socket of a server on this machine is not there while the server is down.
  if (isOfConnecting(error)) return !isForbidden(error);
  return CUT.has(code) || code.startsWith("08") || CUT_WORDS.test(error.message);
}

/** Whether the pool had no connection to give, or the server none to accept. */
const isExhausted = (error: Error): boolean =>
  codeOf(error) === "53300" || /timeout exceeded when trying to connect/.test(error.message);

/** Whether the same may succeed a moment later. */
export const isPassing = (error: unknown): boolean =>
  error instanceof Error && (isCut(error) || isAgainstAnother(error) || isExhausted(error) || isOutdated(error));

/** Whether there is no such host. Where there was one before, its name is missing for a moment: it is being replaced. */
export const isUnknownHost = (error: unknown): boolean => codeOf(error) === "ENOTFOUND";

/** Whether two transactions were in each other's way, so that one of them was rolled back whole. */
const isAgainstAnother = (error: unknown): boolean =>
  error instanceof Undecided || ["40001", "40P01", "55P03", "57014"].includes(codeOf(error));

/** The answer to a COMMIT was lost, and the server is still at it: its disk or a replica takes its time. */
export class Undecided extends Error {}

/** Whether the tables have changed since the connection prepared the statement: another connection plans it anew. */
export const isOutdated = (error: unknown): boolean =>
  error instanceof Error && codeOf(error) === "0A000" && /cached plan/.test(error.message);

/** Whether a pooler gave the statement to a connection that does not know it, or knows another of its name. */
export const isPreparedLost = (error: unknown): boolean => ["26000", "42P05"].includes(codeOf(error));

/** Whether something has the name that a table or an index is to have. */
export const isTaken = (error: unknown): boolean => ["42P07", "42710"].includes(codeOf(error));

/** Whether a table, a column or the whole schema is gone. */
const isMissing = (error: unknown): boolean => ["42P01", "42703", "3F000"].includes(codeOf(error));

/** The driver has no codes for these: a password that it was not given, and TLS that the server does not speak. */
const NO_PASSWORD = /^SASL: .*client password must be a/;
const REFUSED_WORDS = /^SASL|support SSL connections|establishing an SSL connection/;
/** TLS has codes in words: of certificates that are not trusted, and of protocols. */
const REFUSED_CODES = /CERT|^ERR_(?:TLS|SSL)/;

export const isDuplicate = (error: unknown): boolean => codeOf(error) === "23505";

/** Turns an error of the server or the driver into one that a caller can act on; other errors are left as they are. */
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
  // What is left with a code of the server is one of its failures, or a defect of ours.
  return /^[0-9A-Z]{5}$/.test(code) ? new RuntimeError("store.failed", { path: store, problem }, cause) : error;
}
