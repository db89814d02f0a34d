import type { Issue } from "../../kernel/hook-runner.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { Preview, TurnProgress } from "../../model/event.ts";
import type { NodeId, SessionId, TurnId } from "../../model/ids.ts";
import { describeThrown, type Json } from "../../model/json.ts";
import type { TurnOutcome } from "../../model/outcome.ts";
import type { Usage } from "../../model/usage.ts";
import type { CancelAnswer } from "../../stores/store.ts";
import { requireWords } from "../checks.ts";
import type { Core } from "../core.ts";
import { Feed } from "../readers/feed.ts";
import { attemptOf, LastText, type Previews } from "../readers/previews.ts";
import { tellWaits } from "../readers/wait-facts.ts";
import { cancel } from "../services/sessions.ts";
import type { LiveSession } from "../session/session.ts";

/** How a turn ended and what it cost. */
export interface TurnResult<Value = Json> {
  readonly turnId: TurnId;
  readonly outcome: TurnOutcome<Value>;
  readonly usage: Usage;
  /** Set when the session had moved meanwhile: the turn was committed as a branch, and this is its last node. */
  readonly branch?: NodeId;
  /** Hooks that failed without changing the outcome, for example `lifecycle` hooks. */
  readonly issues: readonly Issue[];
}

/** A turn under way. Iterate for its events, await `result()` for its end. Leaving the loop does not cancel it. */
export interface Turn<Value = Json> extends AsyncIterable<TurnProgress> {
  /** Resolves when the input is durable. */
  readonly id: Promise<TurnId>;
  /** Settles after the commit and its `lifecycle` hooks. Rejects when the input was refused or the turn is lost. */
  result(): Promise<TurnResult<Value>>;
  /** Asks the turn to end; `result()` then says how it ended. */
  cancel(reason?: string): Promise<CancelAnswer>;
}

export type WaitFact = Extract<TurnProgress, { readonly kind: "waiting" | "resolved" }>;

export class TurnHandle implements Turn {
  readonly feed: Feed;
  readonly #core: Core;
  readonly #sessionId: SessionId;
  #turnId: TurnId | undefined;
  /** What was shown of a turn that runs in another process. */
  elsewhere: LastText | undefined;
  #told: Set<string> | undefined;
  /** Its turn is parked, and nobody has begun to read here. A run that goes on here ends this, and tells it all. */
  isResting = false;
  #ended: { readonly result: TurnResult } | { readonly error: unknown } | undefined;
  // Created when asked for: a failure that nobody waits for must not be an unhandled rejection.
  #id: PromiseWithResolvers<TurnId> | undefined;
  #result: PromiseWithResolvers<TurnResult> | undefined;

  /** It holds no session: a turn that is waited for may be parked, and its session let go. */
  constructor({ core, id }: LiveSession) {
    this.feed = new Feed(core.limits.unreadEventsMax);
    this.#core = core;
    this.#sessionId = id;
  }

  get id(): Promise<TurnId> {
    if (this.#turnId !== undefined) return Promise.resolve(this.#turnId);
    if (this.#ended !== undefined && "error" in this.#ended) return Promise.reject(this.#ended.error);
    this.#id ??= Promise.withResolvers<TurnId>();
    return this.#id.promise;
  }

  /** The runtime itself, which waits nowhere, may always ask. */
  result(isInside = this.#core.sessions.find(this.#sessionId)?.isInside ?? false): Promise<TurnResult> {
    if (isInside && this.#ended === undefined)
      return Promise.reject(new RuntimeError("operation.reentrant", { name: "The result of a turn" }));
    if (this.#result === undefined) {
      this.#result = Promise.withResolvers<TurnResult>();
      if (this.#ended !== undefined) {
        if ("error" in this.#ended) this.#result.reject(this.#ended.error);
        else this.#result.resolve(this.#ended.result);
      }
    }
    return this.#result.promise;
  }

  async cancel(reason = "It was cancelled."): Promise<CancelAnswer> {
    const turnId = await this.id;
    requireWords("reason", reason);
    return cancel(this.#core, this.#sessionId, turnId, reason);
  }

  [Symbol.asyncIterator](): AsyncIterator<TurnProgress> {
    const session = this.#core.sessions.find(this.#sessionId);
    // The turn that runs now may be listened to from inside; one after it has nothing to show before this code ends.
    const now = session?.now;
    if (session?.isInside === true && this.#ended === undefined && (this.#turnId === undefined || this.#turnId !== now))
      throw new RuntimeError("operation.reentrant", { name: "Another turn" });
    const read = this.feed.read();
    if (this.#core.watch.followed.has(this.#sessionId)) this.#core.live?.heard(this.#sessionId);
    if (this.isResting && this.#turnId !== undefined) {
      this.isResting = false;
      this.#core.watch.showOf(this.#turnId)?.tellAll(this);
      tellWaits(this.#core, this.#sessionId, this.#turnId, [this]).catch((error: unknown) =>
        this.#core.trace("turn.show", { problem: describeThrown(error) }, { sessionId: this.#sessionId }),
      );
    }
    return read;
  }

  /** Tells what the turn waits for, and that it does no longer: each once, from wherever it is heard. */
  tell(fact: WaitFact): void {
    const name = `${fact.kind}/${fact.wait}`;
    this.#told ??= new Set();
    if (this.#told.has(name)) return;
    this.#told.add(name);
    this.feed.push(fact);
  }

  /** The turn is parked. What nobody has begun to read here is told when somebody does: handles may be many. */
  rest(): void {
    if (this.feed.isRead) return;
    this.feed.rest();
    this.#told = undefined;
    this.isResting = true;
  }

  /** The turn runs elsewhere, and shows more. What was lost before that is not told: the end will be. */
  toldElsewhere(events: readonly Preview[], isLost: boolean): void {
    const own = events.filter(({ turnId }) => turnId === this.#turnId);
    // All of it comes again, or its beginning is missing: what was shown under the same keys does not go on.
    if (isLost)
      for (const { key, sessionId, turnId } of latestOf(own))
        this.feed.push({ fact: false, sessionId, turnId, key, kind: "retracted" });
    this.elsewhere ??= new LastText();
    for (const event of own) {
      this.elsewhere.add(event);
      this.feed.push(event);
    }
  }

  /** The turn has ended elsewhere: what nobody was shown of its answer is shown now. */
  endedElsewhere({ turnId, outcome }: TurnResult): void {
    const rest = this.elsewhere?.rest(this.#sessionId, turnId, outcome);
    if (rest !== undefined) this.feed.push(rest);
  }

  /** The iteration began in the middle of a turn elsewhere. */
  joinElsewhere(said: Previews): void {
    this.toldElsewhere(said.list(), false);
  }

  accepted(id: TurnId): void {
    this.#turnId = id;
    this.#id?.resolve(id);
    this.#id = undefined;
  }

  done(result: TurnResult): void {
    this.#ended = { result };
    this.feed.end();
    this.#result?.resolve(result);
  }

  failed(error: unknown): void {
    this.#ended = { error };
    if (this.#turnId === undefined) this.#id?.reject(error);
    this.feed.end(error);
    this.#result?.reject(error);
  }
}

/** One preview of each attempt. */
const latestOf = (previews: readonly Preview[]): Iterable<Preview> =>
  new Map(previews.map((event) => [attemptOf(event), event])).values();
