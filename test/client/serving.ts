/** A runtime behind a real server, and a client of it. */
import type { Runtime, SessionEvent } from "bowline";
import { type Client, type ClientOptions, type ClientView, createClient } from "bowline/client";
import { type ServerOptions, serve } from "bowline/server";
import { running } from "../kit/worlds.ts";

export const TOKEN = "0123456789abcdef";

export interface Served extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly url: string;
  readonly client: Client;
  /** Another client of the same server, for example by way of a proxy. */
  clientOf(options?: Partial<ClientOptions>): Client;
  /** Ends all streams and takes no more requests. */
  close(): Promise<void>;
}

export async function served(runtime?: Runtime, server: ServerOptions = {}, port = 0): Promise<Served> {
  const opened = runtime ?? (await running());
  const { url, close } = await serve(opened, { token: TOKEN, ...server }).listen({ port });
  const clientOf = (options: Partial<ClientOptions> = {}): Client => createClient({ url, token: TOKEN, ...options });
  return {
    runtime: opened,
    url,
    client: clientOf(),
    clientOf,
    close,
    [Symbol.asyncDispose]: async () => {
      await close();
      await opened.close();
    },
  };
}

export async function collected<T>(events: AsyncIterable<T>, isEnd: (event: T) => boolean = () => false): Promise<T[]> {
  const all: T[] = [];
  for await (const event of events) {
    all.push(event);
    if (isEnd(event)) break;
  }
  return all;
}

export const isEndOf = (turnId: string) => (event: SessionEvent) =>
  event.kind === "committed" && event.by === "turn" && event.turnId === turnId;

export const cursorsIn = (events: readonly SessionEvent[]): readonly string[] =>
  events.flatMap((event) => (event.fact ? [event.cursor] : []));

/** Everything that this turn was to show has become a message. */
export const hasRead = (turns: number) => (view: ClientView) =>
  view.read?.turns === turns && view.turns.length === 0 && !view.isBehind;

export const json = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
