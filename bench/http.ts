// What the server adds to a runtime: requests, event streams and many readers. The clients run in a thread of their own
// (`http-client.ts`), so that the event loop that is measured is the server's.
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { Worker } from "node:worker_threads";
import type { Runtime } from "bowline";
import type { Provider } from "bowline/provider";
import type { Asked, Load, Timed } from "./http-client.ts";
import { built, builtServer, type Side } from "./sides.ts";
import type { Workload, Workloads } from "./workloads.ts";

const DELTAS = 500;
const READERS = 200;
const TURNS = 500;
const REQUESTS = 60_000;
const TEXT_TURNS = 1_500;
const CONNECTIONS = 16;
/** A share of 0.8 of the floor's requests per second. */
const SHARE = 1 / 0.8;
const NO_BOUND = 1_000_000;

/** A reply of `deltas` words, each in a turn of the event loop or after a pause, as models stream. */
const words = (deltas: number, pauseMs?: number): Provider => ({
  id: "words",
  modelId: "bench",
  async *stream() {
    for (let nth = 0; nth < deltas; nth++) {
      await new Promise<void>((go) => (pauseMs === undefined ? setImmediate(go) : setTimeout(go, pauseMs)));
      yield { kind: "text", delta: `word${nth} ` };
    }
    const usage = { input: 10, output: 5, cacheRead: 0, cacheWrite: 0, reasoning: 0, unknownCalls: 0 };
    yield { kind: "finish", reason: "stop", usage };
  },
});

type Requests = { readonly kind: "health" | "turns"; readonly connections: number };

interface World {
  readonly runtime: Runtime;
  readonly port: number;
  load(what: Load): Promise<Timed>;
}

async function withServer<T>(side: Side, model: Provider, run: (world: World) => Promise<T>): Promise<T> {
  const { createRuntime, memory } = await built();
  const runtime = await createRuntime({ store: memory(), model });
  const { port, close } = side === "floor" ? await handWritten(runtime) : await bowlineServer(runtime);
  const worker = new Worker(new URL("http-client.ts", import.meta.url));
  const load = async (what: Load): Promise<Timed> => {
    worker.postMessage({ ...what, port } satisfies Asked);
    const [timed] = await once(worker, "message");
    return timed as Timed;
  };
  try {
    return await run({ runtime, port, load });
  } finally {
    await worker.terminate();
    close();
    await runtime.close();
  }
}

async function bowlineServer(runtime: Runtime) {
  const { serve } = await builtServer();
  const limits = { streams: NO_BOUND, streamsInAll: NO_BOUND, writesPerMinute: NO_BOUND };
  const { port, close } = await serve(runtime, { limits }).listen();
  return { port, close: () => void close() };
}

/** The same requests as somebody would serve them by hand: no owners, no checks, an event as it is. */
async function handWritten(runtime: Runtime) {
  const [{ Hono }, { streamSSE }, { createAdaptorServer }] = await Promise.all([
    import("hono"),
    import("hono/streaming"),
    import("@hono/node-server"),
  ]);
  const app = new Hono();
  app.get("/v1/health", (context) => context.json({ ok: true }));
  app.post("/v1/sessions", async (context) =>
    context.json(await runtime.sessions.create(await context.req.json()), 201),
  );
  app.post("/v1/sessions/:id/inputs", async (context) => {
    const { text } = await context.req.json();
    return context.json(await runtime.sessions.send(context.req.param("id"), text), 202);
  });
  app.get("/v1/turns/:id/events", (context) =>
    streamSSE(context, async (stream) => {
      for await (const event of runtime.sessions.follow(context.req.param("id")))
        await stream.writeSSE({ data: JSON.stringify(event), ...(event.fact ? { id: event.cursor } : {}) });
    }),
  );
  const server = createAdaptorServer({ fetch: app.fetch }) as Server;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, close: () => void server.close() };
}

const requests = (about: string, what: Requests, count: number): Workload => ({
  about: `${about}; the floor is a hand-written Hono app around the same runtime`,
  unit: "wall us/request",
  isCount: true,
  goal: () => SHARE,
  measure: (side) =>
    withServer(side, words(1), async ({ load }) => {
      await load({ ...what, count: count / 4 });
      return ((await load({ ...what, count })).ms * 1_000) / count;
    }),
});

/** From the input to the end of the turn, and with readers until each of them has the end. */
const readers = (about: string, pauseMs?: number, goal?: () => number): Workload => ({
  about: `${READERS} readers of a turn of ${DELTAS} deltas, ${about}; the floor is the turn without readers`,
  unit: "wall ms/turn",
  isCount: true,
  ...(goal === undefined ? {} : { goal }),
  measure: (side) =>
    withServer("bowline", words(DELTAS, pauseMs), async ({ runtime, load }) => {
      for (const id of ["warm", "cold"]) await runtime.session(id);
      const alone = async (id: string): Promise<number> => {
        const begun = performance.now();
        const { turnId } = await runtime.sessions.send(id, "Hi");
        await runtime.sessions.follow(turnId).result();
        return performance.now() - begun;
      };
      const read = async (session: string) => (await load({ kind: "readers", session, count: READERS })).ms;
      const measured = side === "floor" ? alone : read;
      await measured("warm");
      return measured("cold");
    }),
});

export const httpWorkloads = (): Workloads => ({
  "H-health": requests("GET /v1/health", { kind: "health", connections: CONNECTIONS }, REQUESTS),
  "H-turn": requests(
    "a text turn: input, then events until its end",
    { kind: "turns", connections: CONNECTIONS },
    TEXT_TURNS,
  ),
  "H-readers": readers("one each millisecond", 1, () => 2),
  "H-readers-burst": readers("one in each turn of the event loop, which no model does"),
  "H-p99": {
    about: `${TURNS} text turns at once over HTTP: the 99th percentile less that of the hand-written app`,
    unit: "wall ms",
    isCount: true,
    isAdded: true,
    goal: () => 50,
    measure: (side) =>
      withServer(side, words(20, 10), async ({ load }) => {
        await load({ kind: "turns", connections: 50, count: TURNS });
        return (await load({ kind: "turns", connections: TURNS, count: TURNS })).p99;
      }),
  },
  "H-delta": {
    about: "bytes of a joined delta in a stream, besides its text",
    unit: "bytes/delta",
    isCount: true,
    isAbsolute: true,
    goal: () => 30,
    measure: (side) =>
      side === "floor"
        ? Promise.resolve(0)
        : withServer("bowline", words(DELTAS, 1), async ({ runtime, load }) => {
            await runtime.session("bytes");
            return (await load({ kind: "readers", session: "bytes", count: 1 })).overhead;
          }),
  },
});
