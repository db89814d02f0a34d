// Server-sent events: shared sources, heartbeats and the bounds on open streams.
import { RuntimeError } from "../model/errors.ts";
import type { SessionEvent } from "../model/event.ts";
import { Broadcast, type Reader } from "./broadcast.ts";
import type { LIMITS } from "./options.ts";

/** A comment this often, so that proxies keep the connection and a dead one is noticed. */
const BEAT_MS = 15_000;
/** A reader that takes nothing for this long is gone. */
const SILENT_MS = 60_000;

export interface Source {
  /** Streams with the same name share a source. */
  readonly name: string;
  open(): AsyncIterator<SessionEvent>;
}

export class Streams {
  readonly #limits: typeof LIMITS;
  readonly #sources = new Map<string, Broadcast>();
  readonly #open = new Map<string, number>();
  readonly #closing = new AbortController();
  #count = 0;

  constructor(limits: typeof LIMITS) {
    this.#limits = limits;
  }

  /** Answers with the events of a source, until it ends, the client leaves or the server closes. */
  answer(request: Request, caller: string, source: Source): Response {
    const { streams, streamsInAll } = this.#limits;
    const open = this.#open.get(caller) ?? 0;
    if (open >= streams) throw new RuntimeError("server.busy", { limit: "streams", max: streams });
    if (this.#count >= streamsInAll)
      throw new RuntimeError("server.busy", { limit: "streamsInAll", max: streamsInAll });
    this.#open.set(caller, open + 1);
    this.#count++;
    const { reader, leave } = this.#join(source);
    let isOver = false;
    const end = (): void => {
      if (isOver) return;
      isOver = true;
      clearInterval(beat);
      request.signal.removeEventListener("abort", end);
      this.#closing.signal.removeEventListener("abort", end);
      leave();
      this.#count--;
      const left = (this.#open.get(caller) ?? 1) - 1;
      if (left === 0) this.#open.delete(caller);
      else this.#open.set(caller, left);
    };
    let takenAt = Date.now();
    const beat = setInterval(() => {
      if (Date.now() - takenAt > SILENT_MS) end();
      else reader.push(": \n\n");
    }, BEAT_MS);
    beat.unref();
    if (request.signal.aborted || this.#closing.signal.aborted) end();
    request.signal.addEventListener("abort", end, { once: true });
    this.#closing.signal.addEventListener("abort", end, { once: true });
    const utf8 = new TextEncoder();
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => controller.enqueue(utf8.encode("retry: 1000\n\n")),
        async pull(controller) {
          const text = await reader.next();
          takenAt = Date.now();
          if (text !== undefined) return controller.enqueue(utf8.encode(text));
          end();
          controller.close(); // After a cancel this throws, and nobody reads any more.
        },
        cancel: end,
      },
      { highWaterMark: 1 },
    );
    return new Response(body, { headers: { "content-type": "text/event-stream", "x-accel-buffering": "no" } });
  }

  #join({ name, open }: Source): { readonly reader: Reader; leave(): void } {
    const known = this.#sources.get(name);
    const joined = known?.join();
    if (known !== undefined && joined !== undefined) return { reader: joined, leave: () => known.leave(joined) };
    const made = new Broadcast(open(), () => {
      if (this.#sources.get(name) === made) this.#sources.delete(name);
    });
    this.#sources.set(name, made);
    const reader = made.join() as Reader;
    return { reader, leave: () => made.leave(reader) };
  }

  close(): void {
    this.#closing.abort();
  }
}
