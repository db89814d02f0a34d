import { CrashBackend } from "./backend.js";
/**
 * A PostgreSQL database and the journal host. Each trial has a schema with its name. Use it in the default export of a
 * module, which every process loads, and take the URL from the environment, for example. It needs the package `pg`.
 *
 * Leases use the server's clock as in production, except where the kit speeds up the clock of the processes: there an
 * expired lease would stay valid on the server for twenty times as long.
 */
declare const postgresBackend: (url: string) => CrashBackend;
export { postgresBackend };
