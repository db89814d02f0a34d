// Streams of server-sent events that outlive their connections.
//
// events-1 If a connection breaks, the client opens the stream again after the last complete fact: no fact is lost or
// repeated.
// events-2 Deltas are decoded: every event has the form that `session.observe()` gives it.
// events-3 A connection that is silent for too long counts as broken: the server sends a comment every 15 seconds.
import type { RuntimeFact, SessionEvent } from "../model/event.ts";
import type { Problem, RouteName } from "../server/api.ts";
import { type Call, ClientError, type Send, unreachable } from "./http.ts";
import { isPassing, pause, type Retrying, TRIES } from "./retry.ts";

const SILENT_MS = 45_000;
/** A connection that lasted this long was good, even without events. */
const GOOD_MS = 5_000;

export interface Message {
  readonly id?: string;
  readonly event?: string;
  readonly data: string;
}

/** The messages of a body, chunk by chunk. A chunk without a message shows that the connection works. */
export async function* messagesIn(body: ReadableStream<Uint8Array>): AsyncGenerator<readonly Message[]> {
  const reader = body.getReader();
  const utf8 = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (text + utf8.decode(value, { stream: true })).split(/\r?\n\r?\n/);
      text = blocks.pop() as string;
      yield blocks.map(messageOf).filter(({ data }) => data !== "");
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

function messageOf(block: string): Message {
  const fields: { [name: string]: string } = { data: "" };
  for (const line of block.split(/\r?\n/)) {
    const [, name, value] = /^(id|event|data): ?(.*)$/s.exec(line) ?? [];
    if (name !== undefined) fields[name] = name === "data" ? fields.data + value! : value!;
  }
  return fields as unknown as Message;
}

export interface Opening extends Retrying {
  readonly send: Send;
  readonly silentMs?: number | undefined;
  readonly name: RouteName;
  readonly call: Pick<Call, "path"> & {
    readonly query?: { readonly after?: string | undefined; readonly [name: string]: unknown };
  };
  /** Called each time the stream is opened. */
  readonly opened?: () => void;
}

/** The events of a stream, chunk by chunk. Ends when the server answers that the stream has ended. */
export async function* eventsOf<E extends SessionEvent | RuntimeFact>(
  opening: Opening,
): AsyncGenerator<readonly E[], void> {
  const { signal, onConnection } = opening;
  let after = opening.call.query?.after;
  let wasOpen = false;
  let isLost = false;
  const opened = (): void => {
    if (isLost) onConnection?.();
    isLost = false;
    wasOpen = true;
    opening.opened?.();
  };
  const isOver = (): boolean => signal?.aborted === true;
  for (let tries = 0; !isOver(); tries++) {
    const begun = Date.now();
    let failure: unknown;
    try {
      for await (const { events, id } of connection<E>(opening, after, opened)) {
        tries = 0;
        if (events.length > 0) yield events;
        after = id ?? after;
      }
    } catch (error) {
      failure = error;
    }
    if (isOver() || failure === OVER) return;
    const lost = failure instanceof ClientError ? failure : unreachable(failure);
    if (!isPassing(lost) || (!wasOpen && tries + 1 >= TRIES)) throw lost;
    if (Date.now() - begun > GOOD_MS) tries = 0;
    isLost = true;
    onConnection?.(lost);
    await pause(tries, lost, signal);
  }
}
const OVER = Symbol();

interface Piece<E> {
  readonly events: readonly E[];
  /** The id of the last fact. */
  readonly id: string | undefined;
}

/** One connection: returns when it ends, and throws `OVER` at the end of the stream. */
async function* connection<E>(
  { send, name, call, signal, silentMs = SILENT_MS }: Opening,
  after: string | undefined,
  opened: () => void,
): AsyncGenerator<Piece<E>, void> {
  const own = new AbortController();
  const leave = (): void => own.abort();
  signal?.addEventListener("abort", leave);
  let timer = setTimeout(leave, silentMs); // events-3
  try {
    const response = await send(name, { ...call, ...from(name, call.query, after), signal: own.signal });
    if (response.status === 204 || response.body === null) throw OVER;
    opened();
    const decode = decoder<E>();
    for await (const messages of messagesIn(response.body)) {
      clearTimeout(timer);
      timer = setTimeout(leave, silentMs);
      const at = messages.findIndex(({ event }) => event === "problem");
      const good = at < 0 ? messages : messages.slice(0, at);
      if (good.length > 0) yield { events: good.flatMap(decode), id: good.findLast(({ id }) => id !== undefined)?.id };
      if (at >= 0) throw new ClientError(JSON.parse(messages[at]!.data) as Problem);
    }
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", leave);
    leave();
  }
}

/**
 * Where the stream continues. A cursor contains the id of its session, which can have any characters, and a header
 * takes ASCII only. So most streams use a parameter.
 */
function from(name: RouteName, query: object | undefined, after: string | undefined): Call {
  if (after === undefined || name !== "turnEvents") return { query: { ...query, after } };
  return { headers: { "last-event-id": after.replace(/[^!-~]/g, "_") } };
}

/** A delta after the first of its preview is `[number, "text"]`; the first one has the number `n`. */
function decoder<E>(): (message: Message) => readonly E[] {
  const begun = new Map<number, object>();
  return ({ data }) => {
    const value = JSON.parse(data) as readonly [number, string] | { readonly n?: number };
    if (Array.isArray(value)) {
      const first = begun.get(value[0]);
      return first === undefined ? [] : [{ ...first, delta: value[1] } as E];
    }
    const { n, ...event } = value as { readonly n?: number };
    if (n !== undefined) begun.set(n, event);
    return [event as E];
  };
}
