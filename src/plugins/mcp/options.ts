import { type Availability, described, type Fields, optionsSchema } from "../../index.ts";

type Awaitable<T> = T | PromiseLike<T>;
export type McpHeaders = { readonly [name: string]: string };

interface Common {
  /** Only these tools, by the names the server gives them. */
  readonly include?: readonly string[];
  /** All but these. */
  readonly exclude?: readonly string[];
  /** `callable` unless given; `searchable` for servers with very many tools. */
  readonly availability?: Availability;
  /** Calls of this server never run beside another call of the same reply. */
  readonly isSerial?: boolean;
  /** How long a turn or a call waits for a connection that is being made. */
  readonly connectMs?: number;
  /** How long one attempt to start the server may take. */
  readonly startMs?: number;
  /** A call that says nothing for this long has failed; progress starts it anew. */
  readonly idleMs?: number;
  /** A call may take this long in all. */
  readonly totalMs?: number;
  /** One result. */
  readonly resultBytesMax?: number;
}
/** A server that is started here and spoken to over its stdin and stdout. */
export interface McpProcess extends Common {
  readonly command: string;
  readonly args?: readonly string[];
  /** Besides PATH, HOME and the like: a server is given nothing else of this process's environment. */
  readonly env?: { readonly [name: string]: string };
  readonly cwd?: string;
}
/** A server somewhere else, over streamable HTTP. */
export interface McpRemote extends Common {
  readonly url: string | URL;
  /** A function is called for each request: the place for credentials that expire. */
  readonly headers?: McpHeaders | (() => Awaitable<McpHeaders>);
}
export type McpServer = McpProcess | McpRemote;

export interface McpOptions extends Omit<Common, "include" | "exclude"> {
  /** By name; a tool is shown to the model as `mcp__<name>__<tool>`. */
  readonly servers: { readonly [name: string]: McpServer };
}

/** One server as it is run: its own options over the plugin's, over the defaults. */
export type Settings = Required<Omit<Common, "include" | "availability">> &
  Pick<Common, "include" | "availability"> & { readonly at: Place };
export type Place =
  | ({ readonly kind: "process" } & Pick<McpProcess, "command" | "args" | "env" | "cwd">)
  | { readonly kind: "remote"; readonly url: URL; readonly headers: () => Awaitable<McpHeaders> };
export interface Parsed {
  readonly servers: ReadonlyMap<string, Settings>;
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
// No `__` and no `_` at the ends: the names of two servers' tools can then not meet.
const NAME = /^(?=.{1,32}$)[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*$/;
/** What a timer can hold. */
const MS_MAX = 2_147_483_647;

export const OPTIONS = optionsSchema<McpOptions, Parsed>((given) => {
  given.only("servers", ...SHARED);
  const shared = commonOf(given);
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

function placeOf(given: Fields): Place {
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
