// Server-sent events: shared sources, heartbeats and the bounds on open streams.
import { RuntimeError } from "../model/errors.ts";
import type { SessionEvent } from "../model/event.ts";
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
    const { streams, streamsInAll, beatMs } = this.#limits;
    const open = this.#open.get(caller) ?? 0;
    if (open >= streams) throw new RuntimeError("server.busy", { limit: "streams", max: streams });
    if (this.#ends.size >= streamsInAll)
      throw new RuntimeError("server.busy", { limit: "streamsInAll", max: streamsInAll });
    if (request.method === "HEAD") return new Response(null, { headers: HEADERS }); // A HEAD request has no body.
    const { reader, leave } = this.#join(source);
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
    return new Response(body, { headers: HEADERS });
  }

  #join({ name, fromNow, open }: Source): { readonly reader: Reader; leave(): void } {
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
