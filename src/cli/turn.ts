import type { SessionEvent, Turn, TurnResult } from "../index.ts";
import { describeThrown } from "../model/json.ts";
import { type Agent, busyElsewhere } from "./agent.ts";
import { EXIT, type Io } from "./io.ts";
import type { Printer } from "./print.ts";
import { firstWords } from "./text.ts";
import type { Questions } from "./waits.ts";

/**
 * `left`: the user did not wait for the cancelled turn. `waiting`: a call waits, and no person here can answer.
 * `refused`: there is no result, and the printer has shown why.
 */
export type Taken = TurnResult | "left" | "waiting" | "refused";

/** The exit codes for a turn after which the program ends. */
export const LEFT = { left: EXIT.interrupted, interrupted: EXIT.interrupted, waiting: EXIT.waiting } as const;

/** Runs one turn and shows it while it runs. */
export async function takeTurn(
  agent: Pick<Agent, "session" | "store" | "reported">,
  text: string,
  printer: Printer,
  io: Io,
  questions: Questions,
): Promise<Taken> {
  const other = await busyElsewhere(agent).catch(() => undefined); // If the store fails, the turn reports it.
  if (other !== undefined) printer.note(`Waiting for ${other}, which runs a turn of this conversation.`);
  return show(agent, agent.session.turn(text), printer, io, questions);
}

/** Finishes turns that another process left unfinished. `interrupted`: Ctrl-C cancelled one of them. */
export async function finishLeft(
  agent: Agent,
  printer: () => Printer,
  io: Io,
  questions: Questions,
): Promise<"finished" | keyof typeof LEFT> {
  let isInterrupted = false;
  const interrupted = (): void => {
    isInterrupted = true;
  };
  io.interrupts.on("interrupt", interrupted);
  try {
    for (const { turnId, words } of agent.left) {
      const shown = printer();
      await questions.look();
      const why = questions.isEmpty ? "Finishing the interrupted turn" : "Continuing the waiting turn";
      shown.note(`${why}: ${firstWords(words)}`);
      const reason = (error: unknown): string => agent.lost.get(turnId) ?? describeThrown(error);
      const refused = (error?: unknown): void =>
        shown.refused(new Error(`The turn could not continue here: ${reason(error)}`));
      if (agent.lost.has(turnId)) {
        refused();
        continue;
      }
      const before = questions.isEmpty ? new Set<string>() : await shownBefore(agent, turnId);
      const taken = await show(agent, agent.session.follow(turnId), { ...shown, refused }, io, questions, before);
      if (taken === "left" || taken === "waiting") return taken;
    }
    return isInterrupted ? "interrupted" : "finished";
  } finally {
    io.interrupts.off("interrupt", interrupted);
  }
}

/** The events that calls of an open turn show before a question. */
const LAST_SHOWN = { running: "toolStarted", returned: "toolReturned", ended: "toolEnded" } as const;

/** The previews of an open turn that must be shown before its question, because a person decides with them. */
async function shownBefore({ session }: Pick<Agent, "session">, turnId: string): Promise<Set<string>> {
  const { openTurn } = await session.read();
  const calls = openTurn?.id === turnId ? openTurn.calls : [];
  return new Set(calls.map(({ effect, state }) => `${effect} ${LAST_SHOWN[state]}`));
}
/** Asks after this time in any case, because a preview can be lost, and a queued call shows nothing. */
const BEFORE_MS = 1_000;

/** Shows a turn. Ctrl-C cancels it; a second Ctrl-C leaves without waiting. */
async function show(
  { reported }: Pick<Agent, "reported">,
  turn: Turn,
  printer: Printer,
  { interrupts }: Io,
  questions: Questions,
  before?: Set<string>,
): Promise<Taken> {
  const left = Promise.withResolvers<"left" | "waiting">();
  const screen = new Screen(printer, questions, left, before);
  let isCancelled = false;
  const interrupted = (): void => {
    if (isCancelled) return left.resolve("left");
    isCancelled = true;
    screen.stop();
    printer.note("Cancelling. Ctrl-C again leaves at once.");
    turn.cancel("Ctrl-C was pressed.").catch(() => {}); // Cancelling a refused turn throws.
  };
  const shown = async (): Promise<Taken> => {
    for await (const event of turn) screen.show(event);
    await screen.done; // A running child can still ask.
    const result = await turn.result();
    for (const issue of result.issues) {
      const isInUsage = issue.code === "usage.estimated"; // The line about usage counts such calls.
      if (!isInUsage && !reported.has(issue.message)) printer.issue(issue);
      reported.add(issue.message);
    }
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
    screen.leave();
    interrupts.off("interrupt", interrupted);
  }
}

/** Shows the events of a turn. During a question it shows nothing: the events follow after the answer. */
class Screen {
  readonly #printer: Printer;
  readonly #questions: Questions;
  readonly #left: Pick<PromiseWithResolvers<"waiting">, "resolve" | "reject">;
  readonly #handlers: Pick<Questions, "onNew" | "onNobody">;
  readonly #held: SessionEvent[] = [];
  /** The previews that must be shown before a question, as `effect kind`. */
  readonly #before: Set<string>;
  #timer: NodeJS.Timeout | undefined;
  #isShowing = false;
  #isStopped = false;
  #hasLeft = false;
  /** Resolves when all received events are shown. */
  done = Promise.resolve();

  /** Resolves `left` when a question waits that nobody here can answer. */
  constructor(
    printer: Printer,
    questions: Questions,
    left: Pick<PromiseWithResolvers<"waiting">, "resolve" | "reject">,
    before = new Set<string>(),
  ) {
    this.#printer = printer;
    this.#questions = questions;
    this.#left = left;
    const { onNew, onNobody } = questions;
    this.#handlers = { onNew, onNobody };
    questions.onNew = () => this.#go();
    questions.onNobody = () => {
      this.#hasLeft = true;
      setImmediate(left.resolve, "waiting"); // Calls of one round wait together: all questions are shown first.
    };
    this.#before = before;
    const asked = (): void => {
      before.clear();
      this.#go();
    };
    if (before.size > 0) this.#timer = setTimeout(asked, BEFORE_MS);
    if (!questions.isEmpty) this.#go();
  }

  show(event: SessionEvent): void {
    this.#held.push(event);
    this.#questions.handle(event);
    this.#go();
  }

  /** Withdraws the open question, and asks no more. */
  stop(): void {
    this.#isStopped = true;
    this.#questions.withdraw();
  }

  leave(): void {
    this.stop();
    clearTimeout(this.#timer);
    Object.assign(this.#questions, this.#handlers);
  }

  #go(): void {
    if (this.#isShowing) return;
    this.done = this.#showHeld();
    this.done.catch(this.#left.reject);
  }

  /** After the person has left, only waits are printed. */
  #print(event: SessionEvent): void {
    if (!this.#hasLeft || event.kind === "waiting" || event.kind === "child") this.#printer.event(event);
  }

  async #showHeld(): Promise<void> {
    this.#isShowing = true;
    for (;;) {
      const event = this.#held.shift();
      if (event !== undefined) {
        this.#print(event);
        if (!event.fact && "key" in event) this.#before.delete(`${event.key.effect} ${event.kind}`);
      } else if (this.#isStopped || this.#questions.isEmpty || this.#before.size > 0) break;
      else await this.#questions.ask(this.#printer);
    }
    this.#isShowing = false;
  }
}
