// One model call, for turns and completions alike: retried with backoff, throttled, aborted by the scope. Not its job:
// the request (`live-turn/ask.ts`), the stream of one attempt (`reply-stream.ts`), budgets (`budget.ts`).
// model-call-1 Before another attempt, the previews of the failed one are retracted. The last failure retracts nothing:
//              its text is the `partial` of the answer.
// model-call-2 Two kinds of failures are retried: failed attempts, up to `modelAttemptsMax`, and throttles. Throttles
//              wait at most `throttlesMax` times and `throttleMs` in all, and each wait is at least the backoff.
// model-call-3 A failed attempt that the provider may have billed counts as one call of unknown usage, with an estimate
//              of its tokens. The recorded answer has both, so that a resume counts the same.
// model-call-4 The budget is checked before every attempt, because failed attempts may be billed and other turns spend
//              during a backoff.
import type { Chunk, ChunkAnswer, StreamEnd } from "../../kernel/hook-values.ts";
import type { Awaitable } from "../../model/awaitable.ts";
import { hasCode } from "../../model/errors.ts";
import { describeThrown } from "../../model/json.ts";
import { DEFAULT_LIMITS, type Limits } from "../../model/limits.ts";
import type { Part } from "../../model/message.ts";
import { redacted } from "../../model/redact.ts";
import {
  type Attempt,
  type ModelRequest,
  ProviderFailure,
  type ProviderFailureClass,
  type Reply,
} from "../../model/request.ts";
import type { Scope } from "../../model/scope.ts";
import { addUsage, NO_USAGE, type Usage, withEstimate } from "../../model/usage.ts";
import type { World } from "../../model/world.ts";
import type { CallOptions, Provider } from "../../providers/provider.ts";
import type { ObserveAttempt } from "../telemetry/model.ts";
import type { Over } from "./budget.ts";
import { cancelled, ReplyStream, tokensSent } from "./reply-stream.ts";

export interface ModelCall {
  readonly provider: Provider;
  readonly request: ModelRequest;
  readonly limits: Limits;
  readonly world: World;
  readonly scope: Scope;
  load: CallOptions["load"];
  /**
   * Returns the budget that is used up, if any. `spent`: the possible cost of earlier attempts. Omitted without a
   * budget.
   */
  readonly allow?: ((spent: Usage) => Promise<Over | undefined>) | undefined;
  /**
   * Shows a delta. `retracted` voids all previews of this attempt. If it returns a number, the reply has ended, and
   * this many characters of the delta belong to it.
   */
  show(attempt: number, kind: "text" | "reasoning" | "retracted", delta: string): number | undefined;
  /** Called before the wait between a failed attempt and the next. */
  retrying(attempt: number, failure: ProviderFailureClass, waitMs: number): void;
  /** Called for a reply without usage. */
  unreported(): void;
  /**
   * An earlier run may have made this call before it was killed. The fold counts that call, and this file adds its
   * tokens.
   */
  readonly wasAsked?: boolean;
  /** Omitted if no plugin transforms the stream. Then a delta costs no call and no promise. */
  readonly transform?: (chunk: Chunk) => Awaitable<ChunkAnswer>;
  /** Called at the beginning of each attempt, for telemetry. */
  readonly observed?: ObserveAttempt | undefined;
  /** Called at the end of each attempt. */
  readonly finished?: (reason: StreamEnd) => unknown;
}

export type ModelAnswer =
  | {
      readonly kind: "replied";
      readonly reply: Reply;
      readonly attempts?: readonly Attempt[];
      readonly firstMs?: number;
    }
  | {
      readonly kind: "failed";
      readonly failure: ProviderFailure | HookStop;
      readonly attempts: readonly Attempt[];
      readonly usage: Usage;
      readonly partial: readonly Part[];
    }
  /** The budget is used up. `attempts` and `usage` are omitted if the model was never called. */
  | {
      readonly kind: "refused";
      readonly over: Over;
      readonly attempts?: readonly Attempt[];
      readonly usage?: Usage;
      readonly partial: readonly Part[];
    };

/** Thrown when a stream hook fails: the call is not retried. */
export class HookStop extends Error {}

export async function callModel(call: ModelCall): Promise<ModelAnswer> {
  const { world, limits, scope } = call;
  const attempts: Attempt[] = [];
  let unknown = call.wasAsked === true ? withEstimate(NO_USAGE, tokensSent(call.request), 0) : NO_USAGE;
  let retries: Retries | undefined;
  const refused = (over: Over, partial: readonly Part[]): ModelAnswer =>
    attempts.length === 0
      ? { kind: "refused", over, partial }
      : { kind: "refused", over, attempts, usage: unknown, partial };
  for (let number = 1; ; number++) {
    // model-call-4. A call that ran when its process was killed is repeated: the estimate of the first call does not
    // count against it.
    const over = call.allow === undefined ? undefined : await call.allow(number === 1 ? NO_USAGE : unknown);
    if (over !== undefined) return refused(over, []);
    const startedAt = world.now();
    const end = call.observed?.(number, number === 1 ? unknown : NO_USAGE);
    const stream = new ReplyStream(call, number);
    try {
      const reply = await stream.open();
      stream.close();
      const firstMs = (stream.firstAt ?? startedAt) - startedAt;
      const first = firstMs > 0 ? { firstMs } : {};
      end?.({ reply, usage: reply.usage, firstMs });
      if (unknown === NO_USAGE && attempts.length === 0) return { kind: "replied", reply, ...first };
      const whole = { ...reply, usage: addUsage(reply.usage, unknown) };
      if (attempts.length === 0) return { kind: "replied", reply: whole, ...first };
      return {
        kind: "replied",
        ...first,
        reply: whole,
        attempts: [...attempts, { startedAt, ms: world.now() - startedAt }],
      };
    } catch (error) {
      stream.close(true);
      const failure = error instanceof ProviderFailure || error instanceof HookStop ? error : failureOf(error, scope);
      const failureClass = failure instanceof HookStop ? "unknown" : failure.class;
      const cost = stream.mayBeBilled(failureClass) ? stream.estimate() : NO_USAGE;
      if (cost !== NO_USAGE) unknown = addUsage(unknown, cost);
      end?.({ failure: { class: failureClass, message: failure.message }, usage: cost });
      const record: Attempt = {
        startedAt,
        ms: world.now() - startedAt,
        error: { class: failureClass, message: failure.message },
      };
      retries ??= new Retries(limits);
      const waitMs = failure instanceof HookStop ? undefined : retries.waitAfter(failure, number);
      const isLast = waitMs === undefined || scope.isAborted;
      // model-call-4: the budget is also checked before the wait, so that a used-up budget keeps the partial answer and
      // needs no backoff.
      const overNow = isLast || call.allow === undefined ? undefined : await call.allow(unknown);
      if (isLast || overNow !== undefined) {
        attempts.push(record);
        const finished = call.finished?.(
          failureClass === "cancelled" || scope.isAborted ? "cancelled" : "provider-error",
        );
        // Not awaited after a cancel, because the hook must not use up the turn's grace period.
        if (!scope.isAborted) await finished;
        if (overNow !== undefined) return refused(overNow, stream.partial());
        return { kind: "failed", failure, attempts, usage: unknown, partial: stream.partial() };
      }
      attempts.push({ ...record, waitedMs: waitMs });
      if (stream.hasShown) call.show(number, "retracted", ""); // model-call-1
      await call.finished?.("attempt-reset");
      call.retrying(number, failureClass, waitMs);
      await world.sleep(waitMs, scope.signal);
      if (scope.isAborted) {
        return { kind: "failed", failure: cancelled(), attempts, usage: unknown, partial: [] };
      }
    }
  }
}

const BACKOFF_MS = 500;
const BACKOFF_MAX_MS = 8_000;

/** model-call-2 */
class Retries {
  readonly #limits: Limits;
  #attempts = 0;
  #throttles = 0;
  #throttledMs = 0;
  constructor(limits: Limits) {
    this.#limits = limits;
  }

  /** How long to wait after this failure; undefined if there is no retry. */
  waitAfter({ class: kind, isRetryable, retryAfterMs }: ProviderFailure, number: number): number | undefined {
    if (!isRetryable) return undefined;
    // A turn that an earlier version began has no `throttlesMax`.
    const { modelAttemptsMax, throttleMs, throttlesMax = DEFAULT_LIMITS.throttlesMax } = this.#limits;
    const backoff = Math.min(BACKOFF_MS * 2 ** (number - 1), BACKOFF_MAX_MS);
    if (kind !== "rate-limit" && kind !== "overloaded") {
      const waitMs = Math.max(retryAfterMs ?? backoff, 0);
      return ++this.#attempts < modelAttemptsMax ? Math.min(waitMs, throttleMs) : undefined;
    }
    const waitMs = Math.max(retryAfterMs ?? 0, backoff);
    this.#throttledMs += waitMs;
    return ++this.#throttles <= throttlesMax && this.#throttledMs <= throttleMs ? waitMs : undefined;
  }
}

function failureOf(error: unknown, scope: Scope): ProviderFailure {
  const kind = hasCode(error, "provider.unavailable") ? "setup" : "unknown";
  return new ProviderFailure(
    { class: scope.isAborted ? "cancelled" : kind, message: redacted(describeThrown(error)) },
    { cause: error },
  );
}
