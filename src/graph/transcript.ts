import { RuntimeError } from "../model/errors.ts";
import { type NodeId, nodeId } from "../model/ids.ts";
import type { Message } from "../model/message.ts";
import type { Entry } from "../model/node.ts";
import { hasOpenCalls, pairingProblem } from "../model/pairing.ts";

/**
 * The messages of the active frame as the model sees them. Immutable for its users: `grow` returns a new transcript and
 * does not change this one, so a turn that fails changes nothing. Growing costs only what is added.
 */
export class Transcript {
  /** Shared with the transcripts that grew from this one. Only the first `length` items belong to this one. */
  readonly #items: Message[];
  readonly #length: number;
  /** The node at which the frame begins; undefined in the first frame. */
  readonly frame: NodeId | undefined;

  private constructor(items: Message[], length: number, frame?: NodeId) {
    this.#items = items;
    this.#length = length;
    this.frame = frame;
  }

  static readonly empty: Transcript = new Transcript([], 0);

  /**
   * Builds it from segments, newest first, back to the last frame. A store returns them so when a session is opened.
   */
  static from(segments: readonly { readonly commit: string; readonly entries: readonly Entry[] }[]): Transcript {
    const messages: Message[] = [];
    for (const { commit, entries } of segments) {
      for (let index = entries.length - 1; index >= 0; index--) {
        const entry = entries[index] as Entry;
        if (entry.kind === "frame")
          return new Transcript(checked(messages.reverse()), messages.length, nodeId(commit, index));
        if (entry.kind === "message") messages.push(entry.message);
      }
    }
    return new Transcript(checked(messages.reverse()), messages.length);
  }

  /** Returns the transcript as of this message; undefined if it does not contain the message. */
  until(message: NodeId): Transcript | undefined {
    for (let index = this.#length - 1; index >= 0; index--)
      if (this.#items[index]?.id === message) return new Transcript(this.#items, index + 1, this.frame);
    return undefined;
  }

  get length(): number {
    return this.#length;
  }

  get messages(): readonly Message[] {
    return this.#items.length === this.#length ? this.#items : this.#items.slice(0, this.#length);
  }

  /** Returns a transcript with the entries from index `from` added. A frame among them starts an empty one. */
  grow(commit: string, entries: readonly Entry[], from: number): Transcript {
    if (from >= entries.length) return this;
    let { frame } = this;
    // A list that a plugin received is frozen and must not change, so it is copied.
    const isOurs = this.#items.length === this.#length && this !== Transcript.empty && !Object.isFrozen(this.#items);
    let items = isOurs ? this.#items : this.#items.slice(0, this.#length);
    for (let index = from; index < entries.length; index++) {
      const entry = entries[index] as Entry;
      if (entry.kind === "frame") {
        items = [];
        frame = nodeId(commit, index);
      }
      if (entry.kind !== "message") continue;
      const problem = pairingProblem(items[items.length - 1], entry.message);
      if (problem !== undefined) throw unpaired(`${entry.message.id}: ${problem}`);
      if (items.length === 0) items = [entry.message];
      else items.push(entry.message);
    }
    return new Transcript(items, items.length, frame);
  }

  /** Throws if a call has no result yet: a provider would refuse the request, and a commit would break the session. */
  requirePaired(): void {
    const last = this.#items[this.#length - 1];
    if (hasOpenCalls(last)) throw unpaired(`${last?.id} has calls without results`);
  }
}

const unpaired = (problem: string): RuntimeError =>
  new RuntimeError("store.corrupt", { item: "the conversation", problem });

function checked(messages: Message[]): Message[] {
  for (let index = 0; index < messages.length; index++) {
    const problem = pairingProblem(messages[index - 1], messages[index] as Message);
    if (problem !== undefined) throw unpaired(problem);
  }
  return messages;
}
