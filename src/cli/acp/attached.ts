// A session that a client has opened: sends prompts, follows the session in any process, and asks about its waits.
// Leaving cancels nothing. Each event is written before the next one is read, so a client that does not read makes the
// runtime drop previews (`gap`) and not this process keep them.
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentContext, PromptResponse } from "@agentclientprotocol/sdk";
import type { Input, Runtime, Session, SessionEvent, TurnOutcome } from "../../index.ts";
import type { Message } from "../../model/message.ts";
import type { AnyWait } from "../../runtime/waits.ts";
import { faultOf } from "../text.ts";
import { titleOf } from "./content.ts";
import { choicesOf } from "./permission.ts";
import { Transcript } from "./transcript.ts";

type Committed = Extract<SessionEvent, { readonly kind: "committed"; readonly by: "turn" }>;
type Ended = { readonly kind: "withdrawn" } | { readonly kind: "ended"; readonly outcome: TurnOutcome };

export interface Surroundings {
  readonly runtime: Runtime;
  readonly client: AgentContext;
  /** The person at the client. The history keeps the name with answers. */
  readonly user: string | undefined;
  /** Writes an error to stderr. */
  log(error: unknown): void;
  /** The client has left. */
  isOver(): boolean;
}

const AGAIN_MS = 1_000;
const PAGE = 200;
const GONE = ["session.deleted", "session.unknown"];

export class Attached {
  readonly #in: Surroundings;
  readonly #session: Session;
  readonly #transcript: Transcript;
  readonly #over = new AbortController();
  /** Prompts of this client whose turns have not ended, by their keys, and by their turns once the inputs are accepted. */
  readonly #prompts = new Map<string, PromiseWithResolvers<Ended>>();
  readonly #sending = new Set<Promise<unknown>>();
  /** The waits that the client is asked about, with their turns. */
  readonly #asked = new Map<string, { readonly asking: AbortController; readonly turnId: string | undefined }>();

  constructor(surroundings: Surroundings, session: Session) {
    this.#in = surroundings;
    this.#session = session;
    this.#transcript = new Transcript((update) =>
      surroundings.client.notify("session/update", { sessionId: session.id, update }),
    );
  }

  /** Begins to follow the session. `isReplayed`: first sends its whole history, with the open turn. */
  async start(isReplayed: boolean): Promise<void> {
    const view = await this.#session.read();
    if (isReplayed) {
      await this.#transcript.history(await this.#history());
      await this.#transcript.open(view);
    }
    this.#follow(view.cursor).catch((error: unknown) => this.#in.log(error));
    // Runs after the answer to the client's request, because before it a client can lack the session.
    setImmediate(() => this.#askAll().catch((error: unknown) => this.#in.log(error)));
  }

  /** Settles when the turn of the prompt has ended and the client has all of it. */
  async prompt(input: Input): Promise<Ended> {
    const key = `acp-${randomUUID()}`;
    const prompt = Promise.withResolvers<Ended>();
    prompt.promise.catch(() => {}); // It can reject while the input is being sent.
    this.#prompts.set(key, prompt);
    const sending = this.#session.send(input, { key, at: "next-turn" });
    this.#sending.add(sending);
    try {
      const { turnId } = await sending.finally(() => this.#sending.delete(sending));
      // Rejects if the turn cannot run: the session then has no fact. After `close()` facts are not read.
      const result = this.#in.runtime.sessions.follow(turnId).result();
      result.then(
        ({ outcome }) => (this.#over.signal.aborted ? prompt.resolve({ kind: "ended", outcome }) : undefined),
        (error: unknown) =>
          faultOf(error).code === "input.withdrawn" ? prompt.resolve({ kind: "withdrawn" }) : prompt.reject(error),
      );
      return await prompt.promise;
    } finally {
      for (const [id, each] of this.#prompts) if (each === prompt) this.#prompts.delete(id);
    }
  }

  /** Ends the open turn and withdraws all inputs that wait, also those that are being sent. */
  async cancel(): Promise<void> {
    await Promise.allSettled(this.#sending);
    await this.#in.runtime.sessions.cancel(this.#session.id, undefined, "The client cancelled it.");
  }

  async close(): Promise<void> {
    this.#over.abort();
    for (const { asking } of this.#asked.values()) asking.abort();
    await this.#session.close();
  }

  /** All messages of all frames, oldest first. */
  async #history(): Promise<readonly Message[]> {
    const pages: Message[][] = [];
    for (let before: string | undefined; ; ) {
      const nodes = await this.#session.history({ max: PAGE, before });
      pages.push(nodes.flatMap((node) => (node.kind === "message" ? [node.message] : [])).reverse());
      before = nodes.at(-1)?.id;
      if (nodes.length < PAGE) return pages.reverse().flat();
    }
  }

  /** After an error of the store it continues at the last fact. Previews that come again send nothing new. */
  async #follow(from: string | undefined): Promise<void> {
    const { signal } = this.#over;
    for (let after = from; !signal.aborted; ) {
      try {
        for await (const event of this.#session.observe({ tree: true, after, signal })) {
          await this.#event(event);
          if (event.fact) after = event.cursor;
        }
        return;
      } catch (error) {
        if (signal.aborted || this.#in.isOver()) return;
        this.#in.log(error);
        if (GONE.includes(faultOf(error).code ?? "")) return this.#gone(error);
        await sleep(AGAIN_MS, undefined, { signal, ref: false }).catch(() => {});
      }
    }
  }

  /** The session was deleted, so its turns cannot end. */
  #gone(error: unknown): void {
    for (const prompt of this.#prompts.values()) prompt.reject(error);
  }

  async #event(event: SessionEvent): Promise<void> {
    if (event.kind === "child") this.#wait(event.event);
    else this.#wait(event);
    if (event.sessionId !== this.#session.id) return;
    if (!event.fact) return this.#transcript.preview(event);
    if (event.kind === "gap") return this.#transcript.open(event.view);
    if (event.kind === "accepted") {
      const prompt = event.key === undefined ? undefined : this.#prompts.get(event.key);
      if (prompt === undefined) return this.#transcript.user(event.inputId, event.text ?? "");
      this.#transcript.has(event.inputId);
      if (event.turnId !== undefined) this.#prompts.set(event.turnId, prompt);
    }
    if (event.kind === "withdrawn") {
      this.#transcript.withdrawn(event.inputId);
      if (event.turnId !== undefined) this.#prompts.get(event.turnId)?.resolve({ kind: "withdrawn" });
    }
    if (event.kind === "committed" && event.by === "turn") await this.#committed(event);
  }

  async #committed(event: Committed): Promise<void> {
    const { turnId, nodes, outcome, branch } = event;
    const from = branch ?? nodes.at(-1);
    const found = from === undefined ? [] : await this.#session.history({ from, max: nodes.length });
    const messages = found.flatMap((node) => (node.kind === "message" ? [node.message] : [])).reverse();
    await this.#transcript.committed(event, messages);
    if (outcome.kind === "finished") await this.#transcript.value(turnId, outcome.value);
    if (outcome.kind === "stopped" && outcome.by !== "cancel")
      await this.#transcript.notice("The turn was stopped", outcome.reason);
    this.#prompts.get(turnId)?.resolve({ kind: "ended", outcome });
  }

  // ── Waits ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  #wait(event: SessionEvent): void {
    if (event.kind === "child") return this.#wait(event.event);
    if (event.kind === "waiting") this.#ask(event.wait, event.turnId);
    if (event.kind === "resolved") this.#withdraw((id) => id === event.wait);
    if (event.kind === "committed" && event.by === "turn") this.#withdraw((_, turnId) => turnId === event.turnId);
  }

  async #askAll(): Promise<void> {
    if (this.#over.signal.aborted) return;
    for (const { id, turnId } of await this.#in.runtime.waits.list({ tree: this.#session.id })) this.#ask(id, turnId);
  }

  #withdraw(isIt: (id: string, turnId: string | undefined) => boolean): void {
    for (const [id, { asking, turnId }] of this.#asked)
      if (isIt(id, turnId)) {
        asking.abort();
        this.#asked.delete(id);
      }
  }

  /** Asks once. A wait comes several times: from its turn, from turns above it, and from the list. */
  #ask(id: string, turnId: string | undefined): void {
    if (this.#asked.has(id) || this.#over.signal.aborted) return;
    const asking = new AbortController();
    this.#asked.set(id, { asking, turnId });
    this.#question(id, asking.signal).catch((error: unknown) => {
      // The wait stays open: another client, or `bowline chat`, can answer it.
      if (!asking.signal.aborted && !this.#in.isOver()) this.#in.log(error);
    });
  }

  async #question(id: string, over: AbortSignal): Promise<void> {
    const { runtime, client, user } = this.#in;
    const wait = await runtime.waits.get({ id });
    if (wait === undefined || over.aborted) return;
    const choices = choicesOf(wait);
    const { tool, arguments: rawInput, reason } = wait;
    if (choices === undefined) {
      const who =
        wait.kind === "result"
          ? "Its result comes from elsewhere."
          : `Answer it with bowline chat --session ${wait.sessionId}.`;
      return this.#transcript.notice(`${titleOf(tool, {})} waits`, `${reason} ${who}`.trim());
    }
    const { outcome } = await client.request(
      "session/request_permission",
      {
        sessionId: this.#session.id,
        toolCall: {
          toolCallId: await this.#callOf(wait),
          title: titleOf(tool, rawInput),
          status: "pending",
          rawInput,
          content: [{ type: "content", content: { type: "text", text: reason } }],
        },
        options: choices.options,
      },
      { cancellationSignal: over, stopWaitingOnCancel: true },
    );
    // A client answers `cancelled` when it cancels the turn, which ends the wait.
    if (outcome.outcome !== "selected") return;
    const answer = choices.answerOf(outcome.optionId);
    if (answer === undefined)
      throw new Error(`The client chose ${JSON.stringify(outcome.optionId)}, which was not offered.`);
    await runtime.waits.resolve({ id }, answer, user === undefined ? {} : { by: user });
  }

  /** The call that waits, as it is named in updates. */
  async #callOf({ id, sessionId, turnId, jobId }: AnyWait): Promise<string> {
    const { waits } = await this.#in.runtime.sessions.get(sessionId);
    const effect = waits.find((wait) => wait.id === id)?.effect ?? id;
    return `${turnId ?? jobId}/${effect.replace(/\.w\d*$/, "")}`;
  }
}

/** How a turn ended, for the client. A failed turn is an error. */
export function responseTo(
  ended: Ended,
  failed: (outcome: Extract<TurnOutcome, { kind: "failed" }>) => Error,
): PromptResponse {
  if (ended.kind === "withdrawn") return { stopReason: "cancelled" };
  const { outcome } = ended;
  if (outcome.kind === "failed") throw failed(outcome);
  if (outcome.kind !== "stopped") return { stopReason: "end_turn" };
  const { by, code, reason } = outcome;
  // A refusal makes clients forget the prompt, so only a refusal of the model is one.
  const named = code === "reply.truncated" ? "max_tokens" : code === "reply.refused" ? "refusal" : "end_turn";
  const stopReason = by === "cancel" ? "cancelled" : by === "limit" ? "max_turn_requests" : named;
  return { stopReason, _meta: { bowline: { code, reason } } };
}
