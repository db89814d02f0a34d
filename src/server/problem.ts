// Errors as `application/problem+json`: a status for each code, without details that belong only in the server's logs.
import { type Code, hasCode, RuntimeError } from "../model/errors.ts";
import { Answer } from "./answer.ts";
import type { Problem } from "./api.ts";

const EXACT: { readonly [C in Code]?: number } = {
  "server.unauthorized": 401,
  "server.forbidden": 403,
  "server.origin": 403,
  "server.route": 404,
  "server.body": 413,
  "server.media": 415,
  "server.host": 421,
  "server.busy": 429,
  "server.failed": 500,
  "session.owner": 404, // A session of another owner must look as if it did not exist.
  "session.foreign": 404,
  "session.deleted": 410,
  "wait.expired": 410,
  "turn.no-journal": 410,
  "session.exists": 409,
  "session.busy": 409,
  "session.waiting": 409,
  "tool.generation": 409,
  "input.full": 429,
  "job.full": 429,
  "trigger.full": 429,
  "monitor.full": 429,
  "runtime.closed": 503,
  "lease.lost": 503,
  "store.locked": 503,
  "store.unreachable": 503,
  "store.exhausted": 503,
  "store.full": 507,
  "store.conflict": 409,
  "trigger.disabled": 409,
  "trigger.busy": 409,
};
const BY_ENDING: readonly (readonly [RegExp, number])[] = [
  [/\.(?:unknown|missing)$/, 404],
  [/\.conflict$/, 409],
  [/\.(?:invalid|answer|input|id|foreign|payload|over|signal|arguments|unpaired|reentrant)$/, 400],
  [/^(?:options|operation|input|metadata|extension|fork|job|trigger|wait|output)\./, 400],
];

/** Hints for callers of the API, in place of hints that name calls of the runtime. */
const HINTS: { readonly [C in Code]?: string } = {
  "session.unknown": "Take an id from GET /v1/sessions, or create the session with POST /v1/sessions.",
  "session.exists": "Use another id, or use the existing session.",
  "session.deleted": "Create a session with another id, or without one.",
  "session.waiting": "Answer the wait, which GET /v1/waits lists, or cancel the turn. Then try again.",
  "input.invalid": "Correct what the message names. An input has either `text` or `parts`.",
  "input.full": "Wait until turns end, or withdraw inputs that wait.",
  "turn.unknown": "Take an id from GET /v1/turns, or from the answer to an input.",
  "wait.unknown": "GET /v1/waits lists the open waits. A wait ends with its turn.",
  "job.unknown": "Take an id from GET /v1/jobs.",
  "job.over": "Read its result with GET /v1/jobs/{id}.",
  "fork.unknown": "Take the id of a node from GET /v1/sessions/{id}/history.",
  "cursor.foreign": "Use the cursor of a fact of the same stream, or leave it out.",
  "operation.input": "Send an input that fits the schema. GET /v1/sessions/{id}/operations lists it.",
  "trigger.missing": "Take an id from GET /v1/triggers.",
  "runtime.closed": "Try again later: the server stops or restarts.",
};

export function statusOf(code: Code): number {
  if (code === "options.unknown" || code === "cursor.unknown") return 400;
  return EXACT[code] ?? BY_ENDING.find(([ending]) => ending.test(code))?.[1] ?? 500;
}

/** The error as the caller gets it. An internal error keeps its code and loses its message. */
export function problemOf(error: unknown): Problem {
  const known = error instanceof RuntimeError ? error : new RuntimeError("server.failed", {});
  const shown = hasCode(known, "session.owner") || hasCode(known, "session.foreign") ? unknownSession(known) : known;
  const { code, message, retry } = shown;
  const hint = HINTS[code as Code] ?? shown.hint;
  const status = statusOf(code);
  const title = status >= 500 && status !== 503 && code !== "server.failed" ? `The server failed (${code}).` : message;
  return { type: `urn:bowline:${code}`, title, status, code, hint, retry };
}

const unknownSession = ({ details: { id } }: { readonly details: { readonly id: string } }): RuntimeError =>
  new RuntimeError("session.unknown", { id });

export const problemAnswer = (error: unknown): Answer => {
  const problem = problemOf(error);
  const headers: Record<string, string> = {};
  if (problem.status === 401) headers["www-authenticate"] = "Bearer";
  if (problem.status === 429 || problem.status === 503) headers["retry-after"] = "1";
  return new Answer(JSON.stringify(problem), "application/problem+json", problem.status, headers);
};
