// What commands that answer HTTP share: where they listen, the token, the addresses that they print, and how they end.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode, RuntimeError } from "../model/errors.ts";
import { defined } from "../model/json.ts";
import { isLoopback } from "../server/guard.ts";
import type { Listening, ListenOptions } from "../server/listen.ts";
import { type ServerOptions, TOKEN_MIN } from "../server/options.ts";
import { type Io, type Settings, UsageError } from "./io.ts";
import { messageOf, printable } from "./text.ts";

export interface ListenSettings extends Settings {
  readonly port?: string | undefined;
  readonly host?: string | undefined;
  /** More names that requests may call the server by, with commas between them. */
  readonly hosts?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly noToken: boolean;
  readonly open: boolean;
}

/** Requests that are being answered have this time to end, before what they use is closed. */
const ANSWERS_MS = 1_000;

/** Where a command listens: the settings, checked. */
export interface ListenPlace {
  readonly host: string;
  readonly port: number | undefined;
  /** For `hosts` of the server. */
  readonly hosts: readonly string[] | undefined;
}

export function listenPlaceOf({ host = LOOPBACK, hosts, port, noToken }: ListenSettings): ListenPlace {
  const checked = portOf(port);
  if (noToken && !isLoopback(host)) throw openToAll(host);
  return { host, port: checked, hosts: hostsOf(host, hosts) };
}

/** The addresses of a server that listens. */
export interface Addresses {
  readonly url: string;
  readonly port: number;
  /** Logs a browser in and shows a page, such as `/studio/`. */
  loginTo(page: string): string;
}

/** Listens, prints, waits until the program is stopped, and ends the requests. */
export async function answerUntil(
  stopped: Promise<void>,
  server: { listen(options: ListenOptions): Promise<Listening> },
  { host, port }: ListenPlace,
  token: string | undefined,
  greet: (addresses: Addresses) => void,
): Promise<void> {
  const listening = await listenOn(server, host, port);
  const url = isEvery(host) ? `http://${LOOPBACK}:${listening.port}` : listening.url;
  const loginTo = (page: string): string => {
    if (token === undefined) return `${url}${page === "/" ? "" : page}`;
    return `${url}/login?t=${token}${page === "/" ? "" : `&to=${page}`}`;
  };
  greet({ url, port: listening.port, loginTo });
  await stopped;
  await Promise.race([listening.close(), sleep(ANSWERS_MS)]);
}

const LOOPBACK = "127.0.0.1";
const PORT = 4_100;
/** How many ports are tried, if none was chosen. */
const PORTS = 100;

function portOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (/^\d{1,5}$/.test(given) && Number(given) <= 65_535) return Number(given);
  throw new UsageError("--port is a whole number from 0 to 65535.", "0 takes any free port.");
}

async function listenOn(
  server: { listen(options: ListenOptions): Promise<Listening> },
  host: string,
  chosen: number | undefined,
): Promise<Listening> {
  for (let port = chosen ?? PORT; ; port++) {
    try {
      return await server.listen({ port, host });
    } catch (error) {
      const isBusy = hasCode(error, "server.listen") && error.message.includes("EADDRINUSE");
      if (!isBusy || chosen !== undefined || port === PORT + PORTS - 1) throw error;
    }
  }
}

function openToAll(host: string): Error {
  const { code, message } = new RuntimeError("server.bind", { host });
  return Object.assign(new Error(`${message} [${code}].`.replace(". [", " [")), {
    code,
    hint: "Leave out --no-token, or listen on 127.0.0.1.",
  });
}

const isEvery = (host: string): boolean => /^(?:0\.0\.0\.0|::|\[::\]|)$/.test(host);

/**
 * The names that requests may call the server by; undefined for those of the loopback interface. Names of this machine
 * are safe: a page of another site that reaches it by a trick names its own site (guard-1).
 */
function hostsOf(host: string, more = ""): readonly string[] | undefined {
  const added = more.split(",").map((each) => each.trim());
  const given = added.filter((each) => each !== "");
  if (given.length === 0 && isLoopback(host)) return undefined;
  const addresses = Object.values(networkInterfaces()).flatMap((each) => (each ?? []).map(({ address }) => address));
  const own = isEvery(host) ? [hostname(), ...addresses] : [host];
  const named = (name: string): string => (name.includes(":") && !/^\[|^[^:]*:\d+$/.test(name) ? `[${name}]` : name);
  return [...new Set(["localhost", LOOPBACK, "[::1]", ...[...own, ...given].map(named)])];
}

/** Opens a browser with `--open`. On a machine without a browser nothing happens. */
export function openBrowser({ stderr }: Io, { open }: ListenSettings, url: string): void {
  if (!open) return;
  const [file, ...args] = { darwin: ["open"], win32: ["rundll32", "url.dll,FileProtocolHandler"] }[
    process.platform as string
  ] ?? ["xdg-open"];
  const child = spawn(file as string, [...args, url], { detached: true, stdio: "ignore" });
  child.on("error", (error) => void stderr.write(`bowline: No browser was opened: ${error.message}.\n`));
  child.unref();
}

// ── The token ───────────────────────────────────────────────────────────────────────────────────────────────────────

export const madeToken = (): string => randomBytes(32).toString("base64url");

/** Who can use the server, for `serve()`: one user, who answers waits under their login name, or whom the app decides. */
export function userOf(
  io: Io,
  settings: ListenSettings,
  own: ServerOptions = {},
): Pick<ServerOptions, "token" | "name"> {
  if (own.authorize !== undefined) return {};
  return defined({ token: own.token ?? tokenOf(io, settings), name: own.name ?? io.user });
}

/** The server's own token: that of `--token-file`, which is made if there is none, or a new one. */
export function tokenOf(io: Io, { tokenFile, noToken }: ListenSettings): string | undefined {
  if (noToken && tokenFile !== undefined)
    throw new UsageError("--no-token and --token-file exclude each other.", "Leave one of them out.");
  if (noToken) return undefined;
  const made = madeToken();
  if (tokenFile === undefined) return made;
  try {
    writeFileSync(resolve(io.cwd, tokenFile), `${made}\n`, { mode: 0o600, flag: "wx" });
    return made;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw unusable(tokenFile, error);
  }
  return tokenIn(io, tokenFile);
}

/** Reads a token from a file. */
export function tokenIn({ cwd, stderr }: Io, shown: string): string {
  const path = resolve(cwd, shown);
  let token: string;
  try {
    token = readFileSync(path, "utf8").trim();
    if ((statSync(path).mode & 0o077) !== 0 && process.platform !== "win32")
      stderr.write(`bowline: ${printable(`Other users can read ${shown}. Deny it: chmod 600 ${shown}`)}\n`);
  } catch (error) {
    throw unusable(shown, error);
  }
  if (token.length >= TOKEN_MIN && /^[\w.~+/=-]+$/.test(token)) return token;
  throw new UsageError(
    `${shown} has no token: at least ${TOKEN_MIN} letters, digits and any of - . _ ~ + / = in one line.`,
    "Delete the file, and the next start makes one.",
  );
}

const unusable = (path: string, error: unknown): Error =>
  Object.assign(new Error(`The token file ${path} cannot be used: ${messageOf(error)}.`, { cause: error }), {
    hint: "Name a file in a folder that this user can write.",
  });
