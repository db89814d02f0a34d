import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type CutAt, startProxy, type TcpProxy } from "./proxy.ts";
import { codeOf, eventually, passed, within } from "./reading.ts";

/** Answers each piece with its bytes, and remembers what came. */
const heard: string[] = [];
const echo = createServer((socket) => {
  socket.on("error", () => {});
  socket.on("data", (bytes) => {
    heard.push(bytes.toString());
    socket.write(bytes);
  });
});
beforeAll(() => once(echo.listen(0, "127.0.0.1"), "listening"));
afterAll(() => void echo.close());
const startedProxy = (): Promise<TcpProxy> => startProxy((echo.address() as AddressInfo).port);

class Client {
  readonly socket: Socket;
  said = "";
  /** How it ended, once it has. */
  end: "closed" | "reset" | undefined;
  constructor({ port }: TcpProxy) {
    this.socket = connect(port, "127.0.0.1");
    this.socket.on("data", (bytes) => (this.said += bytes));
    this.socket.on("error", () => (this.end = "reset"));
    this.socket.on("close", () => (this.end ??= "closed"));
  }
  async asks(words: string): Promise<void> {
    const all = this.said + words;
    this.socket.write(words);
    await eventually(() => this.said === all);
  }
  ended = (): Promise<string> => eventually(() => this.end);
}

test("a proxy passes bytes and ends, and counts connections and round trips", async () => {
  await using proxy = await startedProxy();
  const [one, two] = [new Client(proxy), new Client(proxy)];
  await one.asks("a");
  await one.asks("b");
  await two.asks("c");
  expect(proxy).toMatchObject({ connections: 2, accepted: 2 });
  expect(proxy.roundTrips()).toBe(3);
  two.socket.end();
  expect(await two.ended()).toBe("closed");
  expect(proxy).toMatchObject({ connections: 1, accepted: 2 });
  expect(new URL(proxy.url("postgres://me@db.example:5432/x?a=b")).port).toBe(String(proxy.port));
});

test.each([
  ["end", "closed"],
  ["reset", "reset"],
] as const)("a connection that is cut by %s ends, and the next one works", async (how, end) => {
  await using proxy = await startedProxy();
  const client = new Client(proxy);
  await client.asks("a");
  proxy.cut(how);
  expect(await client.ended()).toBe(end);
  await new Client(proxy).asks("b");
});

test("a proxy that refuses has nobody at its port, and lets those in be", async () => {
  await using proxy = await startedProxy();
  const early = new Client(proxy);
  await early.asks("a");
  await proxy.refuse(true);
  const late = connect(proxy.port, "127.0.0.1");
  expect(await codeOf(once(late, "connect"))).toBe("ECONNREFUSED");
  await early.asks("b");
  await proxy.refuse(false);
  await new Client(proxy).asks("c");
});

test("a frozen proxy sends nothing, and afterwards everything", async () => {
  await using proxy = await startedProxy();
  const client = new Client(proxy);
  await client.asks("a");
  proxy.freeze(true);
  client.socket.write("frozen");
  const late = new Client(proxy);
  late.socket.write("new");
  await passed(30);
  expect(heard).not.toContain("frozen");
  expect([client.said, late.said, client.end]).toEqual(["a", "", undefined]);
  proxy.freeze(false);
  await eventually(() => client.said === "afrozen" && late.said === "new");
});

test.each(["open", "closed"] as const)(
  "a stranded connection is mute for ever; the server sees it %s",
  async (server) => {
    await using proxy = await startedProxy();
    const accepted = once(echo, "connection") as Promise<[Socket]>;
    const client = new Client(proxy);
    await client.asks("a");
    const [inServer] = await accepted;
    proxy.strand(server);
    client.socket.write("stranded");
    if (server === "closed") await eventually(() => inServer.destroyed);
    await new Client(proxy).asks("b");
    expect(heard).not.toContain("stranded");
    expect([client.said, client.end]).toEqual(["a", undefined]);
    expect(inServer.destroyed).toBe(server === "closed");
  },
);

test("a delay is that of a round trip, and keeps the order", async () => {
  await using proxy = await startedProxy();
  const client = new Client(proxy);
  await client.asks("a");
  proxy.delay(60);
  const began = performance.now();
  client.socket.write("b");
  await passed(5);
  proxy.delay(0);
  client.socket.write("c");
  await eventually(() => client.said === "abc");
  expect(performance.now() - began).toBeGreaterThan(28); // The way back was quick again.
});

const CUTS: readonly [name: string, at: CutAt, heard: string, said: string][] = [
  ["before a text", { client: "COMMIT", when: "before" }, "", ""],
  ["after a text was sent", { client: /COM+IT/, when: "sent" }, "-COMMIT-", ""],
  ["when a text was answered", { client: (piece) => piece.includes("COMMIT"), when: "answered" }, "-COMMIT-", ""],
  ["in the midst of a question", { bytes: 3, from: "client" }, "-CO", ""],
  ["in the midst of an answer", { bytes: 3, from: "server" }, "-COMMIT-", "-CO"],
];
test.each(CUTS)("cuts %s", async (_, at, inServer, inClient) => {
  await using proxy = await startedProxy();
  const [client, other] = [new Client(proxy), new Client(proxy)];
  await Promise.all([client.asks("a"), other.asks("a")]);
  heard.length = 0;
  const cut = proxy.cutWhen(at);
  client.socket.write("-COMMIT-");
  await within(cut);
  await Promise.all([client.ended(), other.ended()]);
  await eventually(() => heard.join("") === inServer);
  expect(client.said).toBe(`a${inClient}`);
  await new Client(proxy).asks("COMMIT"); // Only once.
});

test("a text is found though it comes in two pieces", async () => {
  await using proxy = await startedProxy();
  const client = new Client(proxy);
  const cut = proxy.cutWhen({ client: "COMMIT", when: "before" });
  await client.asks("-COM");
  client.socket.write("MIT-");
  await within(cut);
  expect(await client.ended()).toBe("closed");
});
