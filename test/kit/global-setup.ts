/** Runs once, in the process that runs all tests, and is in no hurry: a run that needs no server does not wait for one. */
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import type { Postgres } from "./postgres.ts";
import { BROKER, type Told } from "./told.ts";

export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[BROKER] !== undefined) return undefined; // Each project of the run comes here.
  let started: Promise<Postgres> | undefined;
  const start = async (): Promise<Postgres> => {
    const { startPostgres } = await import("./postgres.ts");
    return startPostgres({ settings: { max_connections: 200 } });
  };
  const broker = createServer(async (socket) => {
    socket.on("error", () => {}); // Who asked has gone.
    started ??= start();
    const told: Told = await started.then(
      ({ url }) => ({ url }),
      (error: unknown) => ({ error: String(error) }),
    );
    socket.end(JSON.stringify(told));
  });
  broker.listen(0, "127.0.0.1").unref();
  await once(broker, "listening");
  process.env[BROKER] = String((broker.address() as AddressInfo).port);

  return async () => {
    broker.close();
    delete process.env[BROKER];
    await (await started?.catch(() => undefined))?.stop();
  };
}
