// The table of routes. The server, the OpenAPI document and the client are made from it.
import type { Code } from "../model/errors.ts";
import type { JsonObject } from "../model/json.ts";
import type { RouteName } from "./api.ts";

/** The right that a caller needs. `public`: none. */
export type Action = "public" | "read" | "send" | "answer" | "manage";

export interface Route {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  /** Below `/v1`; `{id}` is a parameter. */
  readonly path: string;
  readonly action: Action;
  readonly summary: string;
  /** What `{id}` names. The server checks that the caller owns it, before the handler runs. */
  readonly of?: "session" | "turn" | "wait" | "job";
  readonly query?: { readonly [name: string]: "text" | "count" | "time" | "flag" };
  /** The JSON Schema of the body, or `bytes`. */
  readonly body?: JsonObject | "bytes";
  /** Default: 200. */
  readonly status?: 201 | 202 | 204;
  /** `events`: server-sent events. Default: JSON. */
  readonly answers?: "events" | "bytes";
  /** Errors besides those of every route. */
  readonly errors?: readonly Code[];
}

/** The longest page of a list. */
export const COUNT_MAX = 1_000;

const text = { type: "string" };
const object = (properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});
const anything: JsonObject = {};
const reason = object({ reason: text });
const page = { after: "text", max: "count" } as const;

export const ROUTES: { readonly [N in RouteName]: Route } = {
  health: { method: "GET", path: "/health", action: "public", summary: "Returns whether the server works." },
  openapi: { method: "GET", path: "/openapi.json", action: "public", summary: "This document." },

  // ── Sessions ────────────────────────────────────────────────────────────────────────────────────────────────────
  listSessions: {
    method: "GET",
    path: "/sessions",
    action: "read",
    summary: "Lists sessions.",
    query: {
      ...{ owner: "text", tag: "text", state: "text", parent: "text", origin: "text", order: "text", before: "text" },
      ...{ search: "text", isRoot: "flag" },
      ...page,
    },
    errors: ["cursor.unknown"],
  },
  createSession: {
    method: "POST",
    path: "/sessions",
    action: "send",
    summary: "Creates a session.",
    status: 201,
    body: object({
      id: text,
      kind: { enum: ["fresh", "child", "fork"] },
      from: text,
      tags: { type: "array", items: text },
      owner: text,
      config: { type: "object" },
      ifExists: { enum: ["take"] },
    }),
    errors: ["session.exists", "session.id"],
  },
  getSession: {
    method: "GET",
    path: "/sessions/{id}",
    of: "session",
    action: "read",
    summary: "Reads a session: its messages, its open turn and its waits.",
  },
  findSession: {
    method: "GET",
    path: "/sessions/{id}/summary",
    of: "session",
    action: "read",
    summary: "Reads the list entry of a session.",
  },
  configureSession: {
    method: "PATCH",
    path: "/sessions/{id}",
    of: "session",
    action: "manage",
    summary: "Changes the settings of a session.",
    body: { type: "object" },
  },
  deleteSession: {
    method: "DELETE",
    path: "/sessions/{id}",
    of: "session",
    action: "manage",
    summary: "Deletes a session for good.",
    status: 204,
    errors: ["session.busy"],
  },
  sessionHistory: {
    method: "GET",
    path: "/sessions/{id}/history",
    of: "session",
    action: "read",
    summary: "Reads nodes of all frames, newest first.",
    query: { before: "text", max: "count" },
  },
  sessionStates: {
    method: "GET",
    path: "/sessions/{id}/states",
    of: "session",
    action: "read",
    summary: "Reads the states of plugins.",
  },
  sessionTools: {
    method: "GET",
    path: "/sessions/{id}/tools",
    of: "session",
    action: "read",
    summary: "Lists the tools that the model gets.",
  },
  sessionUsage: {
    method: "GET",
    path: "/sessions/{id}/usage",
    of: "session",
    action: "read",
    summary: "Returns the total spending of the session and its descendants.",
  },
  sessionOperations: {
    method: "GET",
    path: "/sessions/{id}/operations",
    of: "session",
    action: "read",
    summary: "Lists the operations of plugins.",
  },
  invokeOperation: {
    method: "POST",
    path: "/sessions/{id}/operations/{name}",
    of: "session",
    action: "manage",
    summary: "Runs an operation of a plugin.",
    body: object({ kind: { enum: ["query", "command", "task"] }, input: anything, id: text }, ["kind"]),
    errors: ["operation.unknown", "operation.input", "operation.failed"],
  },
  sessionPlugins: {
    method: "GET",
    path: "/sessions/{id}/plugins",
    of: "session",
    action: "read",
    summary: "Lists the plugins of a session, and what each adds.",
  },
  compareSessions: {
    method: "GET",
    path: "/sessions/{id}/compare/{other}",
    of: "session",
    action: "read",
    summary: "Finds the last node that two sessions share.",
  },
  forkSession: {
    method: "POST",
    path: "/sessions/{id}/fork",
    of: "session",
    action: "send",
    summary: "Creates a session that shares the history.",
    status: 201,
    body: object({ at: text, before: text, id: text, label: text }),
    errors: ["fork.unknown", "fork.unpaired", "session.exists"],
  },
  compactSession: {
    method: "POST",
    path: "/sessions/{id}/compact",
    of: "session",
    action: "manage",
    summary: "Begins a new frame with a summary of the conversation.",
    body: object({ instructions: text }),
  },
  cancelSession: {
    method: "POST",
    path: "/sessions/{id}/cancel",
    of: "session",
    action: "send",
    summary: "Cancels the open turn and all waiting inputs.",
    body: reason,
  },
  sessionEvents: {
    method: "GET",
    path: "/sessions/{id}/events",
    of: "session",
    action: "read",
    summary: "Streams the events of a session.",
    query: { after: "text", tree: "flag" },
    answers: "events",
    errors: ["cursor.unknown"],
  },

  // ── Inputs and attachments ──────────────────────────────────────────────────────────────────────────────────────
  sendInput: {
    method: "POST",
    path: "/sessions/{id}/inputs",
    of: "session",
    action: "send",
    summary: "Sends an input: a running turn takes it, or it opens a turn.",
    status: 202,
    body: object({
      text,
      parts: { type: "array", items: anything },
      key: text,
      at: { enum: ["boundary", "next-turn"] },
      metadata: { type: "object" },
    }),
    errors: ["input.conflict", "input.invalid", "input.full"],
  },
  listInputs: {
    method: "GET",
    path: "/sessions/{id}/inputs",
    of: "session",
    action: "read",
    summary: "Lists inputs that no turn has taken.",
  },
  withdrawInput: {
    method: "DELETE",
    path: "/sessions/{id}/inputs/{input}",
    of: "session",
    action: "send",
    summary: "Withdraws an input that waits.",
  },
  putBlob: {
    method: "POST",
    path: "/sessions/{id}/blobs",
    of: "session",
    action: "send",
    summary: "Stores bytes to attach to an input.",
    query: { name: "text" },
    status: 201,
    body: "bytes",
  },
  getBlob: {
    method: "GET",
    path: "/sessions/{id}/blobs/{hash}",
    of: "session",
    action: "read",
    summary: "Reads the bytes of an attachment of the session.",
    answers: "bytes",
  },

  // ── Turns ───────────────────────────────────────────────────────────────────────────────────────────────────────
  listTurns: {
    method: "GET",
    path: "/turns",
    action: "read",
    summary: "Lists turns, newest first.",
    query: {
      ...{ session: "text", owner: "text", state: "text", outcome: "text", model: "text", since: "time" },
      ...{ until: "time" },
      ...page,
    },
    errors: ["cursor.unknown"],
  },
  getTurn: { method: "GET", path: "/turns/{id}", of: "turn", action: "read", summary: "Reads a turn." },
  turnTimeline: {
    method: "GET",
    path: "/turns/{id}/timeline",
    of: "turn",
    action: "read",
    summary: "Reads the timeline of a turn, effect by effect.",
    errors: ["turn.no-journal", "store.corrupt"],
  },
  turnJournal: {
    method: "GET",
    path: "/turns/{id}/journal",
    of: "turn",
    action: "read",
    summary: "Reads the recorded events of a turn.",
    errors: ["turn.no-journal", "store.corrupt"],
  },
  turnEvents: {
    method: "GET",
    path: "/turns/{id}/events",
    of: "turn",
    action: "read",
    summary: "Streams a turn until its end.",
    answers: "events",
  },
  cancelTurn: {
    method: "POST",
    path: "/turns/{id}/cancel",
    of: "turn",
    action: "send",
    summary: "Cancels a turn.",
    body: reason,
  },

  // ── Waits ───────────────────────────────────────────────────────────────────────────────────────────────────────
  listWaits: {
    method: "GET",
    path: "/waits",
    action: "read",
    summary: "Lists the waits of turns and jobs.",
    query: { session: "text", tree: "text", ...page },
  },
  getWait: { method: "GET", path: "/waits/{id}", of: "wait", action: "read", summary: "Reads a wait." },
  answerWait: {
    method: "POST",
    path: "/waits/{id}",
    of: "wait",
    action: "answer",
    summary: "Answers a wait: an approval, or a value.",
    body: object({
      approved: { type: "boolean" },
      reason: text,
      args: anything,
      remember: anything,
      value: anything,
      error: text,
      code: text,
    }),
    errors: ["wait.answer", "wait.expired"],
  },
  revokeWait: {
    method: "DELETE",
    path: "/waits/{id}",
    of: "wait",
    action: "answer",
    summary: "Withdraws a question.",
  },

  // ── Jobs and triggers ───────────────────────────────────────────────────────────────────────────────────────────
  listJobs: {
    method: "GET",
    path: "/jobs",
    action: "read",
    summary: "Lists jobs.",
    query: { session: "text", isLive: "flag", ...page },
  },
  getJob: { method: "GET", path: "/jobs/{id}", of: "job", action: "read", summary: "Reads a job." },
  jobEvents: {
    method: "GET",
    path: "/jobs/{id}/events",
    of: "job",
    action: "read",
    summary: "Reads the events of a job.",
  },
  cancelJob: {
    method: "POST",
    path: "/jobs/{id}/cancel",
    of: "job",
    action: "manage",
    summary: "Cancels a job.",
    body: reason,
  },
  signalJob: {
    method: "POST",
    path: "/jobs/{id}/signals/{name}",
    of: "job",
    action: "manage",
    summary: "Sends a signal to a job.",
    status: 204,
    body: object({ payload: anything, key: text }),
    errors: ["job.invalid", "job.over"],
  },
  listTriggers: {
    method: "GET",
    path: "/triggers",
    action: "read",
    summary: "Lists subscriptions to events and schedules.",
    query: { session: "text" },
  },
  runTrigger: {
    method: "POST",
    path: "/sessions/{id}/triggers/{trigger}/run",
    of: "session",
    action: "manage",
    summary: "Starts the work of a schedule now.",
    body: object({ key: text }),
    errors: ["trigger.missing", "trigger.no-schedule", "trigger.disabled"],
  },
  setTrigger: {
    method: "PATCH",
    path: "/sessions/{id}/triggers/{trigger}",
    of: "session",
    action: "manage",
    summary: "Enables or disables a subscription.",
    body: object({ isEnabled: { type: "boolean" } }, ["isEnabled"]),
    errors: ["trigger.missing"],
  },
  removeTrigger: {
    method: "DELETE",
    path: "/sessions/{id}/triggers/{trigger}",
    of: "session",
    action: "manage",
    summary: "Removes a subscription. Work that it started continues.",
    status: 204,
    errors: ["trigger.missing"],
  },
  listOccurrences: {
    method: "GET",
    path: "/occurrences",
    action: "manage",
    summary: "Lists events and the work that they started, newest first.",
    query: { event: "text", before: "text", max: "count" },
  },
  emitEvent: {
    method: "POST",
    path: "/events/{event}",
    action: "manage",
    summary: "Records an event, which starts the work of its subscriptions.",
    status: 202,
    body: object({ payload: anything, key: text, source: text }),
    errors: ["trigger.unknown", "trigger.payload"],
  },

  // ── Everything ──────────────────────────────────────────────────────────────────────────────────────────────────
  usage: {
    method: "GET",
    path: "/usage",
    action: "read",
    summary: "Returns the spending of turns, by time, model, session and tool.",
    query: { since: "time", until: "time", owner: "text" },
  },
  status: {
    method: "GET",
    path: "/status",
    action: "manage",
    summary: "Reads the state of the store and the workers. Only for callers without an owner.",
  },
  check: {
    method: "POST",
    path: "/check",
    action: "manage",
    summary: "Checks the store for damage, like `bowline doctor`. Only for callers without an owner.",
    body: object({ deep: { type: "boolean" } }),
  },
  events: {
    method: "GET",
    path: "/events",
    action: "read",
    summary: "Streams the facts of all sessions.",
    query: { after: "text", owner: "text", tag: "text" },
    answers: "events",
    errors: ["cursor.unknown", "cursor.foreign"],
  },
};

export const BASE = "/v1";
/** The parameters in the path of a route. */
export const paramsIn = ({ path }: Pick<Route, "path">): readonly string[] =>
  Array.from(path.matchAll(/\{(\w+)\}/g), ([, name]) => name as string);
