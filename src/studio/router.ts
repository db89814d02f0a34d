// Where one is in the studio. The place is in the hash of the address, so links can be shared and opened in a tab.
import { signal } from "@preact/signals";

export const PAGES = [
  "sessions",
  "session",
  "turns",
  "turn",
  "waits",
  "jobs",
  "job",
  "schedules",
  "agents",
  "usage",
  "plugins",
  "health",
] as const;
export type PageName = (typeof PAGES)[number];

export interface Route {
  readonly page: PageName;
  /** What the page shows: a session, a turn or a job. Empty for lists. */
  readonly id: string;
  readonly query: { readonly [name: string]: string };
}

type Query = { readonly [name: string]: string | undefined };

/** The address of a page, for links: `#/session/trip-42?node=nod_1`. */
export function href(page: PageName, id = "", query: Query = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== "") as [string, string][];
  const search = given.length === 0 ? "" : `?${new URLSearchParams(given)}`;
  return `#/${page}${id === "" ? "" : `/${encodeURIComponent(id)}`}${search}`;
}

function routeIn(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [name = "", id = ""] = path.split("/", 2);
  const page = PAGES.find((each) => each === name) ?? "sessions";
  return { page, id: decoded(id), query: Object.fromEntries(new URLSearchParams(search)) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const route = signal(routeIn(location.hash));
addEventListener("hashchange", () => {
  route.value = routeIn(location.hash);
});

export const go = (address: string): void => {
  location.hash = address;
};

/** Changes the query of this page, without a step in the history of the browser. */
export function setQuery(query: Query): void {
  const { page, id, query: now } = route.value;
  history.replaceState(null, "", href(page, id, { ...now, ...query }));
  route.value = routeIn(location.hash);
}
