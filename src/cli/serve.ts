// `bowline serve`: an agent over HTTP, with a chat page.
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { hostname, networkInterfaces } from "node:os";
import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { hasCode, RuntimeError } from "../model/errors.ts";
import { chatPage } from "../server/chat-page.ts";
import { isLoopback } from "../server/guard.ts";
import { type Listening, type Server, serve as serveRuntime } from "../server/index.ts";
import { TOKEN_MIN } from "../server/options.ts";
import { EXIT, type Io, type Settings, UsageError } from "./io.ts";
import { openService, untilStopped } from "./service.ts";
import { explain, jsonFor, messageOf, printable } from "./text.ts";

export interface ServeSettings extends Settings {
  readonly port?: string | undefined;
  readonly host?: string | undefined;
  /** More names by which requests may call the server, separated by commas. */
  readonly hosts?: string | undefined;
  readonly tokenFile?: string | undefined;
  readonly noToken: boolean;
  readonly open: boolean;
}

/** How long running requests may take to end before the runtime closes. */
const ANSWERS_MS = 1_000;

export async function serve(io: Io, settings: ServeSettings): Promise<number> {
  const { host = LOOPBACK, json } = settings;
  const port = portOf(settings.port);
  if (settings.noToken && !isLoopback(host)) throw openToAll(host);
  const { stopped, release } = untilStopped(io);
  try {
    const { runtime, about, where, server: own } = await openService(io, settings);
    try {
      const token = own?.authorize === undefined ? (own?.token ?? tokenOf(io, settings)) : undefined;
      const server = serveRuntime(runtime, {
        hosts: hostsOf(host, settings.hosts),
        page: await chatPage(),
        ...own,
        token,
        onError: (error) => void io.stderr.write(`${explain(error, io.env)}\n`),
      });
      const listening = await listenOn(server, host, port);
      const url = isEvery(host) ? `http://${LOOPBACK}:${listening.port}` : listening.url;
      const login = token === undefined ? url : `${url}/login?t=${token}`;
      if (json) io.stdout.write(`${jsonFor(settings, { url, login, token, port: listening.port, db: where })}\n`);
      else {
        const kept = where === undefined ? "" : `, stored in ${where}`;
        io.stdout.write(`${printable(`Bowline ${io.version} serves ${about}${kept}.`)}\n
  Chat   ${login}
  API    ${url}/v1
  Token  ${token ?? (own?.authorize === undefined ? "none: every program on this machine can use it" : "checked by the app")}\n
Ctrl-C stops it. Turns that still run continue at the next start, or in a worker.\n`);
      }
      if (settings.open) openBrowser(login, (problem) => void io.stderr.write(`bowline: ${problem}\n`));
      await stopped;
      await Promise.race([listening.close(), sleep(ANSWERS_MS)]);
    } finally {
      await runtime.close();
    }
    return EXIT.ok;
  } finally {
    release();
  }
}

// ── Where it listens ────────────────────────────────────────────────────────────────────────────────────────────────

const LOOPBACK = "127.0.0.1";
const PORT = 4_100;
/** How many ports are tried if the user chose none. */
const PORTS = 100;

function portOf(given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (/^\d{1,5}$/.test(given) && Number(given) <= 65_535) return Number(given);
  throw new UsageError("--port is a whole number from 0 to 65535.", "0 takes any free port.");
}

async function listenOn(server: Server, host: string, chosen: number | undefined): Promise<Listening> {
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
 * The names by which requests may call the server; undefined for those of the loopback interface. Names of this machine
 * are safe: a page of another site that reaches it with DNS rebinding sends the name of its own site (guard-1).
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

/** Does nothing on a machine without a browser. */
function openBrowser(url: string, failed: (problem: string) => void): void {
  const [file, ...args] = { darwin: ["open"], win32: ["rundll32", "url.dll,FileProtocolHandler"] }[
    process.platform as string
  ] ?? ["xdg-open"];
  const child = spawn(file as string, [...args, url], { detached: true, stdio: "ignore" });
  child.on("error", (error) => failed(`No browser was opened: ${error.message}.`));
  child.unref();
}

// ── The token ───────────────────────────────────────────────────────────────────────────────────────────────────────

function tokenOf(io: Io, { tokenFile, noToken }: ServeSettings): string | undefined {
  if (noToken && tokenFile !== undefined)
    throw new UsageError("--no-token and --token-file exclude each other.", "Leave one of them out.");
  if (noToken) return undefined;
  const made = randomBytes(32).toString("base64url");
  if (tokenFile === undefined) return made;
  const path = resolve(io.cwd, tokenFile);
  try {
    writeFileSync(path, `${made}\n`, { mode: 0o600, flag: "wx" });
    return made;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw unusable(tokenFile, error);
  }
  return tokenIn(io, path, tokenFile);
}

function tokenIn({ stderr }: Io, path: string, shown: string): string {
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
