import type { Turn, TurnResult } from "../index.ts";
import { describeThrown } from "../model/json.ts";
import { type Agent, busyElsewhere } from "./agent.ts";
import { EXIT, type Io } from "./io.ts";
import { firstWords, type Printer } from "./print.ts";
import { type Answer, Asker } from "./waits.ts";

/**
 * `left`: the user did not wait for the cancelled turn. `waiting`: a call of it waits, and nobody can answer.
 * `refused`: there is no result, and the printer has told why.
 */
export type Taken = TurnResult | "left" | "waiting" | "refused";

/** What the program ends with when it does not go on after a turn. */
export const LEFT = { left: EXIT.interrupted, interrupted: EXIT.interrupted, waiting: EXIT.waiting } as const;

/** Runs one turn and shows it as it comes. */
export async function takeTurn(
  agent: Pick<Agent, "session" | "store">,
  text: string,
  printer: Printer,
  io: Io,
  answer: Answer,
): Promise<Taken> {
  const other = await busyElsewhere(agent).catch(() => undefined); // If the store fails, the turn will tell.
  if (other !== undefined) printer.note(`Waiting for ${other}, which is at a turn of this conversation.`);
  return show(agent.session.turn(text), printer, io, answer);
}

/** Finishes the turns that a killed process left. `interrupted`: Ctrl-C cancelled one of them. */
export async function finishLeft(
  agent: Agent,
  printer: () => Printer,
  io: Io,
  answer: Answer,
): Promise<"finished" | keyof typeof LEFT> {
  let isInterrupted = false;
  const interrupted = (): void => {
    isInterrupted = true;
  };
  io.interrupts.on("interrupt", interrupted);
  try {
    for (const { turnId, words } of agent.left) {
      const shown = printer();
      shown.note(`Finishing the turn that was interrupted: ${firstWords(words)}`);
      const reason = (error: unknown): string => agent.lost.get(turnId) ?? describeThrown(error);
      const refused = (error?: unknown): void =>
        shown.refused(new Error(`The turn could not be gone on with here: ${reason(error)}`));
      if (agent.lost.has(turnId)) {
        refused();
        continue;
      }
      const taken = await show(agent.session.follow(turnId), { ...shown, refused }, io, answer);
      if (taken === "left" || taken === "waiting") return taken;
    }
    return isInterrupted ? "interrupted" : "finished";
  } finally {
    io.interrupts.off("interrupt", interrupted);
  }
}

/** Shows a turn. Ctrl-C cancels it; a second Ctrl-C leaves without waiting. */
async function show(turn: Turn, printer: Printer, { interrupts }: Io, answer: Answer): Promise<Taken> {
  const left = Promise.withResolvers<"left" | "waiting">();
  const asker = new Asker(printer, answer, left);
  let isCancelled = false;
  const interrupted = (): void => {
    if (isCancelled) return left.resolve("left");
    isCancelled = true;
    asker.stop();
    printer.note("Cancelling. Ctrl-C again leaves at once.");
    turn.cancel("Ctrl-C was pressed.").catch(() => {}); // A refused turn cannot be cancelled.
  };
  const shown = async (): Promise<Taken> => {
    for await (const event of turn) asker.show(event);
    asker.stop();
    await asker.done;
    const result = await turn.result();
    printer.ended(result);
    return result;
  };
  interrupts.on("interrupt", interrupted);
  try {
    return await Promise.race([shown(), left.promise]);
  } catch (error) {
    printer.refused(error);
    return "refused";
  } finally {
    asker.stop();
    interrupts.off("interrupt", interrupted);
  }
}
