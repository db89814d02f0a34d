import { type Availability, described, type Schema } from "../../index.ts";

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
const AVAILABILITIES = ["off", "searchable", "callable", "documented"];
// No `__` and no `_` at the ends: the names of two servers' tools can then not meet.
const NAME = /^(?=.{1,32}$)[A-Za-z0-9-]+(?:_[A-Za-z0-9-]+)*$/;
/** What a timer can hold. */
const MS_MAX = 2_147_483_647;

/** The plugin's options; what is wrong is said with its path. */
export const optionsSchema: Schema<McpOptions, Parsed> = {
  "~standard": {
    version: 1,
    vendor: "bowline",
    validate: (given) => {
      try {
        return { value: parse(given) };
      } catch (error) {
        if (error instanceof Wrong) return { issues: [{ message: error.message, path: error.path }] };
        throw error;
      }
    },
  },
};

/** The input of operations on one server. */
export const serverName = described<{ readonly server: string }, { readonly server: string }>(
  {
    "~standard": {
      version: 1,
      vendor: "bowline",
      validate: (given) => {
        const { server } = (given ?? {}) as { readonly server?: unknown };
        return typeof server === "string"
          ? { value: { server } }
          : { issues: [{ message: "name a server", path: ["server"] }] };
      },
    },
  },
  { type: "object", properties: { server: { type: "string" } }, required: ["server"] },
);

class Wrong extends Error {
  readonly path: readonly string[];
  constructor(path: readonly string[], message: string) {
    super(message);
    this.path = path;
  }
}

function parse(given: unknown): Parsed {
  const options = record(given, []);
  onlyKnown(options, ["servers", ...SHARED], []);
  const shared = common(options, []);
  const servers = Object.entries(record(options.servers, ["servers"])).map(([name, server]): [string, Settings] => {
    const path = ["servers", name];
    if (!NAME.test(name)) throw new Wrong(path, "a server's name has 1 to 32 of A-Z a-z 0-9 - and single _ inside");
    const own = record(server, path);
    onlyKnown(own, OWN, path);
    const { include, exclude } = own;
    return [
      name,
      {
        ...DEFAULTS,
        ...shared,
        ...common(own, path),
        ...(include === undefined ? {} : { include: texts(include, [...path, "include"]) }),
        ...(exclude === undefined ? {} : { exclude: texts(exclude, [...path, "exclude"]) }),
        at: placeOf(own, path),
      },
    ];
  });
  return { servers: new Map(servers) };
}

function common(options: Fields, path: readonly string[]): Partial<Omit<Settings, "at">> {
  const found: { [key: string]: unknown } = {};
  for (const key of NUMBERS) {
    const value = options[key];
    if (value === undefined) continue;
    const max = key.endsWith("Ms") ? MS_MAX : Number.MAX_SAFE_INTEGER;
    if (typeof value !== "number" || !(value > 0) || value > max)
      throw new Wrong([...path, key], `it must be a number above 0 and at most ${max}`);
    found[key] = value;
  }
  const { availability, isSerial } = options;
  if (availability !== undefined) {
    if (!AVAILABILITIES.includes(availability as string))
      throw new Wrong([...path, "availability"], `it must be one of ${AVAILABILITIES.join(", ")}`);
    found.availability = availability;
  }
  if (isSerial !== undefined) {
    if (typeof isSerial !== "boolean") throw new Wrong([...path, "isSerial"], "it must be true or false");
    found.isSerial = isSerial;
  }
  return found;
}

function placeOf(own: Fields, path: readonly string[]): Place {
  const { command, args, env, cwd, url, headers } = own;
  if ((command === undefined) === (url === undefined)) throw new Wrong(path, "it needs either a command or a url");
  if (command !== undefined) {
    if (headers !== undefined) throw new Wrong([...path, "headers"], "they are for a server with a url");
    if (cwd !== undefined && typeof cwd !== "string") throw new Wrong([...path, "cwd"], "it must be text");
    return {
      kind: "process",
      command: text(command, [...path, "command"]),
      ...(args === undefined ? {} : { args: texts(args, [...path, "args"]) }),
      ...(env === undefined ? {} : { env: textsByName(env, [...path, "env"]) }),
      ...(cwd === undefined ? {} : { cwd }),
    };
  }
  for (const key of ["args", "env", "cwd"] as const)
    if (own[key] !== undefined) throw new Wrong([...path, key], "it is for a server with a command");
  return { kind: "remote", url: urlOf(url, [...path, "url"]), headers: headersOf(headers, [...path, "headers"]) };
}

function urlOf(given: unknown, path: readonly string[]): URL {
  const url = given instanceof URL ? given : typeof given === "string" ? URL.parse(given) : null;
  if (url === null || !["http:", "https:"].includes(url.protocol)) throw new Wrong(path, "it is no http or https URL");
  return url;
}

function headersOf(given: unknown, path: readonly string[]): () => Awaitable<McpHeaders> {
  if (given === undefined) return () => ({});
  if (typeof given === "function") return given as () => Awaitable<McpHeaders>;
  const headers = textsByName(given, path);
  return () => headers;
}

type Fields = { readonly [key: string]: unknown };

function record(given: unknown, path: readonly string[]): Fields {
  if (typeof given !== "object" || given === null || Array.isArray(given)) throw new Wrong(path, "it is no object");
  return given as Fields;
}
function onlyKnown(fields: Fields, known: readonly string[], path: readonly string[]): void {
  const other = Object.keys(fields).find((key) => !known.includes(key));
  if (other !== undefined) throw new Wrong([...path, other], `there is no such option; there are ${known.join(", ")}`);
}
function text(given: unknown, path: readonly string[]): string {
  if (typeof given !== "string" || given === "") throw new Wrong(path, "it must be text");
  return given;
}
function texts(given: unknown, path: readonly string[]): readonly string[] {
  if (!Array.isArray(given) || given.some((item) => typeof item !== "string"))
    throw new Wrong(path, "it must be a list of texts");
  return given as readonly string[];
}
function textsByName(given: unknown, path: readonly string[]): { readonly [name: string]: string } {
  const found = record(given, path);
  for (const [name, value] of Object.entries(found))
    if (typeof value !== "string") throw new Wrong([...path, name], "it must be text");
  return found as { readonly [name: string]: string };
}
