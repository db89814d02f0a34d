import { isObject } from "../../model/json.ts";

/** Facts from an error of any shape: thrown or sent in a stream, with a response body or causes inside. */
export interface ErrorFacts {
  readonly name: string;
  readonly message: string;
  /** The message of the last cause. */
  readonly innermost: string;
  /** An HTTP status of 400 or more. */
  readonly status: number | undefined;
  /** Headers of the response, names in lower case. */
  readonly headers: { readonly [name: string]: string };
  /** All codes, types and messages in one lower-case text, for searching. */
  readonly words: string;
  /** The code of a system error, such as ECONNRESET. */
  readonly systemCode: string | undefined;
  /** Google's delay before a retry, such as `34.4s`. */
  readonly retryDelay: string | undefined;
  /** Whether the error contains the request, which must not get into a log. */
  readonly hasRequest: boolean;
}

type Layer = { readonly [key: string]: unknown };

export function factsOf(thrown: unknown): ErrorFacts {
  const layers = typeof thrown === "string" ? [{ message: thrown }] : layersOf(thrown);
  const all = (...keys: readonly string[]): readonly unknown[] =>
    keys.flatMap((key) => layers.map((layer) => layer[key]));
  const strings = (...keys: readonly string[]): readonly string[] =>
    all(...keys).filter((value) => typeof value === "string");
  const messages = strings("message").filter((words) => words.trim() !== "");
  return {
    name: strings("name")[0] ?? "",
    message: messages[0] ?? "",
    innermost: messages.at(-1) ?? "",
    status: all("statusCode", "status", "code")
      .map(httpStatus)
      .find((status) => status !== undefined),
    headers: headersIn(all("responseHeaders", "headers").find(isObject)),
    words: strings("code", "type", "status", "reason", "message").join(" ").toLowerCase(),
    systemCode: strings("code").find((code) => /^(E[A-Z]{3,}|UND_ERR_\w+|Connection\w+)$/.test(code)),
    retryDelay: strings("retryDelay")[0],
    hasRequest: layers.some((layer) => "requestBodyValues" in layer),
  };
}

/** Fields in which errors hold other errors. */
const INNER = ["error", "data", "response", "details", "cause"] as const;
const LAYERS_MAX = 32;

/** The error and all errors inside it, the outer first. */
function layersOf(thrown: unknown): readonly Layer[] {
  const layers: Layer[] = [];
  const waiting: unknown[] = [thrown];
  while (waiting.length > 0 && layers.length < LAYERS_MAX) {
    const next = waiting.shift();
    if (Array.isArray(next)) waiting.push(...next);
    else if (isObject(next) && !layers.includes(next)) {
      layers.push(next);
      waiting.push(...INNER.map((key) => next[key]), parsed(next.responseBody));
    }
  }
  return layers;
}

function parsed(body: unknown): unknown {
  if (typeof body !== "string") return undefined;
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

function httpStatus(value: unknown): number | undefined {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === "number" && Number.isInteger(status) && status >= 400 && status < 600 ? status : undefined;
}

function headersIn(headers: Layer | undefined): { readonly [name: string]: string } {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers ?? {});
  return Object.fromEntries(entries.map(([name, value]) => [name.toLowerCase(), String(value)]));
}
