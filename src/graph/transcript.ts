import { RuntimeError } from "../model/errors.ts";
import { type NodeId, nodeId } from "../model/ids.ts";
import type { Message } from "../model/message.ts";
import type { Entry } from "../model/node.ts";
import { hasOpenCalls, pairingProblem } from "../model/pairing.ts";

/**
 * The messages of the active frame, as a model is shown them. Growing it costs what is added, never what was there;
 * a turn that is not kept leaves the older transcript as it was.
 */
export class Transcript {
  /** Shared with transcripts that grew out of this one; only the first `length` are ours. */
  readonly #items: Message[];
  readonly #length: number;
  /** Where the frame begins; undefined in the first. */
  readonly frame: NodeId | undefined;

  private constructor(items: Message[], length: number, frame?: NodeId) {
    this.#items = items;
    this.#length = length;
    this.frame = frame;
  }

  static readonly empty: Transcript = new Transcript([], 0);

  /** Segments newest first, back to the last frame: what a store gives when a session is opened. */
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

  /** As it was after this message; undefined when that is not in it. */
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

  /** With these entries after it; a frame among them starts afresh. */
  grow(commit: string, entries: readonly Entry[], from: number): Transcript {
    if (from >= entries.length) return this;
    let { frame } = this;
    let items =
      this.#items.length === this.#length && this !== Transcript.empty
        ? this.#items
        : this.#items.slice(0, this.#length);
    for (let index = from; index < entries.length; index++) {
      const entry = entries[index] as Entry;
      if (entry.kind === "frame") {
        items = [];
        frame = nodeId(commit, index);
      }
      if (entry.kind !== "message") continue;
      const problem = pairingProblem(items[items.length - 1], entry.message);
      if (problem !== undefined) throw unpaired(`${entry.message.id}: ${problem}`);
      items.push(entry.message);
    }
    return new Transcript(items, items.length, frame);
  }

  /** Throws when a call has no result yet: such a request would be refused, and such a commit would break the session. */
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
