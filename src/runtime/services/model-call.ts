// One model call, for turns and completions alike: streamed, retried with backoff, throttled, aborted by the scope.
// Not its job: what is asked (`live-turn/ask.ts`), budgets (`budget.ts`), how a provider is spoken to (`providers/`).
// M1 Before another attempt, what the failed one has shown is retracted. The last failure retracts nothing: its text is
//    the answer's `partial`.
// M2 Nothing is shown or kept of a part that comes after its attempt is over, by a cancel or by a silence.
// M3 A failed attempt that the provider may have billed counts as one call of unknown usage.
// M4 A provider that ignores its signal, or a stream that never ends, cannot hold the turn.
import { type Deadline, within } from "../../kernel/deadline.ts";
import type { Chunk, ChunkAnswer, StreamEnd } from "../../kernel/hooks.ts";
import { type Awaitable, andThen } from "../../model/awaitable.ts";
import { describe } from "../../model/errors.ts";
import { asCallId } from "../../model/ids.ts";
import { describeThrown, type Json, toJson } from "../../model/json.ts";
import type { Limits } from "../../model/limits.ts";
import type { Part } from "../../model/message.ts";
import { redacted } from "../../model/redact.ts";
import { type Attempt, type ModelPart, type ModelRequest, ProviderFailure, type Reply } from "../../model/request.ts";
import { LazyScope, type Scope } from "../../model/scope.ts";
import { addUsage, NO_USAGE, UNKNOWN_CALL, type Usage } from "../../model/usage.ts";
import type { World } from "../../model/world.ts";
import { type CallOptions, type Provider, routeOf } from "../../providers/provider.ts";

export interface ModelCall {
  readonly provider: Provider;
  readonly request: ModelRequest;
  readonly limits: Limits;
  readonly world: World;
  readonly scope: Scope;
  load: CallOptions["load"];
  /** Shows a delta; `retracted` voids all that this attempt has shown. */
  show(attempt: number, kind: "text" | "reasoning" | "retracted", delta: string): void;
  /** Absent when no plugin transforms the stream: then a delta costs no call and no promise. */
  readonly transform?: (chunk: Chunk) => Awaitable<ChunkAnswer>;
  /** Called at the end of each attempt. */
  readonly finished?: (reason: StreamEnd) => unknown;
}

export type ModelAnswer =
  | { readonly kind: "replied"; readonly reply: Reply; readonly attempts?: readonly Attempt[] }
  | {
      readonly kind: "failed";
      readonly failure: ProviderFailure | HookStop;
      readonly attempts: readonly Attempt[];
      readonly usage: Usage;
      readonly partial: readonly Part[];
    };

/** Thrown when a stream hook fails: the call is not retried. */
export class HookStop extends Error {}

const BACKOFF_MS = 500;
const BACKOFF_MAX_MS = 8_000;

export async function callModel(call: ModelCall): Promise<ModelAnswer> {
  const { world, limits, scope } = call;
  const attempts: Attempt[] = [];
  let unknown: Usage = NO_USAGE;
  let tries = 0;
  let throttledMs = 0;
  for (let number = 1; ; number++) {
    const startedAt = world.now();
    const stream = new ReplyStream(call, number);
    try {
      const reply = await stream.open();
      stream.close();
      if (attempts.length === 0) return { kind: "replied", reply };
      return {
        kind: "replied",
        reply: { ...reply, usage: addUsage(reply.usage, unknown) },
        attempts: [...attempts, { startedAt, ms: world.now() - startedAt }],
      };
    } catch (error) {
      stream.close(true);
      const failure = error instanceof ProviderFailure || error instanceof HookStop ? error : failureOf(error, scope);
      const failureClass = failure instanceof HookStop ? "unknown" : failure.class;
      if (stream.mayBeBilled(failureClass)) unknown = addUsage(unknown, UNKNOWN_CALL);
      const record: Attempt = {
        startedAt,
        ms: world.now() - startedAt,
        error: { class: failureClass, message: failure.message },
      };
      const isThrottle = failureClass === "rate-limit" || failureClass === "overloaded";
      if (!isThrottle) tries++;
      const waitMs = retryAfter(failure, isThrottle, tries, number, limits, limits.throttleMs - throttledMs);
      if (waitMs === undefined || scope.isAborted) {
        attempts.push(record);
        const told = call.finished?.(failureClass === "cancelled" || scope.isAborted ? "cancelled" : "provider-error");
        if (!scope.isAborted) await told; // Not waited for after a cancel: the hook must not use up the turn's grace.
        return { kind: "failed", failure, attempts, usage: unknown, partial: stream.partial() };
      }
      attempts.push({ ...record, waitedMs: waitMs });
      if (stream.hasShown) call.show(number, "retracted", ""); // M1
      await call.finished?.("attempt-reset");
      if (isThrottle) throttledMs += waitMs;
      await world.sleep(waitMs, scope.signal);
      if (scope.isAborted) {
        return { kind: "failed", failure: cancelled(), attempts, usage: unknown, partial: [] };
      }
    }
  }
}

/** How long to wait before the next attempt; undefined when there is none. */
function retryAfter(
  failure: ProviderFailure | HookStop,
  isThrottle: boolean,
  tries: number,
  number: number,
  limits: Limits,
  throttleLeftMs: number,
): number | undefined {
  if (failure instanceof HookStop || !failure.isRetryable) return undefined;
  const backoff = Math.min(BACKOFF_MS * 2 ** (number - 1), BACKOFF_MAX_MS);
  const waitMs = Math.max(failure.retryAfterMs ?? backoff, 0);
  if (isThrottle) return waitMs <= throttleLeftMs && number < THROTTLES_MAX ? waitMs : undefined;
  return tries < limits.modelAttemptsMax ? Math.min(waitMs, throttleLeftMs) : undefined;
}
const THROTTLES_MAX = 50;

const cancelled = (): ProviderFailure => new ProviderFailure({ class: "cancelled", message: "The turn was stopped." });

const failureOf = (error: unknown, scope: Scope): ProviderFailure =>
  new ProviderFailure(
    { class: scope.isAborted ? "cancelled" : "unknown", message: redacted(describeThrown(error)) },
    { cause: error },
  );

/** The block id of reasoning that a plugin added. It has no route, so it is never sent back as the model's own. */
const PLUGIN = "~plugin";

/** Shorter arguments cannot be nested deeper than `toJson` allows, so they need no check. */
const DEEP = 1_000;

const BUCKETS = Object.keys(NO_USAGE) as (keyof Usage)[];

/** The provider's usage, made sure to be counts: a NaN would stay in the ledger for ever. */
function usageOf(given: Usage | undefined): Usage {
  if (given === undefined) return UNKNOWN_CALL;
  const usage = { ...NO_USAGE };
  for (let index = 0; index < BUCKETS.length; index++) {
    const bucket = BUCKETS[index] as keyof Usage;
    const count: unknown = given[bucket];
    if (typeof count === "number" && Number.isFinite(count) && count > 0) usage[bucket] = count;
  }
  return usage;
}

/** M4: tells a provider's stream to stop and does not wait for it. */
function leave(parts: AsyncIterator<unknown>): void {
  try {
    parts.return?.()?.then(undefined, () => {});
  } catch {
    // A stream that throws when it is told to stop has stopped.
  }
}

interface Block {
  kind: "text" | "reasoning";
  id: string | undefined;
  text: string;
  data?: Json;
}

/** The options for the provider. The signal is created when the provider first reads it. */
class StreamOptions implements CallOptions {
  readonly load: CallOptions["load"];
  readonly #scope: Scope;
  constructor(scope: Scope, load: CallOptions["load"]) {
    this.#scope = scope;
    this.load = load;
  }
  get signal(): AbortSignal {
    return this.#scope.signal;
  }
}

/** One attempt: shows the parts of the stream as they come and puts them together into the reply. */
class ReplyStream {
  readonly #call: ModelCall;
  readonly #number: number;
  readonly #route: string;
  /** Aborted when nobody listens any more; the provider has its signal. */
  readonly #scope = new LazyScope();
  readonly #blocks: (Block | Part)[] = [];
  #block: Block | undefined;
  #bytes = 0;
  #hasBegun = false;
  #isOver = false;
  #silence: Deadline | undefined;
  #unlisten: (() => void) | undefined;
  #finish: Extract<ModelPart, { kind: "finish" }> | undefined;
  #isAborted = false;
  #saying: Extract<ModelPart, { delta: string }> | undefined;
  hasShown = false;

  constructor(call: ModelCall, number: number) {
    this.#call = call;
    this.#number = number;
    this.#route = routeOf(call.provider);
  }

  /** M4: settles with the stream, after `modelIdleMs` of silence, or as soon as the scope aborts. */
  open(): Promise<Reply> {
    const { scope, limits } = this.#call;
    if (scope.isAborted) return Promise.reject(cancelled());
    const stopped = Promise.withResolvers<never>();
    const stop = (failure: ProviderFailure): void => {
      this.#isOver = true; // M2: a part may still come before the race is decided.
      stopped.reject(failure);
    };
    this.#unlisten = scope.onAbort(() => stop(cancelled()));
    this.#silence = within(limits.modelIdleMs, () =>
      stop(new ProviderFailure({ class: "timeout", message: `Nothing came for ${limits.modelIdleMs} ms.` })),
    );
    return Promise.race([this.#pump(this.#silence), stopped.promise]);
  }

  /** Stops listening; after a failure the provider is told to stop too. */
  close(hasFailed = false): void {
    this.#isOver = true;
    this.#silence?.clear();
    this.#unlisten?.();
    if (hasFailed) this.#scope.abort();
  }

  async #pump(silence: Deadline): Promise<Reply> {
    const { provider, request, load, transform, finished } = this.#call;
    const parts = provider.stream(request, new StreamOptions(this.#scope, load))[Symbol.asyncIterator]();
    while (!this.#isAborted && this.#finish === undefined) {
      const { done, value: part } = await parts.next();
      if (done === true || this.#isOver) {
        if (done !== true) leave(parts); // M2
        break;
      }
      this.#hasBegun = true;
      silence.beat();
      if (Array.isArray(part)) {
        for (let index = 0; index < part.length; index++) {
          const each = part[index] as ModelPart;
          const waits = transform === undefined ? this.#put(each) : this.#take(each, transform);
          if (waits !== undefined) await waits;
          if (this.#isAborted) break;
        }
      } else {
        const waits = transform === undefined ? this.#put(part as ModelPart) : this.#take(part as ModelPart, transform);
        if (waits !== undefined) await waits;
      }
      // `finish` is the last part: a stream that stays open after it is not waited for.
      if (this.#isAborted || this.#finish !== undefined) leave(parts);
    }
    if (this.#isAborted) {
      if (finished !== undefined) await finished("aborted");
      const usage = this.#finish === undefined ? UNKNOWN_CALL : usageOf(this.#finish.usage);
      return { parts: this.#parts(), finish: "aborted", usage, route: this.#route };
    }
    if (this.#finish === undefined)
      throw new ProviderFailure({
        class: "stream",
        message: `The stream of ${this.#route} ended before the reply did.`,
      });
    if (finished !== undefined) await finished("complete");
    const { reason, usage } = this.#finish;
    return { parts: this.#parts(), finish: reason, usage: usageOf(usage), route: this.#route };
  }

  /** Returns a promise only when a transform does: one per delta would be costly. */
  #take(part: ModelPart, transform: NonNullable<ModelCall["transform"]>): Awaitable<void> {
    const said = this.#saying;
    if (said === undefined || part.kind === said.kind || part.kind === "made")
      return this.#transformed(part, transform);
    this.#saying = undefined; // Text that a plugin held back is released before a part of another kind.
    return andThen(transform({ kind: said.kind, delta: "", isEnd: true }), (answer) => {
      this.#changed({ ...said, delta: "" }, answer);
      return this.#transformed(part, transform);
    });
  }

  #transformed(part: ModelPart, transform: NonNullable<ModelCall["transform"]>): Awaitable<void> {
    if (part.kind === "text" || part.kind === "reasoning") {
      this.#saying = part;
      if (this.#isAborted) return;
      return andThen(transform({ kind: part.kind, delta: part.delta }), (answer) => this.#changed(part, answer));
    }
    if (part.kind !== "call" || !this.#isAborted) this.#put(part);
  }

  #put(part: ModelPart): undefined {
    switch (part.kind) {
      case "text":
      case "reasoning":
        this.#add(part.kind, part.delta, part.id);
        return;
      case "made": {
        this.#count(JSON.stringify(part.data) ?? "");
        const block = this.#blocks.findLast((each) => each.kind === part.of && "id" in each && each.id === part.id) as
          | Block
          | undefined;
        if (block !== undefined) block.data = part.data;
        else this.#blocks.push({ kind: part.of, id: part.id, text: "", data: part.data });
        return;
      }
      case "call":
        this.#block = undefined;
        this.#blocks.push(this.#callIn(part));
        return;
      case "finish":
        this.#finish = part;
    }
  }

  #changed(part: Extract<ModelPart, { delta: string }>, answer: ChunkAnswer): void {
    if (answer.reasoning !== undefined && answer.reasoning !== "") this.#add("reasoning", answer.reasoning, PLUGIN);
    const delta = answer.delta ?? part.delta;
    if (delta !== "") this.#add(part.kind, delta, part.id);
    if (answer.abort === true) this.#isAborted = true;
  }

  #add(kind: "text" | "reasoning", delta: string, id: string | undefined): void {
    this.#count(delta);
    const block = this.#block;
    if (block !== undefined && block.kind === kind && block.id === id) block.text += delta;
    else {
      this.#block = { kind, id, text: delta };
      this.#blocks.push(this.#block);
    }
    if (delta === "") return; // A hidden block: only its `data` for the route is kept.
    this.hasShown = true;
    if (!this.#isOver) this.#call.show(this.#number, kind, delta);
  }

  #count(text: string): void {
    const { replyBytesMax: max } = this.#call.limits;
    this.#bytes += Buffer.byteLength(text);
    if (this.#bytes > max)
      throw new ProviderFailure({
        class: "unknown",
        message: describe("limit.bytes", { what: "The reply", bytes: this.#bytes, max }).message,
      });
  }

  #callIn(part: Extract<ModelPart, { kind: "call" }>): Part {
    this.#count(`${part.callId}${part.name}${part.data === undefined ? "" : JSON.stringify(part.data)}`);
    const made = part.data === undefined ? {} : { made: { route: this.#route, data: part.data } };
    const call = { kind: "toolCall", callId: asCallId(part.callId), name: part.name } as const;
    if (typeof part.input !== "string") {
      this.#count(JSON.stringify(part.input));
      return { ...call, input: part.input, ...made };
    }
    this.#count(part.input);
    const words = part.input.trim();
    try {
      const input = words === "" ? {} : (JSON.parse(words) as Json);
      if (words.length > DEEP && "problem" in toJson(input))
        return { ...call, input: {}, malformed: part.input.slice(0, 2_000), ...made };
      return { ...call, input, ...made };
    } catch {
      return { ...call, input: {}, malformed: part.input.slice(0, 2_000), ...made };
    }
  }

  #parts(): readonly Part[] {
    const parts: Part[] = [];
    for (let index = 0; index < this.#blocks.length; index++) {
      const block = this.#blocks[index] as Block | Part;
      if (!("id" in block)) parts.push(block);
      else if (block.text !== "" || block.data !== undefined) {
        const made =
          block.data === undefined
            ? block.kind === "reasoning" && block.id !== PLUGIN
              ? { made: { route: this.#route } }
              : {}
            : { made: { route: this.#route, data: block.data } };
        parts.push({ kind: block.kind, text: block.text, ...made });
      }
    }
    return parts;
  }

  /** The text that came before the failure. Calls are left out: nobody will run them. */
  partial(): readonly Part[] {
    return this.#parts().filter((part) => part.kind === "text" && part.text !== "");
  }

  /** M3 */
  mayBeBilled(failure: ProviderFailure["class"]): boolean {
    return (
      this.#hasBegun ||
      failure === "network" ||
      failure === "timeout" ||
      failure === "stream" ||
      failure === "cancelled" ||
      failure === "unknown"
    );
  }
}
