import type { SessionEvent } from "../model/event.ts";
import type { NodeId, TurnId } from "../model/ids.ts";
import type { Json } from "../model/json.ts";
import type { TurnOutcome } from "../model/outcome.ts";
import type { Usage } from "../model/usage.ts";
import type { Issue } from "../kernel/run.ts";
import type { CancelAnswer } from "../stores/store.ts";
import { Feed } from "./observe.ts";

export interface TurnResult<Value = Json> {
  readonly turnId: TurnId;
  readonly outcome: TurnOutcome<Value>;
  readonly usage: Usage;
  /** Set when the session had moved: the turn was kept beside it, and this is its last node. */
  readonly branch?: NodeId;
  /** Observers that failed; none of them changed anything. */
  readonly issues: readonly Issue[];
}

/** A turn under way. Leaving the iteration is not cancelling. */
export interface Turn<Value = Json> extends AsyncIterable<SessionEvent> {
  /** Known once the input is accepted. */
  readonly id: Promise<TurnId>;
  /** Settles after the commit and after the observers of it are done. Rejects only when the input was not accepted, or the turn was taken over. */
  result(): Promise<TurnResult<Value>>;
  cancel(reason?: string): Promise<CancelAnswer>;
}

export class TurnHandle implements Turn {
  readonly feed: Feed;
  readonly #cancel: (id: TurnId, reason: string) => Promise<CancelAnswer>;
  readonly #result = Promise.withResolvers<TurnResult>();
  #id: PromiseWithResolvers<TurnId> | undefined;
  #turnId: TurnId | undefined;
  #failure: { readonly error: unknown } | undefined;

  constructor(unreadMax: number, cancel: (id: TurnId, reason: string) => Promise<CancelAnswer>) {
    this.feed = new Feed(unreadMax);
    this.#cancel = cancel;
    this.#result.promise.catch(() => {}); // Whoever asks for the result is told; nobody need ask.
  }

  get id(): Promise<TurnId> {
    if (this.#turnId !== undefined) return Promise.resolve(this.#turnId);
    if (this.#failure !== undefined) return Promise.reject(this.#failure.error);
    if (this.#id === undefined) {
      this.#id = Promise.withResolvers<TurnId>();
      this.#id.promise.catch(() => {});
    }
    return this.#id.promise;
  }

  result(): Promise<TurnResult> {
    return this.#result.promise;
  }

  async cancel(reason = "It was cancelled."): Promise<CancelAnswer> {
    return this.#cancel(await this.id, reason);
  }

  [Symbol.asyncIterator](): AsyncIterator<SessionEvent> {
    return this.feed.read();
  }

  accepted(id: TurnId): void {
    this.#turnId = id;
    this.#id?.resolve(id);
  }

  done(result: TurnResult): void {
    this.feed.end();
    this.#result.resolve(result);
  }

  failed(error: unknown): void {
    this.#failure = { error };
    this.#id?.reject(error);
    this.feed.end();
    this.#result.reject(error);
  }
}
