import type { Turn, TurnId, TurnProgress } from "../index.ts";
import { describeThrown } from "../model/json.ts";
import type { Agent } from "./agent.ts";

export type Shown = Pick<Turn, "result" | "cancel" | typeof Symbol.asyncIterator>;

/** Shows a turn that a killed process began and this one goes on with, from its beginning. */
export function follow({ session, lost }: Agent, turnId: TurnId): Shown {
  const turn = session.follow(turnId);
  async function* events(): AsyncGenerator<TurnProgress> {
    if (lost.has(turnId)) throw notHere(lost.get(turnId));
    let said = "";
    let effect: string | undefined;
    try {
      for await (const event of turn) {
        if (event.kind === "text") {
          said = event.key.effect === effect ? said + event.delta : event.delta;
          effect = event.key.effect;
        }
        // A turn that ended before it was looked at shows nothing any more: its answer is in its outcome.
        if (event.kind === "committed" && event.outcome.kind === "answered" && event.outcome.text !== said)
          yield { ...UNSEEN, sessionId: event.sessionId, turnId, delta: event.outcome.text };
        yield event;
      }
    } catch (error) {
      throw notHere(lost.get(turnId) ?? describeThrown(error));
    }
  }
  return { [Symbol.asyncIterator]: events, result: () => turn.result(), cancel: (reason) => turn.cancel(reason) };
}

const UNSEEN = {
  fact: false,
  key: {
    effect: "r1.ask" as Extract<TurnProgress, { readonly fact: false }>["key"]["effect"],
    generation: 1,
    attempt: 1,
  },
  kind: "text",
} as const;

const notHere = (problem: string | undefined): Error =>
  new Error(`The turn could not be gone on with here: ${problem}`);
