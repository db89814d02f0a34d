// The entry `bowline/server`. It turns HTTP requests into calls of the runtime, and events into server-sent events.
import { Hono, type Context as HonoContext } from "hono";
import { isThenable } from "../model/awaitable.ts";
import { RuntimeError } from "../model/errors.ts";
import { isObject, type JsonObject } from "../model/json.ts";
import type { Runtime } from "../runtime/runtime.ts";
import { validatorOf } from "../tools/validator.ts";
import type { AdapterContext } from "./adapter.ts";
import { Answer, type HeaderList, responseOf } from "./answer.ts";
import type { RouteName } from "./api.ts";
import { Uploads } from "./blobs.ts";
import { jsonOf } from "./body.ts";
import { Caller, Owners } from "./caller.ts";
import { login, principalOf, requireSameSite, SAFE_HEADERS } from "./guard.ts";
import { type Context, HANDLERS } from "./handlers.ts";
import { type Answered, type Listening, type ListenOptions, listen } from "./listen.ts";
import { openapi } from "./openapi.ts";
import { checkedOptions, type Page, type ServerOptions } from "./options.ts";
import { problemAnswer } from "./problem.ts";
import { Rates } from "./rates.ts";
import { BASE, COUNT_MAX, ROUTES, type Route } from "./routes.ts";
import { Streams } from "./streams.ts";
import { STUDIO, studioPage } from "./studio.ts";

export type { Adapter, AdapterContext, AdapterRoute } from "./adapter.ts";
export type { Accepted, Api, Health, InputBody, NewSessionBody, Problem, PublicWait } from "./api.ts";
export type { Caller } from "./caller.ts";
export type { Listening, ListenOptions } from "./listen.ts";
export type { Page, ServerLimits, ServerOptions } from "./options.ts";
export type { Principal } from "./principal.ts";
export type { Action } from "./routes.ts";

type Handler = (context: Context<RouteName>) => unknown;

export interface Server {
  /** Answers a request. Mount it in Hono, Next.js, Bun, Deno or anything else that has `Request` and `Response`. */
  fetch(request: Request): Promise<Response>;
  /** Listens on a port of this machine, with Node. */
  listen(options?: ListenOptions): Promise<Listening>;
  /** The OpenAPI 3.1 document of all routes. */
  readonly openapi: JsonObject;
  /** Ends the open event streams, so that clients connect to another process. Turns continue. */
  close(): void;
}

/** Makes a server for a runtime. The runtime stays open when the server is closed. */
export function serve(runtime: Runtime, options: ServerOptions = {}): Server {
  requireRuntime(runtime);
  const checked = checkedOptions(options);
  const { limits, webhooks = {}, page = {}, studio = false, onError = printError } = checked;
  const owners = new Owners(runtime);
  const uploads = new Uploads();
  const streams = new Streams(limits);
  const rates = new Rates(limits.writesPerMinute);
  const requireRate = ({ name }: Caller, method: string): void => {
    if (method !== "GET" && !rates.allows(name))
      throw new RuntimeError("server.busy", { limit: "writesPerMinute", max: limits.writesPerMinute });
  };
  const app = new Hono();

  app.get("/login", ({ req }) => login(req.raw, checked));
  const file = ({ type, body }: Page[`/${string}`]): Response =>
    new Response(body as string, { headers: { "content-type": type } });
  for (const [path, each] of Object.entries(page)) app.get(path, () => file(each));
  if (studio) {
    const found = async ({ req, notFound }: HonoContext): Promise<Response> => {
      const each = (await studioPage())[req.path as `/${string}`];
      return each === undefined ? notFound() : file(each);
    };
    app.get(STUDIO.slice(0, -1), ({ redirect }) => redirect(STUDIO)); // First, because the next path matches it, too.
    app.get(`${STUDIO}*`, found);
    if (page["/"] === undefined) app.get("/", ({ redirect }) => redirect(STUDIO));
  }
  const hooks = new Map(Object.entries(webhooks).map(([name, each]) => [name, runtime.triggers.webhook(each)]));
  app.post(
    "/webhooks/:name",
    (context) => hooks.get(context.req.param("name"))?.(context.req.raw) ?? context.notFound(),
  );
  for (const [name, route] of Object.entries(ROUTES) as [RouteName, Route][]) {
    const check = route.body === undefined || route.body === "bytes" ? undefined : validatorOf(route.body, name);
    app.on(route.method, BASE + route.path.replace(/\{(\w+)\}/g, ":$1"), async ({ req }) => {
      const request = req.raw;
      const principal = route.action === "public" ? {} : await principalOf(request, checked);
      const caller = new Caller(principal, owners);
      const path = req.param() as { readonly [name: string]: string };
      requireRate(caller, route.method);
      const session = await sessionOf(runtime, caller, route, path.id);
      await caller.requireRight(route.action, session);
      const query = queryOf(route, request.url);
      const body =
        check === undefined ? undefined : await checkedBody(check, route.body, await jsonOf(request, limits.bodyBytes));
      const context = { runtime, caller, request, streams, uploads, limits, path, id: path.id ?? "", query, body };
      const answer = await (HANDLERS[name] as Handler)(context as unknown as Context<RouteName>);
      if (answer instanceof Response) return answer;
      if (route.status === 204) return new Response(null, { status: 204 });
      // Returns a response that Hono passes on.
      return new Answer(JSON.stringify(answer), "application/json", route.status ?? 200) as unknown as Response;
    });
  }
  for (const { routes } of checked.adapters ?? [])
    for (const route of routes)
      app.on(route.method, route.path.replace("{id}", ":id"), async ({ req }) => {
        const request = req.raw;
        const caller = new Caller(await principalOf(request, checked), owners);
        requireRate(caller, route.method);
        const body = route.method === "POST" ? await jsonOf(request, limits.bodyBytes) : {};
        const stream: AdapterContext["stream"] = (open, headers) =>
          streams.answerText(request, caller.name, open, headers);
        return route.answer({ runtime, caller, request, id: req.param("id") ?? "", body, stream });
      });
  app.notFound(({ req }) => {
    throw new RuntimeError("server.route", { method: req.method, path: req.path.slice(0, 200) });
  });
  app.onError((error) => {
    throw error;
  });

  const answer = async (request: Request): Promise<Answered> => {
    let common = SAFE_HEADERS;
    try {
      const url = new URL(request.url);
      const origin = url.pathname.startsWith("/webhooks/") ? undefined : requireSameSite(request, url, checked);
      if (origin !== undefined) common = { ...SAFE_HEADERS, ...corsOf(origin) };
      const isPreflight = request.method === "OPTIONS" && origin !== undefined;
      return { answer: isPreflight ? preflight() : await app.fetch(request), common };
    } catch (error) {
      const problem = problemAnswer(error);
      if (problem.status >= 500) report(onError, error, request);
      return { answer: problem, common };
    }
  };
  const fetch = async (request: Request): Promise<Response> => {
    const { answer: found, common } = await answer(request);
    return responseOf(found, common);
  };
  return {
    fetch,
    listen: (where) => listen({ answer, endStreams: () => streams.close() }, checked, where),
    openapi,
    close: () => streams.close(),
  };
}

/** Each request would fail on what is not a runtime, such as a runtime in an object. */
function requireRuntime(runtime: unknown): void {
  if (!isObject(runtime) || !isObject(runtime.sessions) || !isObject(runtime.waits))
    throw new RuntimeError("options.invalid", { option: "runtime", problem: "it must be a runtime" });
}

const unknown: { readonly [O in NonNullable<Route["of"]>]: (id: string) => RuntimeError } = {
  session: (id) => new RuntimeError("session.unknown", { id }),
  turn: (turnId) => new RuntimeError("turn.unknown", { turnId }),
  wait: () => new RuntimeError("wait.unknown", {}),
  job: (id) => new RuntimeError("job.unknown", { id }),
};

/** The session of a route's path. Sessions of other owners look as if they did not exist. */
async function sessionOf(runtime: Runtime, caller: Caller, { of }: Route, id = ""): Promise<string | undefined> {
  if (of === undefined) return undefined;
  const session = await holderOf(runtime, of, id);
  if (session === undefined || !(await caller.owns(session))) throw unknown[of](id);
  return session;
}

async function holderOf(runtime: Runtime, of: NonNullable<Route["of"]>, id: string): Promise<string | undefined> {
  switch (of) {
    case "session":
      return id;
    case "turn":
      return (await runtime.turns.find(id))?.sessionId;
    case "wait":
      return runtime.waits.sessionOf({ id });
    case "job":
      return (await runtime.jobs.get(id)).sessionId;
  }
}

function queryOf({ query = {} }: Route, url: string): { readonly [name: string]: unknown } {
  const found: { [name: string]: unknown } = {};
  if (!url.includes("?")) return found;
  for (const [name, text] of new URL(url).searchParams) {
    const type = Object.hasOwn(query, name) ? query[name] : undefined;
    if (type === undefined)
      throw new RuntimeError("server.invalid", { problem: `unknown parameter \`${name.slice(0, 80)}\`` });
    if (type === "text") found[name] = text;
    else if (type === "flag" && (text === "true" || text === "false")) found[name] = text === "true";
    else if (type === "time" && /^\d{1,15}$/.test(text)) found[name] = Number(text);
    else if (type === "count" && /^\d{1,4}$/.test(text) && Number(text) >= 1 && Number(text) <= COUNT_MAX)
      found[name] = Number(text);
    else throw new RuntimeError("server.invalid", { problem: `\`${name}\` must be ${MUST_BE[type]}` });
  }
  return found;
}

const MUST_BE = {
  flag: "true or false",
  time: "a time in milliseconds since 1970",
  count: `a whole number from 1 to ${COUNT_MAX}`,
};

async function checkedBody(
  check: ReturnType<typeof validatorOf>,
  schema: Route["body"],
  body: { readonly [field: string]: unknown },
): Promise<unknown> {
  const { properties, additionalProperties } = schema as { properties?: object; additionalProperties?: false };
  const fields = Object.keys(properties ?? {});
  const extra = additionalProperties === false && Object.keys(body).find((field) => !fields.includes(field));
  if (typeof extra === "string")
    throw new RuntimeError("server.invalid", {
      problem: `unknown field \`${extra.slice(0, 80)}\`; the fields are ${fields.join(", ")}`,
    });
  const answer = check(body);
  const result = isThenable(answer) ? await answer : answer;
  if (!result.ok)
    throw new RuntimeError("server.invalid", {
      problem: `the body does not fit: ${result.problem.replace(/^the arguments /, "it ")}`,
    });
  return body;
}

const corsOf = (origin: string): HeaderList => ({
  "access-control-allow-origin": origin,
  "access-control-expose-headers": "retry-after",
  "cross-origin-resource-policy": "cross-origin",
  vary: "origin",
});

const preflight = (): Response =>
  new Response(null, {
    status: 204,
    headers: {
      "access-control-allow-methods": "GET, POST, PATCH, DELETE",
      "access-control-allow-headers": "authorization, content-type, last-event-id",
      "access-control-max-age": "600",
    },
  });

/** The hint of an error without a message refers to the logs of the server, so there is a log by default. */
const printError = (error: unknown): void => console.error(error);

function report(onError: NonNullable<ServerOptions["onError"]>, error: unknown, request: Request): void {
  try {
    onError(error, request);
  } catch {
    // A listener of errors that throws must not change the answer.
  }
}
