import { Api, BodyOf, OutputOf, QueryOf, RouteName } from "../server/api.js";
/** Without the `/v1` that all paths begin with. */
declare const ROUTES: {
  readonly health: "GET /health";
  readonly openapi: "GET /openapi.json";
  readonly listSessions: "GET /sessions";
  readonly createSession: "POST /sessions";
  readonly getSession: "GET /sessions/{id}";
  readonly findSession: "GET /sessions/{id}/summary";
  readonly configureSession: "PATCH /sessions/{id}";
  readonly deleteSession: "DELETE /sessions/{id}";
  readonly sessionHistory: "GET /sessions/{id}/history";
  readonly sessionStates: "GET /sessions/{id}/states";
  readonly sessionTools: "GET /sessions/{id}/tools";
  readonly sessionUsage: "GET /sessions/{id}/usage";
  readonly sessionOperations: "GET /sessions/{id}/operations";
  readonly invokeOperation: "POST /sessions/{id}/operations/{name}";
  readonly sessionPlugins: "GET /sessions/{id}/plugins";
  readonly compareSessions: "GET /sessions/{id}/compare/{other}";
  readonly forkSession: "POST /sessions/{id}/fork";
  readonly compactSession: "POST /sessions/{id}/compact";
  readonly cancelSession: "POST /sessions/{id}/cancel";
  readonly sessionEvents: "GET /sessions/{id}/events";
  readonly sendInput: "POST /sessions/{id}/inputs";
  readonly listInputs: "GET /sessions/{id}/inputs";
  readonly withdrawInput: "DELETE /sessions/{id}/inputs/{input}";
  readonly putBlob: "POST /sessions/{id}/blobs";
  readonly getBlob: "GET /sessions/{id}/blobs/{hash}";
  readonly listTurns: "GET /turns";
  readonly getTurn: "GET /turns/{id}";
  readonly turnTimeline: "GET /turns/{id}/timeline";
  readonly turnJournal: "GET /turns/{id}/journal";
  readonly turnEvents: "GET /turns/{id}/events";
  readonly cancelTurn: "POST /turns/{id}/cancel";
  readonly listWaits: "GET /waits";
  readonly getWait: "GET /waits/{id}";
  readonly answerWait: "POST /waits/{id}";
  readonly revokeWait: "DELETE /waits/{id}";
  readonly listJobs: "GET /jobs";
  readonly getJob: "GET /jobs/{id}";
  readonly jobEvents: "GET /jobs/{id}/events";
  readonly cancelJob: "POST /jobs/{id}/cancel";
  readonly signalJob: "POST /jobs/{id}/signals/{name}";
  readonly listTriggers: "GET /triggers";
  readonly runTrigger: "POST /sessions/{id}/triggers/{trigger}/run";
  readonly setTrigger: "PATCH /sessions/{id}/triggers/{trigger}";
  readonly removeTrigger: "DELETE /sessions/{id}/triggers/{trigger}";
  readonly listOccurrences: "GET /occurrences";
  readonly emitEvent: "POST /events/{event}";
  readonly usage: "GET /usage";
  readonly status: "GET /status";
  readonly check: "POST /check";
  readonly events: "GET /events";
};
type ParamsIn<P extends string> = P extends `${string}{${infer Name}}${infer Rest}` ? Name | ParamsIn<Rest> : never;
/** The names of the parameters in the path of a route. */
type PathOf<N extends RouteName> = { readonly [P in ParamsIn<(typeof ROUTES)[N]>]: string; };
type Given<K extends string, T> = [T] extends [undefined] ? unknown : Record<never, never> extends T ? { readonly [P in K]?: T | undefined; } : { readonly [P in K]: T; };
/** What a request takes besides its path: a query, a body and a signal that gives it up. */
type RequestOptions<N extends RouteName> = Given<"path", PathOf<N>> & Given<"query", Api[N] extends {
  query: unknown;
} ? QueryOf<N> : undefined> & Given<"body", BodyOf<N>> & {
  readonly signal?: AbortSignal | undefined;
};
/** The routes that answer with JSON. `follow`, `observe` and `events` read the streams, and `blobs` the bytes. */
type JsonRoute = Exclude<{ [N in RouteName]: OutputOf<N> extends "events" | "bytes" ? never : N; }[RouteName], "putBlob">;
export { JsonRoute, PathOf, RequestOptions };
