import { createRuntime } from "bowline";
import { postgres } from "bowline/stores/postgres";
import { expect, test } from "vitest";
import { echo } from "../kit/models.ts";
import { queryOnce } from "../kit/postgres.ts";
import { describePostgres, freshDatabase } from "../kit/shared-postgres.ts";

/** The ways to write the same Unix socket, all of which the driver takes. */
const FORMS = {
  "the folder as a parameter": (folder, port, db) => `postgres:///${db}?host=${folder}&port=${port}&user=postgres`,
  "a user without a host": (folder, port, db) => `postgresql://postgres@/${db}?host=${folder}&port=${port}`,
  "the folder as the host": (folder, port, db) =>
    `postgresql://postgres@${encodeURIComponent(folder)}:${port}/${db}?application_name=bowline`,
  "the protocol socket": (folder, port, db) => `socket:${folder}?db=${db}&port=${port}&user=postgres`,
  "the protocol socket with a user": (folder, port, db) => `socket://postgres@${folder}?db=${db}&port=${port}`,
} satisfies { readonly [form: string]: (folder: string, port: string, db: string) => string };

const CONNECTED = `SELECT DISTINCT application_name AS name, client_port AS port FROM pg_stat_activity
  WHERE datname = current_database() AND application_name LIKE 'bowline%' ORDER BY name`;

describePostgres("Postgres over a Unix socket", () => {
  test.each(Object.entries(FORMS))("E7 postgres: a turn runs and hints arrive, with %s", async (_, form) => {
    const url = await freshDatabase();
    const [setting] = await queryOnce(url, "SHOW unix_socket_directories");
    const { port, pathname } = new URL(url);
    const socketUrl = form(String(setting!.unix_socket_directories), port, pathname.slice(1));

    const listening = postgres(socketUrl);
    await using runtime = await createRuntime({ store: postgres(socketUrl), model: echo() });
    const [connected, told] = [Promise.withResolvers<void>(), Promise.withResolvers<string>()];
    listening.hints!((hint) => (hint.kind === "session" ? told.resolve(hint.sessionId) : connected.resolve()));
    await connected.promise;
    const { outcome } = await (await runtime.session("one")).turn("Hi").result();

    expect(outcome.kind).toBe("answered");
    expect(await told.promise).toBe("one");
    // The server gives the port -1 to connections over a Unix socket.
    expect(await queryOnce(url, CONNECTED)).toContainEqual({ name: "bowline", port: -1 });
    expect((await queryOnce(url, CONNECTED)).every((each) => each.port === -1)).toBe(true);
    await listening.close();
  });
});
