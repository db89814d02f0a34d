// Server-sent events: shared sources, heartbeats and the bounds on open streams.
import { RuntimeError } from "../model/errors.ts";
import type { SessionEvent } from "../model/event.ts";
import type { HeaderList } from "./answer.ts";
import { Broadcast, type Reader, utf8 } from "./broadcast.ts";
import type { LIMITS } from "./options.ts";

const START = utf8.encode("retry: 1000\n\n");
const BEAT = utf8.encode(": \n\n");
export const EVENT_STREAM = "text/event-stream";
const HEADERS = { "content-type": EVENT_STREAM, "x-accel-buffering": "no" };

export interface Source {
  /** Streams of the same name share one source. */
  readonly name: string;
  /** The reader gets only events after it has joined. */
  readonly fromNow?: boolean;
  open(): AsyncIterator<SessionEvent>;
}

interface Joined {
  readonly reader: Pick<Reader, "next" | "push">;
  leave(): void;
}

/**
 * Asks its source for text only when the client reads. If the server cuts the stream, the value of the source's
 * `return()` is its last text, because clients of other protocols take a plain end for the end of the turn.
 */
class Pulled implements Pick<Reader, "next" | "push"> {
  readonly #source: AsyncIterator<string, string>;
  #asked: Promise<Uint8Array | undefined> | undefined;
  #waiting: PromiseWithResolvers<Uint8Array | undefined> | undefined;
  #last: Promise<Uint8Array | undefined> | undefined;

  constructor(source: AsyncIterator<string, string>) {
    this.#source = source;
  }

  /** The frame is written if the client waits for text. */
  push(frame: Uint8Array): void {
    this.#waiting?.resolve(frame);
  }

  end(): void {
    this.#last = Promise.resolve(this.#source.return?.()).then(encoded, () => undefined);
    this.#waiting?.resolve(this.#takeLast());
  }

  async next(): Promise<Uint8Array | undefined> {
    if (this.#last !== undefined) return this.#takeLast();
    const waiting = Promise.withResolvers<Uint8Array | undefined>();
    this.#waiting = waiting;
    this.#asked ??= this.#source.next().then((result) => {
      this.#asked = undefined;
      return result.done === true ? undefined : encoded(result);
    });
    this.#asked.then(waiting.resolve, waiting.reject);
    return waiting.promise;
  }

  async #takeLast(): Promise<Uint8Array | undefined> {
    const last = await this.#last;
    this.#last = Promise.resolve(undefined);
    return last;
  }
}

const encoded = (result: { readonly value: string } | undefined): Uint8Array | undefined =>
  result === undefined || result.value === "" ? undefined : utf8.encode(result.value);

export class Streams {
  readonly #limits: typeof LIMITS;
  readonly #sources = new Map<string, Broadcast>();
  readonly #open = new Map<string, number>();
  readonly #ends = new Set<() => void>();
  #isClosed = false;

  constructor(limits: typeof LIMITS) {
    this.#limits = limits;
  }

  /** Answers with the events of a source, until it ends, the client leaves or the server closes. */
  answer(request: Request, caller: string, source: Source): Response {
    return this.#answer(request, caller, HEADERS, () => this.#join(source));
  }

  /** Answers with text that is made when the client reads (adapter-2). */
  answerText(
    request: Request,
    caller: string,
    open: () => AsyncIterator<string, string>,
    headers: object = {},
  ): Response {
    return this.#answer(request, caller, { ...HEADERS, ...headers }, () => {
      const reader = new Pulled(open());
      return { reader, leave: () => reader.end() };
    });
  }

  #answer(request: Request, caller: string, headers: HeaderList, join: () => Joined): Response {
    const { streams, streamsInAll, beatMs } = this.#limits;
    const open = this.#open.get(caller) ?? 0;
    if (open >= streams) throw new RuntimeError("server.busy", { limit: "streams", max: streams });
    if (this.#ends.size >= streamsInAll)
      throw new RuntimeError("server.busy", { limit: "streamsInAll", max: streamsInAll });
    if (request.method === "HEAD") return new Response(null, { headers }); // A HEAD request has no body.
    const { reader, leave } = join();
    this.#open.set(caller, open + 1);
    const end = (): void => {
      if (!this.#ends.delete(end)) return;
      clearInterval(beat);
      request.signal.removeEventListener("abort", end);
      leave();
      const left = (this.#open.get(caller) ?? 1) - 1;
      if (left === 0) this.#open.delete(caller);
      else this.#open.set(caller, left);
    };
    this.#ends.add(end);
    const beat = setInterval(() => reader.push(BEAT), beatMs);
    beat.unref();
    if (request.signal.aborted || this.#isClosed) end();
    request.signal.addEventListener("abort", end, { once: true });
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => controller.enqueue(START),
        async pull(controller) {
          const bytes = await reader.next();
          if (bytes !== undefined) return controller.enqueue(bytes);
          end();
          controller.close(); // Throws after a cancel, when no reader is left.
        },
        cancel: end,
      },
      { highWaterMark: 1 },
    );
    return new Response(body, { headers });
  }

  #join({ name, fromNow, open }: Source): Joined {
    const known = this.#sources.get(name);
    const joined = known?.join(fromNow);
    if (known !== undefined && joined !== undefined) return { reader: joined, leave: () => known.leave(joined) };
    const made = new Broadcast(open(), () => {
      if (this.#sources.get(name) === made) this.#sources.delete(name);
    });
    this.#sources.set(name, made);
    const reader = made.join() as Reader;
    return { reader, leave: () => made.leave(reader) };
  }

  close(): void {
    this.#isClosed = true;
    for (const end of [...this.#ends]) end();
  }
}
