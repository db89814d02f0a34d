// The door over HTTP: `bowline/server`. Requests go to the runtime, and events come back as server-sent events.
import { Hono } from "hono";
import { isThenable } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import type { JsonObject } from "../model/json.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { validatorOf } from "../tools/validator.ts";
import type { RouteName } from "./api.ts";
import { jsonOf } from "./body.ts";
import { Caller, Owners } from "./caller.ts";
import { login, principalOf, requireSameSite, SAFE_HEADERS } from "./guard.ts";
import { type Context, HANDLERS } from "./handlers.ts";
import { type Listening, type ListenOptions, listen } from "./listen.ts";
import { openapi } from "./openapi.ts";
import { checkedOptions, type ServerOptions } from "./options.ts";
import { problemResponse } from "./problem.ts";
import { Rates } from "./rates.ts";
import { BASE, ROUTES, type Route } from "./routes.ts";
import { Streams } from "./streams.ts";

export type { Accepted, Api, Health, InputBody, NewSessionBody, Problem, PublicWait } from "./api.ts";
export type { Listening, ListenOptions } from "./listen.ts";
export type { Page, Principal, ServerLimits, ServerOptions } from "./options.ts";
export type { Action } from "./routes.ts";

type Handler = (context: Context<RouteName>) => unknown;

export interface Server {
  /** Answers a request. Mount it in Hono, Next.js, Bun, Deno or anything else that has `Request` and `Response`. */
  fetch(request: Request): Promise<Response>;
  /** Listens on a port of this machine, with Node. */
  listen(options?: ListenOptions): Promise<Listening>;
  /** The OpenAPI 3.1 document of all routes. */
  readonly openapi: JsonObject;
  /** Ends the open event streams, so that clients come back to another process. Turns go on. */
  close(): void;
}

/** Makes a server for a runtime. The runtime stays open when the server is closed. */
export function serve(runtime: Runtime, options: ServerOptions = {}): Server {
  const checked = checkedOptions(options);
  const { limits, webhooks = {}, page = {}, onError } = checked;
  const owners = new Owners(runtime);
  const streams = new Streams(limits);
  const rates = new Rates(limits.writesPerMinute);
  const app = new Hono();

  app.get("/login", ({ req }) => login(req.raw, checked));
  for (const [path, { type, body }] of Object.entries(page))
    app.get(path, () => new Response(body as string, { headers: { "content-type": type } }));
  for (const [name, webhook] of Object.entries(webhooks)) {
    const handle = runtime.triggers.webhook(webhook);
    app.post(`/webhooks/${encodeURIComponent(name)}`, ({ req }) => handle(req.raw));
  }
  for (const [name, route] of Object.entries(ROUTES) as [RouteName, Route][]) {
    const check = route.body === undefined || route.body === "bytes" ? undefined : validatorOf(route.body, name);
    app.on(route.method, BASE + route.path.replace(/\{(\w+)\}/g, ":$1"), async ({ req }) => {
      const request = req.raw;
      const principal = route.action === "public" ? {} : await principalOf(request, checked);
      const caller = new Caller(principal, owners);
      const path = req.param() as { readonly [name: string]: string };
      if (route.method !== "GET" && !rates.allows(caller.name))
        throw new RuntimeError("server.busy", { limit: "writesPerMinute", max: limits.writesPerMinute });
      const session = await sessionOf(runtime, route, path.id);
      if (session !== undefined) await caller.requireSession(session);
      await caller.requireRight(route.action, session);
      const query = queryOf(route, new URL(request.url).searchParams);
      const body = check === undefined ? undefined : await checkedBody(check, await jsonOf(request, limits.bodyBytes));
      const context = { runtime, caller, request, streams, limits, path, id: path.id ?? "", query, body };
      const answer = await (HANDLERS[name] as Handler)(context as unknown as Context<RouteName>);
      if (answer instanceof Response) return answer;
      if (route.status === 204) return new Response(null, { status: 204 });
      return Response.json(answer, { status: route.status ?? 200 });
    });
  }
  app.notFound(({ req }) =>
    problemResponse(new RuntimeError("server.route", { method: req.method, path: req.path.slice(0, 200) })),
  );
  app.onError((error, { req }) => {
    const response = problemResponse(error);
    if (response.status >= 500) report(onError, error, req.raw);
    return response;
  });

  const fetch = async (request: Request): Promise<Response> => {
    try {
      const isWebhook = new URL(request.url).pathname.startsWith("/webhooks/");
      const origin = isWebhook ? undefined : requireSameSite(request, checked);
      if (request.method === "OPTIONS" && origin !== undefined) return preflight(origin);
      return secured(await app.fetch(request), origin);
    } catch (error) {
      return secured(problemResponse(error), undefined);
    }
  };
  return {
    fetch,
    listen: (where) => listen(fetch, checked, where, () => streams.close()),
    openapi,
    close: () => streams.close(),
  };
}

/** The session that a route is about. Throws if there is none. */
async function sessionOf(runtime: Runtime, { of }: Route, id = ""): Promise<string | undefined> {
  switch (of) {
    case undefined:
      return undefined;
    case "session":
      return id;
    case "turn": {
      const turn = await runtime.turns.find(id);
      if (turn === undefined) throw new RuntimeError("turn.unknown", { turnId: id });
      return turn.sessionId;
    }
    case "wait": {
      const wait = await runtime.waits.get({ id });
      if (wait === undefined) throw new RuntimeError("wait.unknown", {});
      return wait.sessionId;
    }
    case "job":
      return (await runtime.jobs.get(id)).sessionId;
  }
}

function queryOf({ query = {} }: Route, given: URLSearchParams): { readonly [name: string]: unknown } {
  const found: { [name: string]: unknown } = {};
  for (const [name, text] of given) {
    const type = Object.hasOwn(query, name) ? query[name] : undefined;
    if (type === undefined)
      throw new RuntimeError("server.invalid", { problem: `unknown parameter \`${name.slice(0, 80)}\`` });
    if (type === "text") found[name] = text;
    else if (type === "flag" && (text === "true" || text === "false")) found[name] = text === "true";
    else if (type === "number" && text !== "" && Number.isFinite(Number(text))) found[name] = Number(text);
    else
      throw new RuntimeError("server.invalid", {
        problem: `\`${name}\` must be a ${type === "flag" ? "true or false" : type}`,
      });
  }
  return found;
}

async function checkedBody(check: ReturnType<typeof validatorOf>, body: JsonObject | object): Promise<unknown> {
  const answer = check(body);
  const result = isThenable(answer) ? await answer : answer;
  if (!result.ok) throw new RuntimeError("server.invalid", { problem: `the body does not fit: ${result.problem}` });
  return body;
}

function secured(response: Response, origin: string | undefined): Response {
  const { headers } = response;
  for (const [name, value] of Object.entries(SAFE_HEADERS)) headers.set(name, value);
  if (origin === undefined) return response;
  headers.set("access-control-allow-origin", origin);
  headers.set("cross-origin-resource-policy", "cross-origin");
  headers.set("vary", "origin");
  return response;
}

const preflight = (origin: string): Response =>
  new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-origin": origin,
      "access-control-allow-methods": "GET, POST, PATCH, DELETE",
      "access-control-allow-headers": "authorization, content-type, last-event-id",
      "access-control-max-age": "600",
      vary: "origin",
    },
  });

function report(onError: ServerOptions["onError"], error: unknown, request: Request): void {
  try {
    onError?.(error, request);
  } catch {
    // A broken log must not change the answer.
  }
}
