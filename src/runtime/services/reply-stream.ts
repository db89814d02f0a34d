// The stream of one attempt at a model call: shows its parts as they come and puts them together into the reply. Not
// its job: other attempts (`model-call.ts`), the calls of a provider (`providers/`).
// reply-1 After a cancel or `modelIdleMs` has ended the attempt, later parts are neither shown nor stored.
// reply-2 A provider that ignores its signal, or a stream that never ends, cannot block the turn.
// reply-3 A reply without usage counts as one call of unknown usage, with an estimate of its tokens.
// reply-4 The reply contains values as they are stored, so that a resumed turn gives tools the same arguments.
import { type Deadline, within } from "../../kernel/deadline.ts";
import type { ChunkAnswer } from "../../kernel/hook-values.ts";
import { type Awaitable, andThen } from "../../model/awaitable.ts";
import { describe } from "../../model/errors.ts";
import { asCallId } from "../../model/ids.ts";
import { isStorable, type Json, storable } from "../../model/json.ts";
import type { Part } from "../../model/message.ts";
import {
  type ModelPart,
  type ModelRequest,
  ProviderFailure,
  type ProviderFailureClass,
  type Reply,
} from "../../model/request.ts";
import { LazyScope, type Scope } from "../../model/scope.ts";
import { NO_USAGE, UNKNOWN_CALL, type Usage, withEstimate } from "../../model/usage.ts";
import { type CallOptions, routeOf } from "../../providers/provider.ts";
import type { ModelCall } from "./model-call.ts";

export const cancelled = (): ProviderFailure =>
  new ProviderFailure({ class: "cancelled", message: "The turn was stopped." });

/** The block id of reasoning that a plugin added. It has no route, so it is never sent back as the model's own. */
const PLUGIN = "~plugin";

const BUCKETS = Object.keys(NO_USAGE) as (keyof typeof NO_USAGE)[];

/** The provider's usage, checked to be counts, because a NaN would stay in the ledger. */
function usageOf(given: Usage): Usage {
  const usage = { ...NO_USAGE };
  for (let index = 0; index < BUCKETS.length; index++) {
    const bucket = BUCKETS[index] as keyof typeof NO_USAGE;
    const count: unknown = given[bucket];
    if (typeof count === "number" && Number.isFinite(count) && count > 0) usage[bucket] = count;
  }
  return usage;
}

/** A value that is not a count is unknown. Zero instead would bypass a budget. */
const reported = (usage: Usage | undefined): Usage | undefined =>
  Number.isFinite(usage?.input) || Number.isFinite(usage?.output) ? usage : undefined;

const MAY_BE_BILLED: ReadonlySet<ProviderFailureClass> = new Set([
  "network",
  "timeout",
  "stream",
  "cancelled",
  "unknown",
]);

const BYTES_PER_TOKEN = 4;

/** An estimate of the request's tokens. Attachments count by their name only: what they cost is not in their bytes. */
export function tokensSent({ system, messages, tools }: ModelRequest): number {
  try {
    return Math.ceil(Buffer.byteLength(JSON.stringify({ system, messages, tools })) / BYTES_PER_TOKEN);
  } catch {
    return 0; // A hook added a value to the request that cannot be sent either.
  }
}

/** reply-2: stops a provider's stream without waiting for it. */
function leave(parts: AsyncIterator<unknown>): void {
  try {
    parts.return?.()?.then(undefined, () => {});
  } catch {
    // A stream that throws here has stopped.
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

export class ReplyStream {
  readonly #call: ModelCall;
  readonly #number: number;
  readonly #route: string;
  /** Aborts when the attempt has ended. The provider has its signal. */
  readonly #scope = new LazyScope();
  readonly #blocks: (Block | Part)[] = [];
  #block: Block | undefined;
  #bytes = 0;
  #isAsked = false;
  #hasBegun = false;
  #isOver = false;
  #silence: Deadline | undefined;
  #unlisten: (() => void) | undefined;
  #finish: Extract<ModelPart, { kind: "finish" }> | undefined;
  #isAborted = false;
  #saying: Extract<ModelPart, { delta: string }> | undefined;
  hasShown = false;
  /** When the first output came. */
  firstAt: number | undefined;

  constructor(call: ModelCall, number: number) {
    this.#call = call;
    this.#number = number;
    this.#route = routeOf(call.provider);
  }

  /** reply-2: settles with the stream, after `modelIdleMs` of silence, or as soon as the scope aborts. */
  open(): Promise<Reply> {
    const { scope, limits } = this.#call;
    if (scope.isAborted) return Promise.reject(cancelled());
    const stopped = Promise.withResolvers<never>();
    const stop = (failure: ProviderFailure): void => {
      this.#isOver = true; // reply-1: a part may still come before the race is decided.
      stopped.reject(failure);
    };
    this.#unlisten = scope.onAbort(() => stop(cancelled()));
    this.#silence = within(limits.modelIdleMs, () =>
      stop(new ProviderFailure({ class: "timeout", message: `Nothing came for ${limits.modelIdleMs} ms.` })),
    );
    return Promise.race([this.#pump(this.#silence), stopped.promise]);
  }

  /** Ends the attempt. After a failure it also aborts the provider's signal. */
  close(hasFailed = false): void {
    this.#isOver = true;
    this.#silence?.clear();
    this.#unlisten?.();
    if (hasFailed) this.#scope.abort();
  }

  async #pump(silence: Deadline): Promise<Reply> {
    const { provider, request, load, transform, finished } = this.#call;
    this.#isAsked = true;
    const parts = provider.stream(request, new StreamOptions(this.#scope, load))[Symbol.asyncIterator]();
    while (!this.#isAborted && this.#finish === undefined) {
      const { done, value: part } = await parts.next();
      if (done === true || this.#isOver) {
        if (done !== true) leave(parts); // reply-1
        break;
      }
      if (!this.#hasBegun) this.firstAt = this.#call.world.now();
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
      // `finish` is the last part. Do not wait for a stream that stays open after it.
      if (this.#isAborted || this.#finish !== undefined) leave(parts);
    }
    if (this.#isAborted) {
      if (finished !== undefined) await finished("aborted");
      const tokens = reported(this.#finish?.usage);
      if (tokens === undefined) this.#call.unreported();
      const usage = tokens === undefined ? this.estimate() : usageOf(tokens);
      return { parts: this.#parts(), finish: "aborted", usage, route: this.#route };
    }
    if (this.#finish === undefined)
      throw new ProviderFailure({
        class: "stream",
        message: `The stream of ${this.#route} ended before the reply did.`,
      });
    if (finished !== undefined) await finished("complete");
    const { reason } = this.#finish;
    const tokens = reported(this.#finish.usage);
    if (tokens === undefined) this.#call.unreported();
    const usage = tokens === undefined ? this.estimate() : usageOf(tokens);
    return { parts: this.#parts(), finish: reason, usage, route: this.#route };
  }

  /** reply-3 */
  estimate(): Usage {
    return withEstimate(UNKNOWN_CALL, tokensSent(this.#call.request), Math.ceil(this.#bytes / BYTES_PER_TOKEN));
  }

  /** Returns a promise only if a transform does, because a promise per delta would be slow. */
  #take(part: ModelPart, transform: NonNullable<ModelCall["transform"]>): Awaitable<void> {
    const current = this.#saying;
    if (current === undefined || part.kind === current.kind || part.kind === "made")
      return this.#transformed(part, transform);
    this.#saying = undefined; // Text that a plugin held back is released before a part of another kind.
    return andThen(transform({ kind: current.kind, delta: "", isEnd: true }), (answer) => {
      this.#changed({ ...current, delta: "" }, answer);
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
        const data = storable(part.data) ?? null;
        this.#count(JSON.stringify(data));
        const block = this.#blocks.findLast((each) => each.kind === part.of && "id" in each && each.id === part.id) as
          | Block
          | undefined;
        if (block !== undefined) block.data = data;
        else this.#blocks.push({ kind: part.of, id: part.id, text: "", data });
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
    const keeps = this.#isOver ? undefined : this.#call.show(this.#number, kind, delta);
    if (keeps !== undefined) this.#cut(delta.length - keeps);
  }

  /** The protocol needs no more text: the reply ends here. */
  #cut(chars: number): void {
    if (this.#block !== undefined) this.#block.text = this.#block.text.slice(0, this.#block.text.length - chars);
    this.#isAborted = true;
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

  /**
   * reply-4: arguments that are not JSON, or cannot be stored, are `malformed`. Missing arguments are an empty object.
   */
  #callIn(part: Extract<ModelPart, { kind: "call" }>): Part {
    const data = part.data === undefined ? undefined : storable(part.data);
    this.#count(`${part.callId}${part.name}${data === undefined ? "" : JSON.stringify(data)}`);
    const made = data === undefined ? {} : { made: { route: this.#route, data } };
    const call = { kind: "toolCall", callId: asCallId(part.callId), name: part.name } as const;
    let given: unknown = part.input;
    if (typeof given === "string") {
      this.#count(given);
      const words = given.trim();
      try {
        given = words === "" ? {} : JSON.parse(words);
      } catch {
        given = undefined;
      }
    }
    const input = isStorable(given) ? given : storable(given);
    if (input === undefined) return { ...call, input: {}, malformed: String(part.input).slice(0, 2_000), ...made };
    if (typeof part.input !== "string") this.#count(JSON.stringify(input));
    return { ...call, input, ...made };
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

  /** The text before the failure. Calls are left out, because they will not run. */
  partial(): readonly Part[] {
    return this.#parts().filter((part) => part.kind === "text" && part.text !== "");
  }

  /** Whether a provider may charge for an attempt that failed so. */
  mayBeBilled(failure: ProviderFailureClass): boolean {
    return this.#hasBegun || (this.#isAsked && MAY_BE_BILLED.has(failure));
  }
}
