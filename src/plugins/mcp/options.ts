import { type Availability, described, type Fields, optionsSchema } from "../../plugin.ts";

type Awaitable<T> = T | PromiseLike<T>;
export type McpHeaders = { readonly [name: string]: string };

interface Common {
  /** Only these tools are offered, by the names that the server gives them. Default: all. */
  readonly include?: readonly string[] | undefined;
  /** These tools are not offered, by the names that the server gives them. */
  readonly exclude?: readonly string[] | undefined;
  /** How tools are offered. Default `callable`; use `searchable` for servers with very many tools. */
  readonly availability?: Availability | undefined;
  /** Whether each call of this server runs alone, and not in parallel with other calls. Default false. */
  readonly isSerial?: boolean | undefined;
  /** How long a turn or a call waits for a connection that is not ready yet, in milliseconds. Default 5 seconds. */
  readonly connectMs?: number | undefined;
  /** How long one attempt to start the server may take, in milliseconds. Default 30 seconds. */
  readonly startMs?: number | undefined;
  /**
   * A call that is silent for this long fails, in milliseconds. Each progress message restarts the time. Default 60
   * seconds.
   */
  readonly idleMs?: number | undefined;
  /** How long a call may take in all, in milliseconds. Default 10 minutes. */
  readonly totalMs?: number | undefined;
  /** The largest result that is accepted, in bytes. Default 16 MiB. */
  readonly resultBytesMax?: number | undefined;
}
/** A server that runs as a child process, with messages over stdin and stdout. */
export interface McpProcess extends Common {
  /** The program to start, by its path or its name in PATH. */
  readonly command: string;
  /** The program's arguments. */
  readonly args?: readonly string[] | undefined;
  /** Variables for the server's environment. From this process it inherits only PATH, HOME and similar variables. */
  readonly env?: { readonly [name: string]: string } | undefined;
  /** The folder to start the server in. Default: the working directory. */
  readonly cwd?: string | undefined;
}
/** A server that is reached over streamable HTTP. */
export interface McpRemote extends Common {
  /** The server's MCP endpoint, http or https. */
  readonly url: string | URL;
  /** Headers of each request. A function is called for every request, so credentials that expire can be renewed. */
  readonly headers?: McpHeaders | (() => Awaitable<McpHeaders>) | undefined;
}
export type McpServer = McpProcess | McpRemote;

export interface McpOptions extends Omit<Common, "include" | "exclude"> {
  /**
   * The servers, by name. A model sees a tool as `mcp__<name>__<tool>`. As an option of a session: the names of the
   * session's servers.
   */
  readonly servers: { readonly [name: string]: McpServer } | readonly string[];
}

/** The settings of one server: its own options, then the plugin's, then the defaults. */
export type Settings = Given<Omit<Common, "include" | "availability">> &
  Pick<Common, "include" | "availability"> & { readonly at: ServerAddress };
type Given<Options> = { readonly [K in keyof Options]-?: Exclude<Options[K], undefined> };
export type ServerAddress =
  | {
      readonly kind: "process";
      readonly command: string;
      readonly args?: readonly string[];
      readonly env?: { readonly [name: string]: string };
      readonly cwd?: string;
    }
  | { readonly kind: "remote"; readonly url: URL; readonly headers: () => Awaitable<McpHeaders> };
export interface Parsed {
  /** The settings are undefined if only the names of servers are given. */
  readonly servers: ReadonlyMap<string, Settings | undefined>;
}

const DEFAULTS = {
  exclude: [],
  isSerial: false,
  connectMs: 5_000,
  startMs: 30_000,
  idleMs: 60_000,
  totalMs: 600_000,
  resultBytesMax: 16_777_216,
} as const;
const NUMBERS = ["connectMs", "startMs", "idleMs", "totalMs", "resultBytesMax"] as const;
const SHARED = [...NUMBERS, "availability", "isSerial"];
const OWN = [...SHARED, "include", "exclude", "command", "args", "env", "cwd", "url", "headers"];
const AVAILABILITIES = ["off", "searchable", "callable", "documented"] as const;
// No `__` inside and no `_` at the ends, because otherwise tools of two servers could get the same name.
const NAME = /^(?=.{1,32}$)[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*$/;
/** The longest time that a timer of Node can wait. */
const MS_MAX = 2_147_483_647;

export const OPTIONS = optionsSchema<McpOptions, Parsed>((given) => {
  given.only("servers", ...SHARED);
  const shared = commonOf(given);
  if (Array.isArray(given.value("servers")))
    return { servers: new Map(given.texts("servers").map((name) => [name, undefined])) };
  const servers = given.object("servers");
  return {
    servers: new Map(
      servers.names.map((name) => {
        if (!NAME.test(name))
          throw servers.wrong("must be named with 1 to 32 of A-Z a-z 0-9 - and single _ inside", name);
        return [name, settingsOf(servers.object(name), shared)];
      }),
    ),
  };
});

/** The input of operations on one server. */
export const serverName = described(
  optionsSchema<{ readonly server: string }>((given) => ({ server: given.text("server") })),
  { type: "object", properties: { server: { type: "string" } }, required: ["server"] },
);

type Shared = Partial<Omit<Settings, "at">>;

function settingsOf(given: Fields, shared: Shared): Settings {
  given.only(...OWN);
  const [include, exclude] = [given.texts("include", undefined), given.texts("exclude", undefined)];
  return {
    ...DEFAULTS,
    ...shared,
    ...commonOf(given),
    ...(include === undefined ? {} : { include }),
    ...(exclude === undefined ? {} : { exclude }),
    at: placeOf(given),
  };
}

function commonOf(given: Fields): Shared {
  const found: { [key: string]: unknown } = {
    availability: given.oneOf("availability", AVAILABILITIES, undefined),
    isSerial: given.flag("isSerial", undefined),
  };
  for (const key of NUMBERS) {
    const max = key.endsWith("Ms") ? MS_MAX : Number.MAX_SAFE_INTEGER;
    const isAmount = (value: unknown): value is number => typeof value === "number" && value > 0 && value <= max;
    found[key] = given.checked(key, isAmount, `a number above 0 and at most ${max}`, undefined);
  }
  return Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined));
}

const PROCESS_ONLY = ["args", "env", "cwd"];

function placeOf(given: Fields): ServerAddress {
  const isProcess = given.value("command") !== undefined;
  if (isProcess === (given.value("url") !== undefined)) throw given.wrong("needs either a command or a url");
  if (!isProcess) {
    const misplaced = PROCESS_ONLY.find((key) => given.value(key) !== undefined);
    if (misplaced !== undefined) throw given.wrong("is for a server with a command", misplaced);
    return { kind: "remote", url: urlOf(given), headers: headersOf(given) };
  }
  if (given.value("headers") !== undefined) throw given.wrong("is for a server with a url", "headers");
  const [args, env, cwd] = [
    given.texts("args", undefined),
    given.object("env", undefined),
    given.text("cwd", undefined),
  ];
  return {
    kind: "process",
    command: given.checked("command", isWords, "a text"),
    ...(args === undefined ? {} : { args }),
    ...(env === undefined ? {} : { env: textsOf(env) }),
    ...(cwd === undefined ? {} : { cwd }),
  };
}

function urlOf(given: Fields): URL {
  const value = given.value("url");
  const url = value instanceof URL ? value : typeof value === "string" ? URL.parse(value) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw given.wrong("must be an http or https URL", "url");
  return url;
}

function headersOf(given: Fields): () => Awaitable<McpHeaders> {
  const value = given.value("headers");
  if (typeof value === "function") return value as () => Awaitable<McpHeaders>;
  const headers = textsOf(given.object("headers", undefined));
  return () => headers;
}

const textsOf = (given: Fields | undefined): { readonly [name: string]: string } =>
  Object.fromEntries(given?.names.map((name) => [name, given.text(name)]) ?? []);

const isWords = (given: unknown): given is string => typeof given === "string" && given !== "";
