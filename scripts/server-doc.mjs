// Makes the table of routes in docs/server.md from src/server/routes.ts. The rest of the page is written by hand.
import { BASE, ROUTES } from "../src/server/routes.ts";
import { row, sourceOf, table } from "./sources.mjs";

const BEGIN = "<!-- Routes: written by `npm run docs` from the table in src/server/routes.ts. -->";
const END = "<!-- End of the routes. -->";

const takes = ({ query = {}, body }) =>
  [
    ...Object.keys(query).map((name) => `\`?${name}\``),
    ...(body === "bytes" ? ["bytes"] : Object.keys(body?.properties ?? {}).map((name) => `\`${name}\``)),
    ...(body !== undefined && body !== "bytes" && body.properties === undefined ? ["JSON"] : []),
  ].join(" ");

const routes = table(
  ["route", "right", "takes", "what it does"],
  Object.values(ROUTES).map((route) =>
    row(`\`${route.method} ${BASE}${route.path}\``, `\`${route.action}\``, takes(route), route.summary),
  ),
);

/** The page with the current table. */
export function page() {
  const written = sourceOf("docs/server.md");
  const [before, rest] = written.split(BEGIN);
  const [, after] = rest.split(END);
  return `${before}${BEGIN}\n\n${routes}\n\n${END}${after}`;
}
