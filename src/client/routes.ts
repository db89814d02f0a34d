// The routes of the server, as the client needs them. A test compares them with the table of the server.
import type { Api, BodyOf, OutputOf, QueryOf, RouteName } from "../server/api.ts";

/** Without the `/v1` that all paths begin with. */
export const ROUTES = {
  health: "GET /health",
  openapi: "GET /openapi.json",
  listSessions: "GET /sessions",
  createSession: "POST /sessions",
  getSession: "GET /sessions/{id}",
  findSession: "GET /sessions/{id}/summary",
  configureSession: "PATCH /sessions/{id}",
  deleteSession: "DELETE /sessions/{id}",
  sessionHistory: "GET /sessions/{id}/history",
  sessionStates: "GET /sessions/{id}/states",
  sessionTools: "GET /sessions/{id}/tools",
  sessionUsage: "GET /sessions/{id}/usage",
  sessionOperations: "GET /sessions/{id}/operations",
  invokeOperation: "POST /sessions/{id}/operations/{name}",
  sessionPlugins: "GET /sessions/{id}/plugins",
  compareSessions: "GET /sessions/{id}/compare/{other}",
  forkSession: "POST /sessions/{id}/fork",
  compactSession: "POST /sessions/{id}/compact",
  cancelSession: "POST /sessions/{id}/cancel",
  sessionEvents: "GET /sessions/{id}/events",
  sendInput: "POST /sessions/{id}/inputs",
  listInputs: "GET /sessions/{id}/inputs",
  withdrawInput: "DELETE /sessions/{id}/inputs/{input}",
  putBlob: "POST /sessions/{id}/blobs",
  getBlob: "GET /sessions/{id}/blobs/{hash}",
  listTurns: "GET /turns",
  getTurn: "GET /turns/{id}",
  turnTimeline: "GET /turns/{id}/timeline",
  turnJournal: "GET /turns/{id}/journal",
  turnEvents: "GET /turns/{id}/events",
  cancelTurn: "POST /turns/{id}/cancel",
  listWaits: "GET /waits",
  getWait: "GET /waits/{id}",
  answerWait: "POST /waits/{id}",
  revokeWait: "DELETE /waits/{id}",
  listJobs: "GET /jobs",
  getJob: "GET /jobs/{id}",
  jobEvents: "GET /jobs/{id}/events",
  cancelJob: "POST /jobs/{id}/cancel",
  signalJob: "POST /jobs/{id}/signals/{name}",
  listTriggers: "GET /triggers",
  runTrigger: "POST /sessions/{id}/triggers/{trigger}/run",
  setTrigger: "PATCH /sessions/{id}/triggers/{trigger}",
  removeTrigger: "DELETE /sessions/{id}/triggers/{trigger}",
  listOccurrences: "GET /occurrences",
  emitEvent: "POST /events/{event}",
  usage: "GET /usage",
  status: "GET /status",
  check: "POST /check",
  events: "GET /events",
} as const satisfies { readonly [N in RouteName]: `${"GET" | "POST" | "PATCH" | "DELETE"} /${string}` };

type ParamsIn<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | ParamsIn<Rest> : never;
/** The names of the parameters in the path of a route. */
export type PathOf<N extends RouteName> = { readonly [P in ParamsIn<(typeof ROUTES)[N]>]: string };

type Given<K extends string, T> = [T] extends [undefined]
  ? unknown
  : Record<never, never> extends T
    ? { readonly [P in K]?: T | undefined }
    : { readonly [P in K]: T };
/** What a request takes besides its path: a query, a body and a signal that aborts it. */
export type RequestOptions<N extends RouteName> = Given<"path", PathOf<N>> &
  Given<"query", Api[N] extends { query: unknown } ? QueryOf<N> : undefined> &
  Given<"body", BodyOf<N>> & { readonly signal?: AbortSignal | undefined };

/** The routes that answer with JSON. `follow`, `observe` and `events` read the streams, and `blobs` the bytes. */
export type JsonRoute = Exclude<
  { [N in RouteName]: OutputOf<N> extends "events" | "bytes" ? never : N }[RouteName],
  "putBlob"
>;
