import { readFileSync } from "node:fs";
import { serve } from "bowline/server";
import { expect, test } from "vitest";
import { BASE, paramsIn, ROUTES } from "../../src/server/routes.ts";
import { running } from "../kit/worlds.ts";

interface Operation {
  readonly operationId: string;
  readonly security?: readonly object[];
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: string;
    readonly required?: boolean;
    readonly schema: object;
  }[];
  readonly requestBody?: { readonly content: { readonly [type: string]: { readonly schema?: object } } };
  readonly responses: { readonly [status: string]: { readonly description: string; readonly content?: object } };
}
interface Document {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } };
  readonly components: { readonly schemas: object; readonly securitySchemes: object };
}

test("E2 E5 the OpenAPI document has each route of the table, and is valid 3.1", async () => {
  await using runtime = await running();
  const server = serve(runtime);
  const sent = await server.fetch(new Request("http://localhost/v1/openapi.json"));
  const document = (await sent.json()) as Document;
  expect(document).toEqual(JSON.parse(JSON.stringify(server.openapi)));
  expect(document.openapi).toMatch(/^3\.1\.\d+$/);
  expect(Object.values(document.info).every((text) => typeof text === "string" && text !== "")).toBe(true);
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
  );
  expect(operations.map(({ operation }) => operation.operationId).sort()).toEqual(Object.keys(ROUTES).sort());
  for (const { path, method, operation } of operations) {
    const route = ROUTES[operation.operationId as keyof typeof ROUTES];
    expect([method.toUpperCase(), path]).toEqual([route.method, BASE + route.path]);
    const { parameters = [], requestBody, responses, security } = operation;
    const inPath = parameters.filter((each) => each.in === "path");
    expect(inPath.map(({ name, required }) => [name, required])).toEqual(paramsIn(route).map((name) => [name, true]));
    expect(new Set(parameters.map((each) => `${each.in} ${each.name}`)).size).toBe(parameters.length);
    expect(parameters.every(({ schema }) => "type" in schema)).toBe(true);
    expect(requestBody === undefined).toBe(route.body === undefined);
    expect(security).toEqual(route.action === "public" ? [] : undefined);
    for (const [status, { description }] of Object.entries(responses)) {
      expect(status).toMatch(/^(?:2\d\d|default)$/);
      expect(description).not.toBe("");
    }
    expect(Object.keys(responses)).toHaveLength(2);
  }
  for (const [, name] of JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g))
    expect(document.components.schemas).toHaveProperty(name as string);
});

test("E2 E5 the table of routes in the docs is current: if not, run `npm run docs`", async () => {
  // Not by a literal path: a script has no types.
  const { page } = (await import(new URL("../../scripts/server-doc.mjs", import.meta.url).href)) as { page(): string };
  expect(readFileSync("docs/server.md", "utf8")).toBe(page());
  expect(page().match(/^\| `(?:GET|POST|PATCH|DELETE) \/v1/gm)).toHaveLength(Object.keys(ROUTES).length);
});
