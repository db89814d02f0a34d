// Calls of a turn that wait for a person: who answers them, and how the turn is shown meanwhile.
import type { Approval, RuntimeError, SessionEvent } from "../index.ts";
import type { Agent } from "./agent.ts";
import type { Io, Settings } from "./io.ts";
import { type Paint, type Printer, questionOf, type Waiting } from "./print.ts";
import type { Prompt } from "./prompt.ts";

/**
 * Answers a call that waits. Resolves with false if nobody can. `over` aborts when it is too late; its reason is told
 * unless it is empty.
 */
export type Answer = (wait: Waiting, printer: Printer, over: AbortSignal) => Promise<boolean>;

/** Asks the person at the prompt; `nobody` answers when that person leaves. */
export function atPrompt(prompt: Prompt, { waits }: Agent, paint: Paint, nobody: Answer): Answer {
  const choice = paint("bold", "[y]es, [n]o, or say why not: ");
  return async (wait, printer, over) => {
    printer.note(questionOf(wait), "yellow");
    let line: string | undefined = "";
    while (line === "" && !over.aborted) line = (await prompt.ask(choice, over))?.trim();
    if (over.aborted) {
      if (over.reason !== "") printer.note(over.reason);
      return true;
    }
    if (line === undefined || line === "/quit") return nobody(wait, printer, over);
    if (!(await isTaken(waits.resolve(wait.wait, answerOf(line))))) printer.note(TOO_LATE);
    return true;
  };
}
const TOO_LATE = "Your answer came too late: this was answered elsewhere, or its time is up.";

function answerOf(line: string): Approval {
  if (/^y(es)?$/i.test(line)) return { approved: true };
  return /^no?$/i.test(line) ? { approved: false } : { approved: false, reason: line };
}

async function isTaken(resolving: ReturnType<Agent["waits"]["resolve"]>): Promise<boolean> {
  try {
    return (await resolving) === "accepted";
  } catch (error) {
    if ((error as Partial<RuntimeError>).code === "wait.unknown") return false;
    throw error;
  }
}

/** For pipes and single turns. Tells how the call can be answered. */
export function byNobody({ session }: Agent, { stderr }: Io, { app }: Settings): Answer {
  const chat = `bowline chat${app === undefined ? "" : ` --app ${app}`} --session ${session.id}`;
  return async (wait) => {
    const code = `runtime.waits.resolve(${JSON.stringify(wait.wait)}, { approved: true })`;
    stderr.write(
      `bowline: ${questionOf(wait)} Nobody can answer that here, so the turn is left waiting. On a terminal, ${chat} asks again; code can answer with ${code}.\n`,
    );
    return false;
  };
}

/** Said when a turn of before still waits: a script must not take its own text for sent. */
export const NOT_SENT = "bowline: An earlier turn of this session still waits, so nothing new was sent.\n";

type Left = Pick<PromiseWithResolvers<"waiting">, "resolve" | "reject">;

/**
 * Shows the events of a turn, and has its calls that wait answered one after the other. Nothing is shown while a
 * question stands: it comes after the answer.
 */
export class Asker {
  readonly #printer: Printer;
  readonly #answer: Answer;
  readonly #left: Left;
  readonly #held: SessionEvent[] = [];
  /** Keys of the waits that were seen. A turn that is taken up again tells of them again. */
  readonly #seen = new Set<string>();
  #asked: { readonly wait: Waiting; readonly over: AbortController } | undefined;
  #isShowing = false;
  #isStopped = false;
  /** Resolves when all that was given so far is shown. */
  done = Promise.resolve();

  /** Resolves `left` when a call waits that nobody can answer. */
  constructor(printer: Printer, answer: Answer, left: Left) {
    this.#printer = printer;
    this.#answer = answer;
    this.#left = left;
  }

  show(event: SessionEvent): void {
    this.#held.push(event);
    if (this.#asked !== undefined && goesOn(this.#asked.wait, event)) this.#asked.over.abort(GONE);
    if (this.#isShowing) return;
    this.done = this.#showHeld();
    this.done.catch(this.#left.reject);
  }

  /** Takes back the question that stands, and asks no more. */
  stop(): void {
    this.#isStopped = true;
    this.#asked?.over.abort("");
  }

  async #showHeld(): Promise<void> {
    this.#isShowing = true;
    for (let event = this.#held.shift(); event !== undefined; event = this.#held.shift()) {
      this.#printer.event(event);
      const wait = waitIn(event);
      if (wait === undefined || this.#isStopped || this.#seen.has(wait.wait)) continue;
      this.#seen.add(wait.wait);
      if (!this.#held.some((later) => goesOn(wait, later))) await this.#ask(wait);
    }
    this.#isShowing = false;
  }

  async #ask(wait: Waiting): Promise<void> {
    const over = new AbortController();
    this.#asked = { wait, over };
    const isAnswered = await this.#answer(wait, this.#printer, over.signal);
    this.#asked = undefined;
    // Calls of one round wait together: all of them are told first.
    if (!isAnswered) setImmediate(this.#left.resolve, "waiting");
  }
}
const GONE = "This waits no longer: it was answered elsewhere, or its time is up.";

/** The call that an event tells to wait, of this session or of an agent that it has started. */
const waitIn = (event: SessionEvent): Waiting | undefined =>
  event.kind === "child" ? waitIn(event.event) : event.kind === "waiting" ? event : undefined;

/** Whether the event tells that a call which waited has its answer. */
function goesOn(wait: Waiting, event: SessionEvent): boolean {
  if (event.kind === "child") return goesOn(wait, event.event);
  if (event.fact || event.kind === "waiting" || event.kind === "toolStarted") return false;
  return event.turnId === wait.turnId && event.key.effect === wait.key.effect;
}
