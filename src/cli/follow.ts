import { setTimeout as sleep } from "node:timers/promises";
import type { SessionId, Turn, TurnId, TurnProgress, TurnResult } from "../index.ts";
import { statusOf, type ToolCall } from "../model/tool.ts";
import type { TurnEvent } from "../turn/event.ts";
import type { Agent } from "./agent.ts";

export type Shown = Pick<Turn, "result" | "cancel" | typeof Symbol.asyncIterator>;

const POLL_MS = 50;

/**
 * Shows a turn that a killed process began and this one goes on with. There is no handle for it here, so its events are
 * read from its journal, from the beginning, a whole reply or result at a time.
 */
export function follow({ session, store, lost }: Agent, turnId: TurnId): Shown {
  const ended = Promise.withResolvers<TurnResult>();
  async function* events(): AsyncGenerator<TurnProgress> {
    const told = new Telling(session.id, turnId);
    for (let seen = 0; ; ) {
      const terminal = await store.terminal(turnId);
      if (terminal !== undefined) {
        const { outcome, usage } = terminal;
        // The journal is deleted with the commit, maybe before the answer was read from it.
        if (outcome.kind === "answered" && outcome.text !== told.said) yield told.words("text", outcome.text);
        return ended.resolve({ turnId, outcome, usage, issues: [] });
      }
      const journal = await store.journal(turnId, seen);
      seen += journal.length;
      for (const event of journal) yield* told.tell(event);
      if (lost.has(turnId)) throw new Error(`The turn could not be gone on with here: ${lost.get(turnId)}`);
      if (journal.length === 0) await sleep(POLL_MS);
    }
  }
  return {
    [Symbol.asyncIterator]: events,
    result: () => ended.promise,
    cancel: (reason) => session.cancel(turnId, reason === undefined ? {} : { reason }),
  };
}

type Preview = Extract<TurnProgress, { readonly fact: false }>;

/** Turns events of a journal into the events that an observer of a turn would see. */
class Telling {
  readonly #sessionId: SessionId;
  readonly #turnId: TurnId;
  /** Calls by their effects' names, `r1.call.0`. */
  readonly #calls = new Map<string, ToolCall>();
  #since = 0;
  #key: Preview["key"] | undefined;
  /** The text of the latest reply. */
  said = "";

  constructor(sessionId: SessionId, turnId: TurnId) {
    this.#sessionId = sessionId;
    this.#turnId = turnId;
  }

  words(kind: "text" | "reasoning", delta: string): Preview {
    return { ...this.#preview(), kind, delta };
  }

  *tell(event: TurnEvent): Generator<Preview> {
    // Calls begin after an event that is no result, so the time of the last one is when the current calls began.
    if (event.kind !== "returned") this.#since = event.at;
    if (event.kind === "replied") {
      this.#key = { effect: event.effect, generation: 1, attempt: 1 };
      this.said = "";
      const round = event.effect.slice(0, event.effect.indexOf("."));
      let index = 0;
      for (const part of event.reply.parts) {
        if (part.kind === "text") this.said += part.text;
        if (part.kind === "text" || part.kind === "reasoning") yield this.words(part.kind, part.text);
        if (part.kind !== "toolCall") continue;
        const call: ToolCall = { id: part.callId, name: part.name, input: part.input };
        this.#calls.set(`${round}.call.${index++}`, call);
        yield { ...this.#preview(), kind: "toolStarted", call };
      }
    }
    if (event.kind === "returned") {
      const call = this.#calls.get(event.effect.replace(/\.a\d+$/, ""));
      if (call === undefined) return; // A call inside a batch, which is not shown.
      const { id: callId, name } = call;
      const { output, at } = event;
      const ms = at - this.#since;
      yield { ...this.#preview(), kind: "toolEnded", callId, name, status: statusOf(output), ms, output };
    }
  }

  #preview(): Pick<Preview, "fact" | "sessionId" | "turnId" | "key"> {
    const key = this.#key ?? { effect: "r1.ask" as Preview["key"]["effect"], generation: 1, attempt: 1 };
    return { fact: false, sessionId: this.#sessionId, turnId: this.#turnId, key };
  }
}
