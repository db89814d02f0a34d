import { Place } from "./place.js";
/**
 * A PostgreSQL database and the journal host: each trial has a schema of its own, named after it. For the default export
 * of a module, which every process loads for itself: take the URL from the environment, for example. Needs the package
 * `pg`.
 *
 * Leases go by the clock of the server, as they do outside of tests, but where the kit hastens the clock of the processes:
 * there a lease that lapsed for them would hold on the server for twenty times as long.
 */
declare const postgresPlace: (url: string) => Place;
export { postgresPlace };
