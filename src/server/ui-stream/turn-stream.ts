// The stream of one turn: it folds the events of the turn as they come, and writes what is new when the client reads.
//
// turn-stream-1 A client that never reads costs the state of the turn and no queue.
// turn-stream-2 The stream ends when the turn has ended, or when all that is open waits for a person: only then clients
//               of this protocol send an answer.
// turn-stream-3 Every stream ends with `finish`, because clients take a stream without it for a success.
import type { SessionEvent } from "../../model/event.ts";
import type { SessionId } from "../../model/ids.ts";
import type { TurnOutcome } from "../../model/outcome.ts";
import type { Runtime } from "../../runtime/runtime.ts";
import type { AnyWait } from "../../runtime/waits.ts";
import { problemOf } from "../problem.ts";
import { DONE, frameOf, type UiChunk, type UiMetadata } from "./chunks.ts";
import { type Item, liveItems, openItems, storedItems, type ToolItem } from "./items.ts";
import { LiveTurn } from "./live-turn.ts";
import type { Asked, Writer } from "./writer.ts";

/** How long a change waits for more changes. */
const JOIN_MS = 20;
/** Parking has no event. While there are questions, the stream looks this often for a parked turn. */
const PARKED_MS = 100;

const FAILED: UiChunk = { type: "finish", finishReason: "error" };

type Committed = Extract<SessionEvent, { readonly kind: "committed"; readonly by: "turn" }>;

export interface Followed {
  readonly runtime: Runtime;
  readonly sessionId: string;
  readonly turnId: string;
}

export class TurnStream implements AsyncIterator<string, string> {
  readonly #of: Followed;
  readonly #writer: Writer;
  readonly #events: AsyncIterator<SessionEvent>;
  readonly #live = new LiveTurn();
  #end: Committed | undefined;
  #failure: unknown;
  #generation = 0;
  #isReplay: boolean;
  /** Questions may have come or gone. */
  #hasNews = true;
  #waits: readonly Asked[] = [];
  #parkedLooks = 0;
  #isOver = false;
  #isStarted = false;
  #isChanged = true;
  #wake: (() => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(of: Followed, writer: Writer) {
    this.#of = of;
    this.#writer = writer;
    this.#isReplay = writer.hasShown;
    this.#events = of.runtime.sessions.follow(of.turnId)[Symbol.asyncIterator]();
    void this.#fold();
  }

  async next(): Promise<IteratorResult<string, string>> {
    if (!this.#isStarted) {
      this.#isStarted = true;
      return { done: false, value: frameOf({ type: "start", messageId: this.#of.turnId }) };
    }
    while (!this.#isOver) {
      await this.#changed();
      if (this.#isOver) break;
      const last = await this.#look().catch((error: unknown) => this.#failed(error));
      const text = [...this.#writer.take(), ...(last ?? [])].map(frameOf).join("");
      if (last !== undefined) {
        await this.return();
        return { done: false, value: text + DONE };
      }
      if (text !== "") return { done: false, value: text };
    }
    return { done: true, value: "" };
  }

  /** The text is for a client whose stream the server cuts. */
  async return(): Promise<IteratorResult<string, string>> {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#wake?.();
    await this.#events.return?.();
    const errorText = "The server stops. The turn continues: load the page again.";
    return { done: true, value: [{ type: "error", errorText } as const, FAILED].map(frameOf).join("") };
  }

  /** turn-stream-1 */
  async #fold(): Promise<void> {
    try {
      for (;;) {
        const { value, done } = await this.#events.next();
        if (done === true || this.#isOver) return;
        if (value.fact && value.kind === "committed" && value.by === "turn") this.#end = value;
        else if (!value.fact) this.#live.add(value);
        this.#hasNews ||= isAboutWaits(value);
        this.#change();
      }
    } catch (error) {
      this.#failure = error;
      this.#change();
    }
  }

  #change(): void {
    this.#isChanged = true;
    this.#wake?.();
  }

  async #changed(): Promise<void> {
    if (!this.#isChanged) await new Promise<void>((resolve) => (this.#wake = resolve));
    if (this.#end === undefined && !this.#isOver) await new Promise((resolve) => setTimeout(resolve, JOIN_MS));
    this.#isChanged = false;
  }

  /** Writes what is new. Returns the last chunks, if the stream ends here. */
  async #look(): Promise<readonly UiChunk[] | undefined> {
    if (this.#failure !== undefined) throw this.#failure;
    if (this.#end !== undefined) return this.#finish(this.#end);
    const live = this.#showLive();
    if (this.#hasNews) {
      this.#hasNews = false;
      this.#waits = await this.#asked();
    }
    const isParked = await this.#isParked(live);
    this.#writer.ask(this.#waits, isParked);
    if (!isParked) return undefined;
    const calls = live.filter((item) => item.kind === "tool");
    this.#writer.hold(calls.filter(({ isReturned, result }) => isReturned === true && result === undefined));
    this.#writer.end();
    return [{ type: "finish", finishReason: "tool-calls" }];
  }

  #showLive(): readonly Item[] {
    const { generation, parts } = this.#live;
    if (generation !== this.#generation) {
      this.#generation = generation;
      this.#isReplay = this.#writer.hasShown;
    }
    const items = liveItems(this.#of.turnId, parts);
    if (this.#writer.show(items, this.#isReplay)) this.#isReplay = false;
    return items;
  }

  /** A turn that was parked before this stream began has no previews. */
  async #showParked(): Promise<void> {
    const { openTurn } = await this.#of.runtime.sessions.get(this.#of.sessionId);
    if (openTurn?.id === this.#of.turnId) this.#writer.show(openItems(openTurn), true);
  }

  async #asked(): Promise<readonly Asked[]> {
    const { runtime, sessionId, turnId } = this.#of;
    const waits = await runtime.waits.list({ tree: sessionId });
    return waits.flatMap((wait) => askedBy(wait, sessionId, turnId) ?? []);
  }

  /** turn-stream-2 */
  async #isParked(live: readonly Item[]): Promise<boolean> {
    clearTimeout(this.#timer);
    if (this.#waits.length === 0) return false;
    if (this.#isAsking(live)) return true;
    const found = await this.#of.runtime.sessions.find(this.#of.sessionId);
    const isParked = found?.state === "waiting" && found.openTurn === this.#of.turnId;
    // The second look in a row counts, because the answer that opened this stream wakes the turn.
    this.#parkedLooks = isParked ? this.#parkedLooks + 1 : 0;
    if (this.#parkedLooks > 1) {
      this.#waits = await this.#asked();
      if (this.#waits.length > 0) {
        if (live.length === 0) await this.#showParked();
        return true;
      }
    }
    if (!this.#isOver) this.#timer = setTimeout(() => this.#change(), PARKED_MS);
    return false;
  }

  /** Whether each open call waits for a person, or for a session below that does. */
  #isAsking(live: readonly Item[]): boolean {
    const open = live.filter((item) => item.kind === "tool" && item.isReturned !== true) as readonly ToolItem[];
    const own = this.#waits.filter(({ child }) => child === undefined);
    if (!own.every(({ tool }) => open.some(({ id }) => id === tool))) return false;
    const children = new Set(this.#waits.flatMap(({ child }) => child ?? []));
    const others = open.filter(({ id }) => !own.some(({ tool }) => tool === id));
    return open.length > 0 && others.length <= children.size;
  }

  async #finish({ nodes, outcome }: Committed): Promise<readonly UiChunk[]> {
    const live = this.#showLive();
    const { turnId, runtime, sessionId } = this.#of;
    const { messages } = await runtime.sessions.get(sessionId);
    const stored = storedItems(
      turnId,
      messages.filter(({ id }) => nodes.includes(id)),
    );
    // Calls of code and of batches are in no message. Messages of an earlier frame or of a branch are not in the view.
    const isWhole = live.every(
      (item) => item.kind !== "tool" || stored.some((each) => "id" in each && each.id === item.id),
    );
    if (stored.length > 0 && isWhole) this.#writer.show(stored);
    else if (live.length > 0) this.#writer.show(live);
    else if ("text" in outcome && outcome.text !== "" && !this.#writer.hasShown)
      this.#writer.show([{ kind: "text", step: 0, text: outcome.text }]);
    this.#writer.ask([], true);
    this.#writer.end();
    return endOf(outcome);
  }

  /** turn-stream-3 */
  #failed(error: unknown): readonly UiChunk[] {
    return [{ type: "error", errorText: problemOf(error).title }, FAILED];
  }
}

function isAboutWaits(event: SessionEvent): boolean {
  if (event.kind === "child") return isAboutWaits(event.event);
  return event.kind === "waiting" || event.kind === "resolved";
}

/** The question of a wait. Undefined if it is of another turn of the session. */
export function askedBy(wait: AnyWait, session: string, turn: string): Asked | undefined {
  const { id, kind: wants, sessionId, path, turnId, jobId, callId, tool, arguments: input, reason, effect } = wait;
  if (sessionId === session && turnId !== turn) return undefined;
  const call = { id: callId, name: tool, input };
  const child = path[path.indexOf(session as SessionId) + 1];
  return {
    id,
    wants,
    call,
    reason,
    ...(child === undefined ? {} : { child }),
    tool: `${turnId ?? jobId}/${effect.replace(/\.w\d*$/, "")}`,
  };
}

function endOf(outcome: TurnOutcome): readonly UiChunk[] {
  const { kind } = outcome;
  const messageMetadata: UiMetadata =
    kind === "finished"
      ? { outcome: kind, value: outcome.value }
      : { outcome: kind, ...(kind === "answered" ? {} : { code: outcome.code }) };
  const finish = (finishReason: Extract<UiChunk, { type: "finish" }>["finishReason"]): UiChunk => ({
    type: "finish",
    finishReason,
    messageMetadata,
  });
  if (kind === "failed") return [{ type: "error", errorText: outcome.reason }, finish("error")];
  if (kind !== "stopped") return [finish("stop")];
  if (outcome.by === "cancel") return [{ type: "abort", reason: outcome.reason }, finish("other")];
  return [finish(outcome.by === "incomplete" ? "length" : "other")];
}
