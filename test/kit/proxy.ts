/**
 * A network between a client and a server that does what networks do: it cuts connections, refuses them, is slow, and says
 * nothing. It runs in the process of the test and understands no protocol: bytes go on as they come.
 */
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { freePort, stopAtEnd } from "./programs.ts";

/** What makes the proxy cut, and how far the bytes have come by then. Text is found as it is on the wire. */
export type CutAt =
  | {
      /** What the client sends. All that it writes at once is one piece: several messages may be in it. */
      readonly client: string | RegExp | ((piece: Buffer) => boolean);
      /**
       * `before`: the server does not get that piece. `sent`: it gets the piece, and does with it what it likes. `answered`:
       * it has begun to answer, so it has done what it was asked. In no case does the client hear an answer.
       */
      readonly when: "before" | "sent" | "answered";
    }
  /** Cuts when so many more bytes have passed from one side, all connections together: in the midst of a message. */
  | { readonly bytes: number; readonly from: Side };

type Side = "client" | "server";

export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** The same URL by way of this proxy. */
  url(of: string): string;
  /** Ends all connections, as a server that goes away does (`end`) or one that crashed (`reset`). */
  cut(how?: "end" | "reset"): void;
  /** Cuts all connections once, when this happens; settles then. A later rule takes the place of this one. */
  cutWhen(at: CutAt): Promise<void>;
  /** While it refuses, nobody listens on the port. Connections that are open stay. */
  refuse(on: boolean): Promise<void>;
  /** While it is frozen, nothing passes, not even the end of a connection; afterwards all of it does, late. */
  freeze(on: boolean): void;
  /**
   * From now on nothing passes on the connections that are open, for ever, while new ones work: half-open connections, as
   * after a router forgot them. The server keeps its side open, too, unless it is to see it closed.
   */
  strand(server?: "open" | "closed"): void;
  /** Makes a round trip take so much longer, one half of it in each direction. */
  delay(roundTripMs: number): void;
  /** Those that are open now, and all there ever were. */
  readonly connections: number;
  readonly accepted: number;
  /** How often, in all connections, the server spoke after the client had: how often somebody waited for an answer. */
  roundTrips(): number;
  close(): Promise<void>;
}

/** Starts a proxy in front of a port of the loopback, or of the server of a URL. It is closed at the end of the file. */
export async function startProxy(target: number | string): Promise<TcpProxy> {
  const proxy = new LoopbackProxy(typeof target === "number" ? target : Number(new URL(target).port));
  await proxy.refuse(false);
  return proxy;
}

interface Rule {
  readonly at: CutAt;
  /** Of the bytes that may still pass. */
  left: number;
  readonly done: PromiseWithResolvers<void>;
}

class LoopbackProxy implements TcpProxy {
  port = 0;
  accepted = 0;
  frozen = false;
  delayMs = 0; // in one direction
  trips = 0;
  /** What cuts, until it does. */
  rule: Rule | undefined;
  readonly target: number;
  readonly #links = new Set<Link>();
  readonly #atEnd = stopAtEnd(() => this.close());
  #listener: Server | undefined;

  constructor(target: number) {
    this.target = target;
  }

  get connections(): number {
    return [...this.#links].filter(({ isOpen }) => isOpen).length;
  }

  roundTrips(): number {
    return this.trips;
  }

  url(of: string): string {
    const url = new URL(of);
    url.hostname = "127.0.0.1";
    url.port = String(this.port);
    return url.href;
  }

  cut(how: "end" | "reset" = "end", except?: Link): void {
    for (const link of this.#links) if (link !== except) link.cut(how);
  }

  cutWhen(at: CutAt): Promise<void> {
    this.rule = { at, left: "bytes" in at ? at.bytes : 0, done: Promise.withResolvers() };
    return this.rule.done.promise;
  }

  async refuse(on: boolean): Promise<void> {
    if (on === (this.#listener === undefined)) return;
    if (on) {
      this.#listener?.close(); // Nobody is let in from now on. Its callback would wait for the connections that stay.
      this.#listener = undefined;
      return;
    }
    this.port ||= await freePort();
    this.#listener = createServer({ allowHalfOpen: true }, (client) => {
      this.accepted++;
      const link = new Link(this, client, () => void this.#links.delete(link));
      this.#links.add(link);
    });
    await once(this.#listener.listen(this.port, "127.0.0.1"), "listening");
  }

  freeze(on: boolean): void {
    this.frozen = on;
    for (const link of this.#links) link.flow();
  }

  strand(server: "open" | "closed" = "open"): void {
    for (const link of this.#links) link.strand(server);
  }

  delay(roundTripMs: number): void {
    this.delayMs = roundTripMs / 2;
  }

  async close(): Promise<void> {
    this.#atEnd.forget();
    await this.refuse(true);
    this.cut();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** One connection of a client, and the one to the server that belongs to it. */
class Link {
  readonly #proxy: LoopbackProxy;
  readonly #sockets: { readonly [side in Side]: Socket };
  readonly #ways: { readonly [from in Side]: Way };
  /** The last bytes of the client: what is looked for may come in two pieces. */
  #before: Buffer = Buffer.alloc(0);
  #asked = false;
  #doomed: Rule | undefined; // Cuts when the server answers.
  #stranded = false;

  constructor(proxy: LoopbackProxy, client: Socket, gone: () => void) {
    this.#proxy = proxy;
    const server = connect({ port: proxy.target, host: "127.0.0.1", allowHalfOpen: true });
    this.#sockets = { client, server };
    this.#ways = { client: new Way(proxy, server), server: new Way(proxy, client) };
    for (const from of ["client", "server"] as const) {
      const socket = this.#sockets[from].setNoDelay();
      socket.on("data", (bytes: Buffer) => this.#passed(from, bytes));
      socket.on("end", () => this.#stranded || this.#ways[from].push("end"));
      socket.on("error", () => this.#stranded || this.#ways[from].push("reset"));
      socket.on("close", () => client.closed && server.closed && gone());
    }
  }

  get isOpen(): boolean {
    return !this.#sockets.client.destroyed;
  }

  flow(): void {
    for (const way of Object.values(this.#ways)) way.flow();
  }

  cut(how: "end" | "reset"): void {
    for (const socket of Object.values(this.#sockets)) how === "end" ? socket.destroy() : socket.resetAndDestroy();
    for (const way of Object.values(this.#ways)) way.clear();
  }

  strand(server: "open" | "closed"): void {
    this.#stranded = true;
    for (const way of Object.values(this.#ways)) way.clear();
    if (server === "closed") this.#sockets.server.destroy();
  }

  #passed(from: Side, bytes: Buffer): void {
    if (this.#stranded) return;
    if (from === "server" && this.#asked) this.#proxy.trips++;
    this.#asked = from === "client";
    if (from === "server" && this.#doomed !== undefined) return this.#fulfil(this.#doomed);

    const { rule } = this.#proxy;
    if (rule === undefined) return this.#ways[from].push(bytes);
    if ("bytes" in rule.at) {
      if (rule.at.from !== from) return this.#ways[from].push(bytes);
      const passing = bytes.subarray(0, rule.left);
      rule.left -= passing.length;
      this.#ways[from].push(passing);
      if (rule.left === 0) this.#fulfilOnceSent(rule, from);
      return;
    }
    const isMeant = from === "client" && this.#says(rule.at.client, bytes);
    if (this.#stranded) return; // By the test, as it was asked.
    if (!isMeant) return this.#ways[from].push(bytes);
    if (rule.at.when === "before") return this.#fulfil(rule);
    this.#ways[from].push(bytes);
    if (rule.at.when === "sent") return this.#fulfilOnceSent(rule, from);
    this.#proxy.rule = undefined;
    this.#doomed = rule;
  }

  #says(what: Extract<CutAt, { client: unknown }>["client"], piece: Buffer): boolean {
    if (typeof what === "function") return what(piece);
    if (typeof what !== "string") return what.test(piece.toString());
    const found = Buffer.concat([this.#before, piece]);
    const says = found.includes(what);
    this.#before = found.subarray(Math.max(0, found.length - Buffer.byteLength(what) + 1));
    return says;
  }

  #fulfil(rule: Rule): void {
    this.#proxy.rule = undefined;
    this.#proxy.cut();
    rule.done.resolve();
  }

  /** The receiver gets all that passed, and then the end: a connection that is destroyed may take its last bytes along. */
  #fulfilOnceSent(rule: Rule, from: Side): void {
    this.#proxy.rule = undefined;
    this.#stranded = true;
    this.#ways[from].push("end", () => {
      this.#sockets[from].destroy();
      this.#proxy.cut("end", this);
      rule.done.resolve();
    });
  }
}

type Passing = Buffer | "end" | "reset";

/** One direction of a connection. What comes waits here: for its time, and while the proxy is frozen. */
class Way {
  readonly #proxy: LoopbackProxy;
  readonly #to: Socket;
  #waiting: { readonly what: Passing; readonly due: number; readonly sent: (() => void) | undefined }[] = [];
  #timer: NodeJS.Timeout | undefined;

  constructor(proxy: LoopbackProxy, to: Socket) {
    this.#proxy = proxy;
    this.#to = to;
  }

  push(what: Passing, sent?: () => void): void {
    this.#waiting.push({ what, due: performance.now() + this.#proxy.delayMs, sent });
    this.flow();
  }

  flow(): void {
    clearTimeout(this.#timer);
    while (!this.#proxy.frozen) {
      const next = this.#waiting[0];
      if (next === undefined) return;
      const ms = next.due - performance.now();
      if (ms > 0) {
        this.#timer = setTimeout(() => this.flow(), ms);
        return;
      }
      this.#waiting.shift();
      this.#send(next.what, next.sent);
    }
  }

  #send(what: Passing, sent: (() => void) | undefined): void {
    if (this.#to.destroyed) return;
    if (what === "reset") this.#to.resetAndDestroy();
    else if (what === "end") this.#to.end(sent);
    else this.#to.write(what);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#waiting = [];
  }
}
