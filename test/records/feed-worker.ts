// A process of the feed trial: a writer, which works until it is killed, or a reader, which logs each fact that it is told.
import { existsSync, openSync, readFileSync, writeSync } from "node:fs";
import { createRuntime } from "bowline";
import type { Provider } from "bowline/provider";
import { postgres } from "bowline/stores/postgres";
import { sqlite } from "bowline/stores/sqlite";

export interface FeedOrders {
  readonly path?: string;
  readonly url?: string;
  readonly schema?: string;
  /** The file that the process adds lines to. */
  readonly log: string;
  readonly role: "writer" | "reader";
  /** A reader's filter. */
  readonly owner?: string;
}

const orders = JSON.parse(process.argv[2] ?? "") as FeedOrders;
const { path, url = "", schema = "", log, role, owner } = orders;
const store =
  path === undefined
    ? postgres(url, { schema, leaseMs: 1_000, connections: 3 })
    : sqlite(path, { durability: "process" });
// Synchronous: what a process has handed to the system survives its death.
const file = openSync(log, "a");
const tell = (line: string): void => void writeSync(file, `${line}\n`);

const model: Provider = {
  id: "feed",
  modelId: "test",
  async *stream() {
    yield { kind: "text", delta: "Done." };
    const usage = { input: 1, cacheRead: 0, cacheWrite: 0, output: 1, reasoning: 0, unknownCalls: 0 };
    yield { kind: "finish", reason: "stop", usage };
  },
};

async function write(): Promise<void> {
  const runtime = await createRuntime({ store, model });
  const own = await runtime.session(`own-${process.pid}`, { tags: ["own"] });
  await runtime.session("ours", { owner: "ann" });
  for (let nth = 0; ; nth++) {
    const turn = own.turn(`Turn ${nth}.`);
    tell(`accepted ${await turn.id}`);
    const { turnId: withdrawn } = await own.send(`Never ${nth}.`, { at: "next-turn", key: `${nth}` });
    const [answer] = await own.inputs.cancel({ key: `${nth}` });
    if (answer?.kind === "cancelled") tell(`withdrawn ${withdrawn}`);
    await turn.result();
    tell(`ended ${await turn.id}`);
    const { turnId } = await runtime.sessions.send("ours", `From ${process.pid}, ${nth}.`);
    tell(`accepted ${turnId}`);
    await own.append([{ kind: "message", role: "user", text: `Note ${nth}.` }]);
  }
}

async function read(): Promise<void> {
  const lines = existsSync(log) ? readFileSync(log, "utf8").split("\n") : [];
  const after = lines.findLast((line) => line !== "")?.split(" ")[0];
  const runtime = await createRuntime({ store, model, recover: "never" });
  for await (const fact of runtime.observe({ after, owner })) {
    const turn = "turnId" in fact ? fact.turnId : "none";
    tell(`${fact.cursor} ${fact.kind} ${fact.sessionId} ${turn}`);
  }
}

await (role === "writer" ? write() : read());
