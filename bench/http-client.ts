// The clients of `http.ts`, in a thread: plain sockets, so that they cost little.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { parentPort } from "node:worker_threads";

export type Load =
  | { readonly kind: "health"; readonly count: number; readonly connections: number }
  | { readonly kind: "turns"; readonly count: number; readonly connections: number }
  | { readonly kind: "readers"; readonly count: number; readonly session: string };
export type Asked = Load & { readonly port: number };
export interface Timed {
  readonly ms: number;
  readonly p99: number;
  readonly overhead: number;
}

let sessions = 0;

/** One connection, one request at a time. An answer ends with its length or with its last chunk. */
class Connection {
  readonly socket: Socket;
  text = "";
  #wake = (): void => {};

  constructor(port: number) {
    this.socket = connect(port, "127.0.0.1").setNoDelay(true);
    this.socket.setEncoding("latin1").on("data", (chunk: string) => {
      this.text += chunk;
      this.#wake();
    });
  }

  send(method: string, path: string, body?: object): void {
    const json = body === undefined ? "" : JSON.stringify(body);
    const type = body === undefined ? "" : `Content-Type: application/json\r\nContent-Length: ${json.length}\r\n`;
    this.text = "";
    this.socket.write(`${method} /v1${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${type}\r\n${json}`);
  }

  async until(isThere: (text: string) => boolean): Promise<string> {
    while (!isThere(this.text)) await new Promise<void>((resolve) => (this.#wake = resolve));
    return this.text;
  }

  ask(method: string, path: string, body?: object): Promise<string> {
    this.send(method, path, body);
    return this.until(isWhole);
  }
}

function isWhole(text: string): boolean {
  const head = text.indexOf("\r\n\r\n");
  if (head < 0) return false;
  const [, length] = /content-length: (\d+)/i.exec(text.slice(0, head)) ?? [];
  return length === undefined ? text.endsWith("0\r\n\r\n") : text.length >= head + 4 + Number(length);
}

async function many({ port, connections, count }: Extract<Asked, { connections: number }>, isTurn: boolean) {
  const open = Array.from({ length: connections }, () => new Connection(port));
  const made = open.map(() => `c${++sessions}`);
  if (isTurn) for (const [nth, each] of open.entries()) await each.ask("POST", "/sessions", { id: made[nth] });
  const times: number[] = [];
  const begun = performance.now();
  await Promise.all(
    open.map(async (each, nth) => {
      for (let done = nth; done < count; done += connections) {
        const at = performance.now();
        if (isTurn) {
          const sent = await each.ask("POST", `/sessions/${made[nth]}/inputs`, { text: "Hi" });
          const [, turn] = /"turnId":"([^"]+)"/.exec(sent) ?? [];
          const events = await each.ask("GET", `/turns/${turn}/events`);
          if (!events.includes('"committed"')) throw new Error(events);
        } else await each.ask("GET", "/health");
        times.push(performance.now() - at);
      }
    }),
  );
  const ms = performance.now() - begun;
  for (const { socket } of open) socket.destroy();
  const p99 = times.sort((a, b) => a - b)[Math.floor(times.length * 0.99)] as number;
  return { ms, p99, overhead: 0 };
}

async function readers({ port, count, session }: Extract<Asked, { kind: "readers" }>): Promise<Timed> {
  const open = Array.from({ length: count }, () => new Connection(port));
  for (const each of open) each.send("GET", `/sessions/${session}/events`);
  await Promise.all(open.map((each) => each.until((text) => text.includes("retry: "))));
  const sender = new Connection(port);
  await once(sender.socket, "connect");
  const begun = performance.now();
  await sender.ask("POST", `/sessions/${session}/inputs`, { text: "Hi" });
  await Promise.all(open.map((each) => each.until((text) => text.includes('"kind":"committed"'))));
  const ms = performance.now() - begun;
  const joined = Array.from((open[0]?.text ?? "").matchAll(/data: \[\d+,("(?:\\.|[^"\\])*")\]\n\n/g));
  const bytes = joined.reduce((sum, [frame, text = ""]) => sum + frame.length - text.length + 2, 0);
  for (const { socket } of [...open, sender]) socket.destroy();
  return { ms, p99: 0, overhead: joined.length === 0 ? 0 : bytes / joined.length };
}

parentPort?.on("message", async (asked: Asked) => {
  const timed = asked.kind === "readers" ? await readers(asked) : await many(asked, asked.kind === "turns");
  parentPort?.postMessage(timed);
});
