import type { Issue } from "../../kernel/hook-runner.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { Preview, TurnProgress } from "../../model/event.ts";
import type { NodeId, SessionId, TurnId } from "../../model/ids.ts";
import { describeThrown, type Json } from "../../model/json.ts";
import { type TurnOutcome, textOf } from "../../model/outcome.ts";
import type { Usage } from "../../model/usage.ts";
import type { CancelAnswer } from "../../stores/store.ts";
import { REASON_MAX, requireWords } from "../checks.ts";
import type { Core } from "../core.ts";
import { Feed } from "../readers/feed.ts";
import { attemptOf, LastText, type Previews } from "../readers/previews.ts";
import { notifyWaits } from "../readers/wait-facts.ts";
import { cancel } from "../services/sessions.ts";
import type { LiveSession } from "../session/session.ts";

/** How a turn ended and what it cost. */
export interface TurnResult<Value = Json> {
  readonly turnId: TurnId;
  readonly outcome: TurnOutcome<Value>;
  readonly usage: Usage;
  /** Set if the session changed during the turn: the turn was committed as a branch, and this is its last node. */
  readonly branch?: NodeId;
  /** Hooks that failed without changing the outcome, for example `lifecycle` hooks. */
  readonly issues: readonly Issue[];
}

/**
 * A running turn. Iterate over it for its events, and await `result()` for its end. Leaving the loop does not cancel
 * it.
 */
export interface Turn<Value = Json> extends AsyncIterable<TurnProgress> {
  /** Resolves when the input is durable. */
  readonly id: Promise<TurnId>;
  /** Settles after the commit and its `lifecycle` hooks. Rejects if the input is refused or the turn is lost. */
  result(): Promise<TurnResult<Value>>;
  /**
   * Waits as `result()` does, and resolves with the text of the answer. The value of a finished turn is a string as it
   * is, or JSON. Throws `turn.unanswered` when the turn was stopped or failed; its `details` are the result.
   */
  text(): Promise<string>;
  /** Asks the turn to end. `result()` then returns how it ended. */
  cancel(reason?: string): Promise<CancelAnswer>;
}

export type WaitFact = Extract<TurnProgress, { readonly kind: "waiting" | "resolved" }>;

export class TurnHandle implements Turn {
  readonly feed: Feed;
  readonly #core: Core;
  #sessionId: SessionId;
  #turnId: TurnId | undefined;
  /** The latest text of a turn that runs in another process. */
  remoteText: LastText | undefined;
  #notified: Set<string> | undefined;
  /** The turn is parked and the handle was not read yet. The next run here, or the first read, replays all previews. */
  isParkedUnread = false;
  #ended: { readonly result: TurnResult } | { readonly error: unknown } | undefined;
  // Created on first use, because a failure without a waiting caller must not be an unhandled rejection.
  #id: PromiseWithResolvers<TurnId> | undefined;
  #result: PromiseWithResolvers<TurnResult> | undefined;

  /** The handle does not refer to the session, so that the session of a parked turn can be released. */
  constructor({ core, id }: Pick<LiveSession, "core" | "id">) {
    this.feed = new Feed(core.limits.unreadEventsMax);
    this.#core = core;
    this.#sessionId = id;
  }

  /** Sets the session of a handle that was made only from the id of its turn. */
  belongsTo(session: SessionId): void {
    this.#sessionId = session;
  }

  get id(): Promise<TurnId> {
    if (this.#turnId !== undefined) return Promise.resolve(this.#turnId);
    if (this.#ended !== undefined && "error" in this.#ended) return Promise.reject(this.#ended.error);
    this.#id ??= Promise.withResolvers<TurnId>();
    return this.#id.promise;
  }

  /** `isInside`: the caller runs inside the session. The runtime passes false. */
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

  async text(): Promise<string> {
    return textOf(await this.result());
  }

  async cancel(reason = "It was cancelled."): Promise<CancelAnswer> {
    const turnId = await this.id;
    requireWords("reason", reason);
    return cancel(this.#core, this.#sessionId, turnId, reason);
  }

  [Symbol.asyncIterator](): AsyncIterator<TurnProgress> {
    const session = this.#core.sessions.find(this.#sessionId);
    // Code inside the session may iterate the running turn. A later turn cannot begin before this code ends.
    const now = session?.now;
    if (session?.isInside === true && this.#ended === undefined && (this.#turnId === undefined || this.#turnId !== now))
      throw new RuntimeError("operation.reentrant", { name: "Another turn" });
    const read = this.feed.read();
    if (this.#core.watcher.followed.has(this.#sessionId)) this.#core.live?.check(this.#sessionId);
    if (this.isParkedUnread && this.#turnId !== undefined) {
      this.isParkedUnread = false;
      this.#core.watcher.showOf(this.#turnId)?.replayTo(this);
      notifyWaits(this.#core, this.#sessionId, this.#turnId, [this]).catch((error: unknown) =>
        this.#core.trace("turn.show", { problem: describeThrown(error) }, { sessionId: this.#sessionId }),
      );
    }
    return read;
  }

  /** Delivers the begin or the end of a wait once, although the run, the watcher and the store can all report it. */
  notify(fact: WaitFact): void {
    const name = `${fact.kind}/${fact.wait}`;
    this.#notified ??= new Set();
    if (this.#notified.has(name)) return;
    this.#notified.add(name);
    this.feed.push(fact);
  }

  /** The turn is parked. An unread handle drops its events and gets them again when it is read, which saves memory. */
  park(): void {
    if (this.feed.isRead) return;
    this.feed.clear();
    this.#notified = undefined;
    this.isParkedUnread = true;
  }

  /**
   * The process that runs the turn has new previews. Lost previews are not restored, because the result follows anyway.
   */
  showRemote(events: readonly Preview[], isLost: boolean): void {
    const own = events.filter(({ turnId }) => turnId === this.#turnId);
    // The previews come again from the start, or their start is missing, so earlier ones under the same keys are void.
    if (isLost)
      for (const { key, sessionId, turnId } of latestOf(own))
        this.feed.push({ fact: false, sessionId, turnId, key, kind: "retracted" });
    this.remoteText ??= new LastText();
    for (const event of own) {
      this.remoteText.add(event);
      this.feed.push(event);
    }
  }

  /** The turn ended in another process: shows the missing rest of its answer. */
  endedRemotely({ turnId, outcome }: TurnResult): void {
    const rest = this.remoteText?.missingFrom(this.#sessionId, turnId, outcome);
    if (rest !== undefined) this.feed.push(rest);
  }

  /** The iteration began in the middle of a turn of another process. */
  joinRemote(previews: Previews): void {
    this.showRemote(previews.list(), false);
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

/** The reason is stored with the turn, so it is text of bounded length. */
export function reasonOf({ reason }: AbortSignal): string {
  const isPlain = reason instanceof Error && reason.name === "AbortError";
  const words = isPlain ? "" : reason instanceof Error ? reason.message : String(reason);
  return words.slice(0, REASON_MAX) || "The caller's signal aborted.";
}

/** Removes its listener when the turn ends, because a long-lived signal must not collect listeners. */
export function cancelWith(signal: AbortSignal, handle: TurnHandle): void {
  const cancel = (): void => void handle.cancel(reasonOf(signal)).catch(() => {});
  if (signal.aborted) return;
  signal.addEventListener("abort", cancel, { once: true });
  const stop = (): void => signal.removeEventListener("abort", cancel);
  void handle.result(false).then(stop, stop);
}
