import { RuntimeError } from "../../model/errors.ts";

/** Where a URL leads, without its user and password. */
interface Address {
  /** A name or an IP address; for a Unix socket its folder. Empty for the driver's default. */
  readonly host: string;
  readonly port: string;
  readonly database: string;
}

/**
 * Reads a URL as the driver does. For a Unix socket it is `postgres:///db?host=/folder`, `postgres://user@/db?host=/folder`,
 * `postgres://user@%2Ffolder/db` or `socket:/folder?db=db`. Throws `store.url`.
 */
export function addressIn(url: string): Address {
  const refuse = (problem: string): never => {
    throw new RuntimeError("store.url", { problem });
  };
  // A user without a host is common before `?host=/folder`, and no URL by the standard.
  const parsed = URL.parse(url) ?? URL.parse(url.replace("@/", "@localhost/")) ?? refuse("it is no URL");
  const { protocol, hostname, pathname, searchParams } = parsed;
  const isSocket = protocol === "socket:";
  if (!isSocket && protocol !== "postgres:" && protocol !== "postgresql:")
    refuse(`it begins with ${protocol} and not with postgres:`);
  // What comes before that @ is part of the password: errors must not show it as a database or a folder.
  if (pathname.includes("@")) refuse("a / in its user or password must be written as %2F");
  const database = isSocket ? searchParams.get("db") : pathname.slice(1);
  if (!database) return refuse("it names no database");
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

/** What errors call the database of a URL. */
export function nameOf(url: string): string {
  const { host, port, database } = addressIn(url);
  if (!host.startsWith("/")) return `postgres://${host}${port === "" ? "" : `:${port}`}/${database}`;
  return `postgres:///${database}?host=${host}${port === "" ? "" : `&port=${port}`}`;
}
