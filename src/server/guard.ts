// Decides who may send requests, before the server searches for the route.
//
// guard-1 A page on another site must not reach a server on this machine: the name in `Host` must be known (it defends
//         against DNS rebinding), and a browser must not send from another origin.
// guard-2 Tokens are compared in constant time, by their hashes.
import { createHash, timingSafeEqual } from "node:crypto";
import { RuntimeError } from "../model/errors.ts";
import { isObject } from "../model/json.ts";
import type { ServerOptions } from "./options.ts";
import type { Principal } from "./principal.ts";

const LOOPBACK = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]|::1)$/;
/** Whether a host name can only be reached from this machine. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host);

const nameIn = (host: string): string => host.replace(/:\d*$/, "");

/** Throws for a request that the server must not answer (guard-1). Returns the origin that may read the answer. */
export function requireSameSite(
  request: Request,
  url: URL,
  { hosts, origins = [] }: ServerOptions,
): string | undefined {
  const host = (request.headers.get("host") ?? url.host).toLowerCase();
  const isKnown =
    hosts === undefined
      ? isLoopback(nameIn(host))
      : hosts.some((each) => [host, nameIn(host)].includes(each.toLowerCase()));
  if (!isKnown) throw new RuntimeError("server.host", { host: host.slice(0, 100) });
  const origin = request.headers.get("origin");
  const isAllowed = origin !== null && origins.includes(origin);
  if (origin !== null && !isAllowed && !isOwn(origin, host))
    throw new RuntimeError("server.origin", { origin: origin.slice(0, 100) });
  const site = request.headers.get("sec-fetch-site");
  // A link to a page of this server can be on any site. All other requests from other sites are attacks, also those for
  // pictures, because they could hold streams open.
  const isLink = request.method === "GET" && request.headers.get("sec-fetch-mode") === "navigate";
  if (!isAllowed && !isLink && site !== null && site !== "same-origin" && site !== "none")
    throw new RuntimeError("server.origin", { origin: origin ?? site.slice(0, 100) });
  return isAllowed ? origin : undefined;
}

/** The scheme is not compared, because a proxy may have removed TLS. */
function isOwn(origin: string, host: string): boolean {
  try {
    return new URL(origin).host === host;
  } catch {
    return false;
  }
}

const hashed = (text: string): Buffer => createHash("sha256").update(text).digest();
/** The cookie of a browser that has logged in. It does not contain the token itself. */
const cookieValue = (token: string): string => createHash("sha256").update(`cookie ${token}`).digest("base64url");
/** Browsers share cookies between ports, so the name has the port. */
export const cookieName = (url: URL): string => `bowline_${url.port || "80"}`;

export const isSame = (a: string, b: string): boolean => timingSafeEqual(hashed(a), hashed(b)); // guard-2

/** Throws `server.unauthorized` if nobody is known to send the request. */
export async function principalOf(request: Request, { token, name, authorize }: ServerOptions): Promise<Principal> {
  if (authorize !== undefined) {
    const principal = await authorize(request);
    // `false` from `authorize` must not give access.
    if (!isObject(principal)) throw new RuntimeError("server.unauthorized", {});
    return principal;
  }
  if (token === undefined) return { name };
  const user = { name: name ?? "token" };
  const [, bearer] = /^Bearer +(\S+)$/i.exec(request.headers.get("authorization") ?? "") ?? [];
  if (bearer !== undefined && isSame(bearer, token)) return user;
  const cookie = cookieIn(request);
  if (cookie !== undefined && isSame(cookie, cookieValue(token))) return user;
  throw new RuntimeError("server.unauthorized", {});
}

function cookieIn(request: Request): string | undefined {
  const name = cookieName(new URL(request.url));
  for (const part of (request.headers.get("cookie") ?? "").split(/; */)) {
    const [key, value] = part.split("=", 2);
    if (key === name) return value;
  }
  return undefined;
}

/** A page of this server, and a place in it: `//host` and `/\\host` would be another server. */
const OWN_PATH = /^\/(?:[\w-]+\/)*(?:#[!-~]*)?$/;

/**
 * `GET /login?t=<token>&to=/studio/` logs a browser in, and removes the token from its address bar. Default: to `/`.
 */
export function login(request: Request, { token }: ServerOptions): Response {
  const url = new URL(request.url);
  const given = url.searchParams.get("t") ?? "";
  if (token === undefined || !isSame(given, token)) throw new RuntimeError("server.unauthorized", {});
  const to = url.searchParams.get("to") ?? "/";
  if (!OWN_PATH.test(to)) throw new RuntimeError("server.invalid", { problem: "`to` must be a path of this server" });
  const cookie = `${cookieName(url)}=${cookieValue(token)}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000`;
  return new Response(null, { status: 303, headers: { location: to, "set-cookie": cookie } });
}

/** Headers of every answer. Scripts and styles may come from this server only. */
export const SAFE_HEADERS: { readonly [name: string]: string } = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cache-control": "no-store",
};
