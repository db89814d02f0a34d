// The conversation of a turn that runs here: the session's history, what the turn has added, and what open effects are about
// to append.
import type { Transcript } from "../../graph/transcript.ts";
import { type EffectName, nodeId } from "../../model/ids.ts";
import type { Message } from "../../model/message.ts";
import { name } from "../../turn/effect.ts";
import type { Appending } from "../../turn/event.ts";
import { itemsOf } from "../../turn/log.ts";
import { type DraftAppend, type EffectDraft, placeOf } from "./draft.ts";
import type { LiveTurn } from "./turn.ts";

/** The place of services that belong to no effect. */
export const STANDING = name("standing");

export class Conversation {
  readonly #live: LiveTurn;
  #transcript: Transcript;
  #grown = 0;
  /**
   * The messages that `context` hooks show to the model instead of the plain conversation. Later entries of the turn
   * follow it.
   */
  shown: { readonly messages: readonly Message[]; readonly upTo: number } | undefined = undefined;

  constructor(live: LiveTurn, transcript: Transcript) {
    this.#live = live;
    this.#transcript = transcript;
  }

  get transcript(): Transcript {
    const { log } = this.#live.state;
    if (this.#grown < log.length) {
      this.#transcript = this.#transcript.grow(this.#live.turnId, itemsOf(log), this.#grown);
      this.#grown = log.length;
    }
    return this.#transcript;
  }

  /** The messages that the model sees. */
  get messages(): readonly Message[] {
    const { shown, transcript } = this;
    if (shown === undefined) return transcript.messages;
    const added = itemsOf(this.#live.state.log).slice(shown.upTo);
    // A frame replaces the messages of `context` hooks.
    if (added.some((entry) => entry.kind === "frame")) return transcript.messages;
    return [...shown.messages, ...added.flatMap((entry) => (entry.kind === "message" ? [entry.message] : []))];
  }

  /** The same for a hook or a tool of this effect: with its own appends, and with those that wait for results. */
  messagesAt(place: EffectName): readonly Message[] {
    const { held: pendingAppends = NO_APPENDS, log } = this.#live.state;
    const { turnId } = this.#live;
    const own = this.appendsAt(place);
    if (pendingAppends.length + own.length === 0) return this.messages;
    const commit = this.#isInRound ? `${turnId}/held` : turnId;
    let next = this.#isInRound ? 0 : log.length;
    const names = new Set<string>();
    const waiting = [...pendingAppends, ...own].flatMap(({ nodes, operation }) => {
      if (operation !== undefined && names.has(operation.name)) return [];
      if (operation !== undefined) names.add(operation.name);
      return nodes.flatMap((node) => {
        const id = nodeId(commit, next++);
        return node.kind === "message" ? [{ id, ...node.message }] : [];
      });
    });
    return [...this.messages, ...waiting];
  }

  /** The nodes that a hook or a tool of this effect has appended so far. */
  appendsAt(place: EffectName): readonly DraftAppend[] {
    return place === STANDING ? this.#openAppends() : (this.#live.drafts?.get(place)?.appends ?? NO_APPENDS);
  }

  /** Only hooks use services that belong to no effect, and one hook runs at a time. An abandoned effect answers nothing. */
  #openAppends(): readonly DraftAppend[] {
    const { drafts, state } = this.#live;
    if (drafts === undefined) return NO_APPENDS;
    const places = state.open.map(placeOf);
    return [...drafts].flatMap(([place, { appends }]) => (places.includes(place) ? appends : NO_APPENDS));
  }

  /** In a round nodes wait for its results, so their index is not known yet. */
  get #isInRound(): boolean {
    return this.#live.state.phase.kind === "working";
  }

  /** Adds nodes to a draft. Returns the index of the first one in the turn's log, if it is known. */
  append({ appends }: EffectDraft, added: Appending): number | undefined {
    const before = appends.reduce((sum, { nodes }) => sum + nodes.length, 0);
    const from = this.#isInRound ? undefined : this.#live.state.log.length + before;
    appends.push(from === undefined ? added : { ...added, from });
    return from;
  }

  /**
   * The append of this turn with this name. If another running tool made it, that tool can still fail and drop the
   * append.
   */
  appendedAs(
    named: string,
    own: readonly DraftAppend[],
  ): { readonly hash: string; readonly from?: number; readonly mayBeDropped?: true } | undefined {
    const { placed = [], held: pendingAppends = NO_APPENDS } = this.#live.state;
    const found = placed.find((each) => each.name === named);
    if (found !== undefined) return found;
    const isIt = ({ operation }: DraftAppend): boolean => operation?.name === named;
    const sure: DraftAppend | undefined = pendingAppends.find(isIt) ?? own.find(isIt);
    const { hash } = (sure ?? this.#openAppends().find(isIt))?.operation ?? {};
    if (hash === undefined) return undefined;
    if (sure === undefined) return { hash, mayBeDropped: true };
    return sure.from === undefined ? { hash } : { hash, from: sure.from };
  }
}

const NO_APPENDS: readonly DraftAppend[] = [];
