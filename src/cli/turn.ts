import type { Session, TurnResult } from "../index.ts";
import type { Io } from "./io.ts";
import type { Printer } from "./print.ts";

/** `left`: the user would not wait for a cancelled turn. `refused`: the printer has told why. */
export type Taken = TurnResult | "left" | "refused";

/** One turn, shown as it comes. Ctrl-C cancels it; a second one leaves. */
export async function takeTurn(session: Session, text: string, printer: Printer, { interrupts }: Io): Promise<Taken> {
  const turn = session.turn(text);
  const left = Promise.withResolvers<"left">();
  let isCancelled = false;
  const interrupted = (): void => {
    if (isCancelled) return left.resolve("left");
    isCancelled = true;
    printer.note("Cancelling. Ctrl-C again leaves at once.");
    turn.cancel("Ctrl-C was pressed.").catch(() => {}); // A turn that was refused has nothing to cancel.
  };
  const shown = async (): Promise<Taken> => {
    for await (const event of turn) printer.event(event);
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
    interrupts.off("interrupt", interrupted);
  }
}
