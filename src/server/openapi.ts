// The OpenAPI 3.1 document, made from the table of routes.
import type { JsonObject } from "../model/json.ts";
import { BASE, COUNT_MAX, paramsIn, ROUTES, type Route } from "./routes.ts";
import { version } from "./version.ts";

const TYPES = {
  text: { type: "string" },
  count: { type: "integer", minimum: 1, maximum: COUNT_MAX },
  time: { type: "integer", minimum: 0 },
  flag: { type: "boolean" },
} as const;
/** Errors that each route can return. */
const COMMON = [
  "server.unauthorized",
  "server.forbidden",
  "server.host",
  "server.origin",
  "server.invalid",
  "server.failed",
];

function operation(name: string, route: Route): JsonObject {
  const { action, summary, query = {}, body, status = 200, answers, errors = [] } = route;
  const parameters = [
    ...paramsIn(route).map((each) => ({ name: each, in: "path", required: true, schema: TYPES.text })),
    ...Object.entries(query).map(([each, type]) => ({ name: each, in: "query", schema: TYPES[type] })),
  ];
  const type =
    answers === "events" ? "text/event-stream" : answers === "bytes" ? "application/octet-stream" : "application/json";
  const content = { [type]: {} };
  const sent: JsonObject =
    body === "bytes" ? { "application/octet-stream": {} } : { "application/json": { schema: body ?? {} } };
  return {
    operationId: name,
    summary,
    "x-permission": action,
    ...(action === "public" ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: { content: sent } }),
    responses: {
      [status]: { description: summary, ...(status === 204 ? {} : { content }) },
      default: {
        description: `A problem, with a code: ${[...errors, ...COMMON].join(", ")}.`,
        content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
      },
    },
  };
}

const paths: Record<string, Record<string, JsonObject>> = {};
for (const [name, route] of Object.entries(ROUTES))
  (paths[BASE + route.path] ??= {})[route.method.toLowerCase()] = operation(name, route);

export const openapi: JsonObject = {
  openapi: "3.1.0",
  info: { title: "Bowline", version },
  security: [{ token: [] }],
  paths: paths as JsonObject,
  components: {
    securitySchemes: { token: { type: "http", scheme: "bearer" } },
    schemas: {
      Problem: {
        type: "object",
        required: ["type", "title", "status", "code", "hint", "retry"],
        properties: {
          type: TYPES.text,
          title: TYPES.text,
          status: { type: "integer" },
          code: TYPES.text,
          hint: TYPES.text,
          retry: { enum: ["never", "unchanged", "reload", "reopen"] },
        },
      },
    },
  },
};
