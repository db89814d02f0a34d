// A door for tests in src/ that know it by this path.
export { fixture, isAlive, type Remote, raw, serve, signalled, toolContext } from "./servers.ts";
