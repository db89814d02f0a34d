/** A server on a real socket, with sessions of two owners, and requests of them. */
import { request } from "node:http";
import { connect, type Socket } from "node:net";
import { createRuntime, defineTool, defineTrigger, type Runtime } from "bowline";
import { definePlugin } from "bowline/plugin";
import { approvals } from "bowline/plugins/approvals";
import type { Provider } from "bowline/provider";
import { type Listening, type Server, type ServerOptions, serve } from "bowline/server";
import { memory } from "bowline/stores/memory";
import { sqlite } from "bowline/stores/sqlite";
import { z } from "zod";
import { call, end, endInCalls, text } from "../kit/models.ts";
import { signalOf, wordsOf } from "../kit/reading.ts";

export const TOKEN = "0123456789abcdef";
export const SECRET = "hook-secret";

/** Says what the input asks for: `pay`, `hold` (until `release`), `count 500`, `big 20`, or the input. */
function speaker(): Provider & { release(): void; readonly began: Promise<void> } {
  const go = signalOf();
  const begun = signalOf();
  return {
    id: "speaker",
    modelId: "test",
    release: () => go.resolve(),
    began: begun.promise,
    async *stream({ messages }) {
      const asked = messages.findLastIndex(({ role }) => role === "user");
      const words = wordsOf(messages[asked]);
      const [, count] = /^count (\d+)/.exec(words) ?? [];
      const [, big] = /^big (\d+)/.exec(words) ?? [];
      if (words === "pay" && asked === messages.length - 1) {
        yield call("pay", { euros: 5 });
        return yield endInCalls;
      }
      if (words === "hold") {
        yield text("Held ");
        begun.resolve();
        await go.promise;
        yield text("no more.");
      } else if (count !== undefined) for (let nth = 1; nth <= Number(count); nth++) yield text(`${nth} `);
      else if (big !== undefined) for (let nth = 0; nth < Number(big); nth++) yield text("x".repeat(10_000));
      else yield text(`re: ${words}`);
      yield end;
    },
  };
}

const pay = defineTool({
  name: "pay",
  description: "Pays.",
  input: z.object({ euros: z.number() }),
  execute: () => "paid",
});
const mail = defineTrigger({ name: "mail.received", payload: z.object({ from: z.string() }) });
const plugin = definePlugin({
  id: "acme/all",
  setup: ({ query, command, task }) => ({
    triggers: [mail],
    operations: {
      look: query({ run: () => "seen" }),
      fail: command({
        run: () => {
          throw new Error("secret path /etc/shadow");
        },
      }),
      wait: task({
        input: z.any(),
        run: async ({ job }) => (job === undefined ? null : ((await job.receive("go")) as never)),
      }),
    },
  }),
});

export interface World extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly server: Server;
  readonly listening: Listening;
  readonly url: string;
  readonly model: ReturnType<typeof speaker>;
  readonly errors: unknown[];
  /** All text that the server has answered with. */
  readonly answers: string[];
  /** Sends a request of this user and reads the answer. `user`: undefined for nobody. */
  ask(
    user: string | undefined,
    method: string,
    path: string,
    body?: unknown,
    headers?: { readonly [name: string]: string },
  ): Promise<Answer>;
  stream(user: string, path: string, headers?: { readonly [name: string]: string }): Promise<Events>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read the fields that they expect.
  readonly json: any;
}

/** Users are named by their token: `ann` and `bob` own sessions, `root` has no owner. */
export const authorize = (request: Request) => {
  const [, name] = /^Bearer (ann|bob|root)$/.exec(request.headers.get("authorization") ?? "") ?? [];
  return name === undefined ? undefined : name === "root" ? { name } : { owner: name, name };
};

export async function opened(options: ServerOptions = {}, file?: string): Promise<World> {
  const model = speaker();
  const store = file === undefined ? memory() : sqlite(file, { durability: "process" });
  const ask = { tool: "pay", verdict: "ask", reason: "It moves money." } as const;
  const runtime = await createRuntime({
    ...{ store, model, tools: [pay], plugins: [plugin, approvals({ rules: [ask] })] },
  });
  const errors: unknown[] = [];
  const own = options.token === undefined ? { authorize } : {};
  const server = serve(runtime, { ...own, onError: (error) => void errors.push(error), ...options });
  const listening = await server.listen();
  const { url } = listening;
  const answers: string[] = [];
  const headersOf = (user: string | undefined) => (user === undefined ? {} : { authorization: `Bearer ${user}` });
  return {
    ...{ runtime, server, listening, url, model, errors, answers },
    ask: async (user, method, path, body, headers = {}) => {
      const isJson = body !== undefined && !(body instanceof Uint8Array);
      const response = await fetch(url + path, {
        method,
        redirect: "manual",
        headers: { ...headersOf(user), ...(isJson ? { "content-type": "application/json" } : {}), ...headers },
        ...(body === undefined ? {} : { body: isJson ? JSON.stringify(body) : (body as Uint8Array<ArrayBuffer>) }),
      });
      const said = await response.text();
      answers.push(said);
      const isObject = response.headers.get("content-type")?.includes("json") === true && said !== "";
      return { status: response.status, headers: response.headers, text: said, json: isObject ? JSON.parse(said) : {} };
    },
    stream: (user, path, headers = {}) => Events.open(url + path, { ...headersOf(user), ...headers }, answers),
    [Symbol.asyncDispose]: async () => {
      model.release();
      await listening.close();
      await runtime.close();
    },
  };
}

export interface Frame {
  readonly id?: string;
  // biome-ignore lint/suspicious/noExplicitAny: tests read the fields that they expect.
  readonly data?: any;
  readonly event?: string;
  readonly raw: string;
}

/** An event stream of a plain client. */
export class Events implements AsyncDisposable {
  readonly status: number;
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
  readonly frames: Frame[] = [];
  readonly ended: Promise<void>;
  bytes = 0;
  readonly #destroy: () => void;
  #news = signalOf();

  private constructor(message: import("node:http").IncomingMessage, answers: string[]) {
    this.status = message.statusCode ?? 0;
    this.headers = message.headers as never;
    this.#destroy = () => message.destroy();
    let rest = "";
    message.setEncoding("utf8").on("data", (chunk: string) => {
      this.bytes += Buffer.byteLength(chunk);
      answers.push(chunk);
      const blocks = `${rest}${chunk}`.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const raw of blocks) this.frames.push(frameOf(raw));
      this.#tell();
    });
    this.ended = new Promise((resolve) => {
      const done = (): void => {
        resolve();
        this.#tell();
      };
      message.on("end", done).on("error", done).on("close", done);
    });
  }

  static open(url: string, headers: { readonly [name: string]: string }, answers: string[]): Promise<Events> {
    return new Promise((resolve, reject) => {
      request(url, { headers, agent: false }, (message) => resolve(new Events(message, answers)))
        .on("error", reject)
        .end();
    });
  }

  #tell(): void {
    this.#news.resolve();
    this.#news = signalOf();
  }

  /** Waits for a frame. */
  async find(is: (frame: Frame) => boolean): Promise<Frame> {
    for (let at = 0; ; at++) {
      while (at >= this.frames.length) await this.#news.promise;
      const frame = this.frames[at] as Frame;
      if (is(frame)) return frame;
    }
  }
  kind(kind: string): Promise<Frame> {
    return this.find(({ data }) => data?.kind === kind);
  }
  get facts(): readonly Frame[] {
    return this.frames.filter(({ id }) => id !== undefined);
  }
  /** The text that was streamed, without the keys of its deltas. */
  get text(): string {
    return this.frames
      .map(({ data }) => (Array.isArray(data) ? data[1] : data?.kind === "text" ? data.delta : ""))
      .join("");
  }
  close(): void {
    this.#destroy();
  }
  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
  }
}

function frameOf(raw: string): Frame {
  const fields = Object.fromEntries(raw.split("\n").map((line) => line.split(/: (.*)/s, 2)));
  return {
    raw,
    id: fields.id,
    event: fields.event,
    data: fields.data === undefined ? undefined : JSON.parse(fields.data),
  };
}

/** A socket to which a test writes bytes that no client would send. */
export async function raw(port: number, bytes: string): Promise<Socket & { answer(): Promise<string> }> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk) => (text += chunk));
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.on("close", () => resolve()));
  socket.write(bytes, "latin1");
  return Object.assign(socket, {
    answer: async () => {
      await closed;
      return text;
    },
  });
}
