// The floor: what a good programmer writes by hand when nothing else is wanted. A list of messages, a loop, and at most
// a table.
import type { DatabaseSync } from "node:sqlite";
import type { Durability } from "bowline/stores/sqlite";
import type { Agent, Opening, Script } from "./agent.ts";

interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: string;
}
type Message =
  | { readonly role: "system" | "user"; readonly content: string }
  | { readonly role: "assistant"; readonly content?: string; readonly calls?: readonly Call[] }
  | { readonly role: "tool"; readonly callId: string; readonly content: string };

interface Session {
  readonly id: string;
  readonly messages: Message[];
  /** How many of the messages are on disk. */
  saved: number;
}

interface Disk {
  load(id: string): Message[];
  /**
   * Writes in one transaction per step of a turn: its input, each reply, each round of results. `end` marks the last
   * one.
   */
  save(session: Session, step?: "end"): void;
  close(): void;
}

export async function open({ script, durable, dir, durability = "process" }: Opening): Promise<Agent> {
  const disk = durable ? await openDisk(`${dir}/floor.db`, durability) : undefined;
  const sessions = new Map<string, Session>();
  const model = makeModel(script);

  const sessionOf = (id: string): Session => {
    const known = sessions.get(id);
    if (known !== undefined) return known;
    const messages = disk?.load(id) ?? [];
    const session = { id, messages, saved: messages.length };
    if (messages.length === 0) messages.push({ role: "system", content: script.SYSTEM });
    sessions.set(id, session);
    return session;
  };
  const runTool = async ({ args }: Call): Promise<string> => script.runTool(JSON.parse(args).n);

  return {
    async turn(id, input) {
      const session = sessionOf(id);
      const { messages } = session;
      messages.push({ role: "user", content: input });
      disk?.save(session);
      for (;;) {
        const { text, calls } = await model.reply(messages);
        if (calls === undefined) {
          messages.push({ role: "assistant", content: text });
          disk?.save(session, "end");
          return text;
        }
        messages.push({ role: "assistant", calls });
        disk?.save(session);
        const results = await Promise.all(calls.map(runTool));
        for (const [index, call] of calls.entries()) {
          messages.push({ role: "tool", callId: call.id, content: results[index]! });
        }
        disk?.save(session);
      }
    },
    async stream(id, input, onDelta) {
      const session = sessionOf(id);
      session.messages.push({ role: "user", content: input });
      let text = "";
      for await (const delta of model.stream(session.messages)) {
        text += delta;
        onDelta(delta);
      }
      session.messages.push({ role: "assistant", content: text });
      disk?.save(session, "end");
    },
    async close() {
      disk?.close();
    },
  };
}

/** The model is asynchronous although it waits for nothing, because a real one is. */
function makeModel(script: Script) {
  const said = (messages: readonly Message[]) => {
    let results = 0;
    for (let index = messages.length - 1; ; index--) {
      const message = messages[index]!;
      if (message.role === "user") return script.next(message.content, results, messages.length);
      if (message.role === "tool") results++;
    }
  };
  return {
    async reply(messages: readonly Message[]): Promise<{ text: string; calls?: readonly Call[] }> {
      const saying = said(messages);
      if ("text" in saying) return saying;
      if (!("calls" in saying)) throw new Error("A stream was asked for in one piece.");
      return { text: "", calls: saying.calls.map(({ id, n }) => ({ id, name: "echo", args: JSON.stringify({ n }) })) };
    },
    async *stream(messages: readonly Message[]): AsyncGenerator<string> {
      const saying = said(messages);
      if (!("deltas" in saying)) throw new Error("Only a stream can be streamed.");
      for (let count = 0; count < saying.deltas; count++) yield script.DELTA;
    },
  };
}

/** Opens the file. `power` syncs once a turn, `power-all` at every step. */
async function openDisk(file: string, durability: Durability): Promise<Disk> {
  // Imported here, so that a side in memory does not pay for it.
  const { DatabaseSync } = await import("node:sqlite");
  const db: DatabaseSync = new DatabaseSync(file);
  db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${durability === "power-all" ? "FULL" : "NORMAL"}`);
  db.exec(
    "CREATE TABLE IF NOT EXISTS message (session TEXT, seq INTEGER, body TEXT, PRIMARY KEY (session, seq)) WITHOUT ROWID",
  );
  const select = db.prepare("SELECT body FROM message WHERE session = ? ORDER BY seq");
  const insert = db.prepare("INSERT INTO message VALUES (?, ?, ?)");
  const begin = db.prepare("BEGIN IMMEDIATE");
  const commit = db.prepare("COMMIT");
  const save = (session: Session): void => {
    begin.run();
    for (; session.saved < session.messages.length; session.saved++) {
      insert.run(session.id, session.saved, JSON.stringify(session.messages[session.saved]));
    }
    commit.run();
  };
  return {
    load: (id) => select.all(id).map(({ body }) => JSON.parse(body as string)),
    save(session, step) {
      if (step !== "end" || durability !== "power") return save(session);
      db.exec("PRAGMA synchronous = FULL");
      save(session);
      db.exec("PRAGMA synchronous = NORMAL");
    },
    close: () => db.close(),
  };
}
