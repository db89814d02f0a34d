import { RuntimeError } from "../../model/errors.ts";

/** The address in a URL, without user and password. */
interface Address {
  /** A name or an IP address, or the folder of a Unix socket. Empty: the driver's default. */
  readonly host: string;
  readonly port: string;
  readonly database: string;
}

/**
 * Parses a URL like the driver. The forms for a Unix socket are `postgres:///db?host=/folder`,
 * `postgres://user@/db?host=/folder`, `postgres://user@%2Ffolder/db` and `socket:/folder?db=db`. Throws `store.url`.
 */
export function addressIn(url: string): Address {
  const refuse = (problem: string): never => {
    throw new RuntimeError("store.url", { problem });
  };
  // A user without a host is common before `?host=/folder`, but not a valid URL.
  const parsed = URL.parse(url) ?? URL.parse(url.replace("@/", "@localhost/")) ?? refuse("it is not a URL");
  const { protocol, hostname, pathname, searchParams } = parsed;
  const isSocket = protocol === "socket:";
  if (!isSocket && protocol !== "postgres:" && protocol !== "postgresql:")
    refuse(`it begins with ${protocol} instead of postgres:`);
  // The part before that @ belongs to the password. Errors must not show it as a database or a folder.
  if (pathname.includes("@")) refuse("a / in its user or password must be written as %2F");
  const database = isSocket ? searchParams.get("db") : pathname.slice(1);
  if (!database) return refuse("it does not name a database");
  const port = searchParams.get("port") ?? parsed.port;
  if (port !== "" && !(/^\d{1,5}$/.test(port) && Number(port) <= 65_535))
    refuse("its port must be a number up to 65535");
  const host = isSocket ? pathname : (searchParams.get("host") ?? hostname);
  return { host: decoded(host), port, database };
}

const decoded = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

/** Names the database of a URL in errors. */
export function nameOf(url: string): string {
  const { host, port, database } = addressIn(url);
  if (!host.startsWith("/")) return `postgres://${host}${port === "" ? "" : `:${port}`}/${database}`;
  return `postgres:///${database}?host=${host}${port === "" ? "" : `&port=${port}`}`;
}
