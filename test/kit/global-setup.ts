/** Runs once, in the process that runs all tests. It makes what files share when the first of them asks for it. */
import { once } from "node:events";
import { rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { type Answer, BROKER, type Shared } from "./broker.ts";

interface Made {
  readonly value: string;
  remove(): unknown;
}

const MAKERS: { readonly [what in Shared]: () => Promise<Made> } = {
  async postgres() {
    const { startPostgres } = await import("./postgres.ts");
    const server = await startPostgres({ settings: { max_connections: 200 } });
    return { value: server.url, remove: () => server.stop() };
  },
  async build() {
    const { buildPackage } = await import("./built.ts");
    const folder = await buildPackage();
    return { value: folder, remove: () => rmSync(folder, { recursive: true, force: true }) };
  },
};

export default async function setup(): Promise<(() => Promise<void>) | undefined> {
  if (process.env[BROKER] !== undefined) return undefined; // Vitest calls this for each project of the run.
  const made = new Map<Shared, Promise<Made>>();
  const broker = createServer(async (socket) => {
    socket.on("error", () => {}); // The process that asked has ended.
    const [asked] = (await once(socket, "data")) as [Buffer]; // A word, which comes whole.
    const what = asked.toString() as Shared;
    const found = made.get(what) ?? MAKERS[what]();
    made.set(what, found);
    const answer: Answer = await found.then(
      ({ value }) => ({ value }),
      (error: unknown) => ({ error: String(error) }),
    );
    socket.end(JSON.stringify(answer));
  });
  broker.listen(0, "127.0.0.1").unref();
  await once(broker, "listening");
  process.env[BROKER] = String((broker.address() as AddressInfo).port);

  return async () => {
    broker.close();
    delete process.env[BROKER];
    for (const each of made.values()) await (await each.catch(() => undefined))?.remove();
  };
}
