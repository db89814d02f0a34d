// Turns events and messages of a session into updates of the Agent Client Protocol. Everything is sent once: what the
// client has is remembered by `turnId/effect`, so previews that come again, and messages read after them, add only what is
// missing. The protocol cannot take text back: a repeated attempt is a notice and a message with a new id.
import type { SessionUpdate } from "@agentclientprotocol/sdk";
import type { Json, SessionEvent, SessionView } from "../../index.ts";
import type { Preview } from "../../model/event.ts";
import { nodeAddress } from "../../model/ids.ts";
import { callsOf, inputIdOf, type Message, type Part, type ToolStatus, textOf } from "../../model/message.ts";
import type { ToolOutput } from "../../plugin.ts";
import { contentOf, outputOf, titleOf } from "./content.ts";

type Send = (update: SessionUpdate) => Promise<void>;
type Kind = "text" | "reasoning";

/** The text of one model call that the client has. */
interface Sent {
  text: string;
  /** How much of it the present attempt has repeated. Equal to its length while the text is new. */
  heard: number;
  generation: number;
  attempt: number;
  /** How many messages with this position the client has. */
  version: number;
}
interface SentCall {
  isEnded: boolean;
  printed: string;
  shownAt: number;
}
interface SentTurn {
  readonly texts: Map<string, Sent>;
  readonly calls: Map<string, SentCall>;
}
type Committed = Extract<SessionEvent, { readonly kind: "committed"; readonly by: "turn" }>;

/** Previews can come after the commit of their turn. Only the last turns can have some. */
const ENDED_MAX = 100;
/** The output of a running tool is sent whole each time, so not for every line of it. */
const PRINTED_MS = 200;
const PRINTED_MAX = 10_000;

const CHUNK = { text: "agent_message_chunk", reasoning: "agent_thought_chunk" } as const;
const CODE = "bowline/code";
const REPEATED = "The answer begins again";

export class Transcript {
  readonly #send: Send;
  readonly #turns = new Map<string, SentTurn>();
  readonly #users = new Set<string>();
  readonly #ended = new Set<string>();

  constructor(send: Send) {
    this.#send = send;
  }

  /** The client has this input already, because it sent it. */
  has(inputId: string): void {
    this.#users.add(inputId);
  }

  withdrawn(inputId: string): void {
    this.#users.delete(inputId);
  }

  /** A message of the user that this client did not send, or that is replayed. */
  async user(id: string, text: string): Promise<void> {
    if (text === "" || this.#users.has(id)) return;
    this.#users.add(id);
    await this.#send({ sessionUpdate: "user_message_chunk", messageId: id, content: { type: "text", text } });
  }

  /** The open turn so far, and the inputs that wait. */
  async open({ openTurn, inputs }: Pick<SessionView, "openTurn" | "inputs">): Promise<void> {
    if (openTurn !== undefined && !this.#ended.has(openTurn.id)) {
      await this.#messages(openTurn.messages);
      for (const { effect, call, state, output } of openTurn.calls) {
        await this.#call(openTurn.id, effect, call.name, call.input);
        if (state === "ended" && output !== undefined) await this.#output(openTurn.id, effect, output);
      }
    }
    for (const { id, turnId = "", message } of inputs)
      if (!this.#ended.has(turnId)) await this.user(inputIdOf(message) ?? id, textOf(message.parts));
  }

  async preview(event: Preview): Promise<void> {
    const { turnId, key } = event;
    const { effect } = key;
    if (this.#ended.has(turnId)) return;
    switch (event.kind) {
      case "text":
      case "reasoning":
        return this.#delta(event);
      case "retracted":
        return this.#retracted(turnId, effect);
      case "toolStarted":
        return this.#call(turnId, effect, event.call.name, event.call.input);
      case "toolOutput":
        return this.#printed(turnId, effect, event.delta);
      case "toolProgress":
        return this.#update(turnId, effect, { _meta: { bowline: { progress: event.value } } });
      case "toolEnded":
        return this.#output(turnId, effect, event.output);
      case "plugin":
        if (event.plugin === CODE && event.name === "cell") return this.#call(turnId, effect, CODE, event.payload);
        return;
      case "child":
        // The answer of a child session is shown as the output of the call that waits for it.
        if (event.call !== undefined && event.event.kind === "text")
          return this.#printed(turnId, event.call, event.event.delta);
    }
  }

  /** The messages of ended turns, oldest first. */
  async history(messages: readonly Message[]): Promise<void> {
    for (let from = 0; from < messages.length; ) {
      const turnId = turnOf(messages[from] as Message);
      const next = messages.findIndex((message, at) => at > from && turnOf(message) !== turnId);
      const own = messages.slice(from, next < 0 ? messages.length : next);
      await this.#messages(own);
      this.#forget(turnId, own);
      from += own.length;
    }
  }

  /** The messages of one turn, from its first one on. */
  async #messages(messages: readonly Message[]): Promise<void> {
    const [first] = messages;
    if (first === undefined) return;
    const turnId = turnOf(first);
    let round = 0;
    let nth = 0;
    let code = "";
    for (const message of messages) {
      const { role, parts, origin } = message;
      if (origin?.kind === "carried" || role === "system") continue; // A new frame repeats messages of the frame before.
      if (role === "user" && origin?.kind !== "runtime")
        await this.user(inputIdOf(message) ?? message.id, textOf(parts));
      if (role === "assistant") {
        round++;
        nth = 0;
        code = textOf(parts);
        await this.#reply(turnId, `r${round}`, parts);
      }
      for (const part of parts) {
        // The results of a round are in the order of its calls. Ids of providers can repeat.
        if (part.kind === "toolResult") await this.#ending(turnId, `r${round}.call.${nth++}`, part.status, part.parts);
        if (part.kind !== "codeOutput") continue;
        await this.#call(turnId, `r${round}.exec`, CODE, { code });
        await this.#ending(turnId, `r${round}.exec`, part.status === "done" ? "ok" : "failed", part.parts);
      }
    }
  }

  /** The turn has ended: its messages add what previews did not show. */
  async committed({ turnId }: Committed, messages: readonly Message[]): Promise<void> {
    if (this.#ended.has(turnId)) return; // It ended while the history was read.
    await this.#messages(messages);
    for (const [effect, call] of this.#turns.get(turnId)?.calls ?? [])
      if (!call.isEnded) await this.#ending(turnId, effect, "unknown", []);
    this.#forget(turnId, messages);
  }

  #forget(turnId: string, messages: readonly Message[]): void {
    for (const message of messages) this.#users.delete(inputIdOf(message) ?? message.id);
    this.#turns.delete(turnId);
    this.#ended.add(turnId);
    const [oldest] = this.#ended;
    if (this.#ended.size > ENDED_MAX && oldest !== undefined) this.#ended.delete(oldest);
  }

  #turn(turnId: string): SentTurn {
    const known = this.#turns.get(turnId);
    if (known !== undefined) return known;
    const made = { texts: new Map(), calls: new Map() };
    this.#turns.set(turnId, made);
    return made;
  }

  // ── Text ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #delta({ kind, turnId, key, delta }: Extract<Preview, { readonly kind: Kind }>): Promise<void> {
    const { effect, generation, attempt } = key;
    const sent = this.#text(turnId, effect, kind);
    const isOlder = generation < sent.generation || (generation === sent.generation && attempt < sent.attempt);
    if (isOlder) return;
    if (generation > sent.generation || attempt > sent.attempt) Object.assign(sent, { generation, attempt, heard: 0 });
    const known = sent.text.slice(sent.heard, sent.heard + delta.length);
    if (!delta.startsWith(known)) {
      const text = sent.text.slice(0, sent.heard) + delta;
      await this.#again(sent);
      return this.#chunk(turnId, effect, kind, sent, text);
    }
    sent.heard += known.length;
    return this.#chunk(turnId, effect, kind, sent, delta.slice(known.length));
  }

  async #chunk(turnId: string, effect: string, kind: Kind, sent: Sent, text: string): Promise<void> {
    if (text === "") return;
    sent.text += text;
    sent.heard = sent.text.length;
    const messageId = `${turnId}/${effect}${sent.version === 0 ? "" : `#${sent.version}`}`;
    await this.#send({ sessionUpdate: CHUNK[kind], messageId, content: { type: "text", text } });
  }

  /** What follows is a new message. The notice is for the person who has read the earlier one. */
  async #again(sent: Sent): Promise<void> {
    if (sent.text !== "") await this.notice(REPEATED, "The text of the attempt before does not count.");
    Object.assign(sent, { text: "", heard: 0, version: sent.version + 1 });
  }

  async #retracted(turnId: string, effect: string): Promise<void> {
    for (const kind of ["reasoning", "text"] as const) {
      const sent = this.#turn(turnId).texts.get(`${kind} ${effect}`);
      if (sent !== undefined && sent.text !== "") await this.#again(sent);
    }
  }

  #text(turnId: string, effect: string, kind: Kind): Sent {
    const { texts } = this.#turn(turnId);
    const known = texts.get(`${kind} ${effect}`);
    if (known !== undefined) return known;
    const made: Sent = { text: "", heard: 0, generation: 0, attempt: 0, version: 0 };
    texts.set(`${kind} ${effect}`, made);
    return made;
  }

  async #reply(turnId: string, round: string, parts: readonly Part[]): Promise<void> {
    const thought = parts.map((part) => (part.kind === "reasoning" ? part.text : "")).join("");
    await this.#whole(turnId, `${round}.ask`, "reasoning", thought);
    await this.#whole(turnId, `${round}.ask`, "text", textOf(parts, "shown"));
    for (const [nth, { name, input }] of callsOf(parts).entries())
      await this.#call(turnId, `${round}.call.${nth}`, name, input);
  }

  /** The text of a stored message. */
  async #whole(turnId: string, effect: string, kind: Kind, text: string): Promise<void> {
    const sent = this.#text(turnId, effect, kind);
    if (sent.text === text) return;
    if (!text.startsWith(sent.text)) await this.#again(sent);
    await this.#chunk(turnId, effect, kind, sent, text.slice(sent.text.length));
  }

  /** The value of a finished turn, which is in no message. */
  value(turnId: string, value: Json): Promise<void> {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    const messageId = `${turnId}/value`;
    return this.#send({ sessionUpdate: "agent_message_chunk", messageId, content: { type: "text", text } });
  }

  notice(title: string, description: string): Promise<void> {
    return this.#send({ sessionUpdate: "notice", severity: "info", title, description });
  }

  // ── Calls ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #call(turnId: string, effect: string, name: string, rawInput: unknown): Promise<void> {
    const { calls } = this.#turn(turnId);
    if (calls.has(effect)) return;
    calls.set(effect, { isEnded: false, printed: "", shownAt: 0 });
    await this.#send({
      sessionUpdate: "tool_call",
      toolCallId: `${turnId}/${effect}`,
      title: name === CODE ? "Runs code" : titleOf(name, rawInput),
      kind: name === CODE ? "execute" : "other",
      status: "in_progress",
      rawInput,
    });
  }

  async #printed(turnId: string, effect: string, delta: string): Promise<void> {
    const call = this.#turn(turnId).calls.get(effect);
    if (call === undefined || call.isEnded) return;
    call.printed = (call.printed + delta).slice(-PRINTED_MAX);
    if (performance.now() - call.shownAt < PRINTED_MS) return;
    call.shownAt = performance.now();
    const content = [{ type: "content" as const, content: { type: "text" as const, text: call.printed } }];
    await this.#update(turnId, effect, { content });
  }

  #output(turnId: string, effect: string, output: ToolOutput): Promise<void> {
    const { status, rawOutput, parts } = outputOf(output);
    return this.#ending(turnId, effect, status, parts, rawOutput);
  }

  async #ending(
    turnId: string,
    effect: string,
    status: ToolStatus,
    parts: readonly Part[],
    rawOutput?: unknown,
  ): Promise<void> {
    const call = this.#turn(turnId).calls.get(effect);
    if (call === undefined || call.isEnded) return;
    call.isEnded = true;
    await this.#update(turnId, effect, {
      status: status === "ok" ? "completed" : "failed",
      content: contentOf(parts),
      ...(rawOutput === undefined ? {} : { rawOutput }),
      _meta: { bowline: { status } },
    });
  }

  #update(turnId: string, effect: string, change: object): Promise<void> {
    return this.#send({ sessionUpdate: "tool_call_update", toolCallId: `${turnId}/${effect}`, ...change });
  }
}

/** Nodes are named by their commit, and the commit of a turn by the turn. */
const turnOf = ({ id }: Message): string => nodeAddress(id)?.commit ?? id;
