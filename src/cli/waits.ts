// Asks a person about the waits of a session and its child sessions, and reads the answers.
// Not its job: showing the turn meanwhile (`turn.ts`).
import { setTimeout as sleep } from "node:timers/promises";
import type { Approval, Delivery, Json, PendingWait, RuntimeError, SessionEvent } from "../index.ts";
import type { JsonObject } from "../model/json.ts";
import { nameOf } from "../stores/postgres/url.ts";
import type { Agent } from "./agent.ts";
import { addressOf } from "./database-file.ts";
import type { Io, Settings } from "./io.ts";
import { type Paint, type Printer, questionOf } from "./print.ts";
import type { Prompt } from "./prompt.ts";
import { editable, oneLine, printable } from "./text.ts";

/**
 * Answers a wait. Resolves with false if no person can. `over` aborts when the answer would be too late. The reason of
 * the abort is shown unless it is empty.
 */
export type Answer = (wait: PendingWait, printer: Printer, over: AbortSignal) => Promise<boolean>;

// ── Who is asked ────────────────────────────────────────────────────────────────────────────────────────────────────

/** Asks the person at the prompt. If that person leaves, it calls `nobody`. */
export function atPrompt(
  prompt: Prompt,
  agent: Agent,
  paint: Paint,
  { user }: Pick<Io, "user">,
  nobody: Answer,
): Answer {
  const ask: Ask = (mark, over, typed) => prompt.ask(paint("bold", mark), over, typed);
  return async (wait, printer, over) => {
    const question = questionOf(wait, agent.session.id);
    if (wait.kind === "result") {
      printer.note(`${question} Ctrl-D leaves, and the turn keeps waiting.`);
      await Promise.race([prompt.closed, aborted(over)]);
      return over.aborted || nobody(wait, printer, over);
    }
    printer.note(question, "yellow");
    const read = wait.kind === "question" ? readDelivery : readApproval;
    for (let wrong: string | undefined; ; ) {
      const given = await read(ask, wait, printer, over, wrong);
      if (over.aborted) {
        if (over.reason !== "") printer.note(over.reason);
        return true;
      }
      if (given === undefined) return nobody(wait, printer, over);
      const problem = await give(agent, wait, given.answer, user);
      if (problem === undefined) return true;
      printer.note(problem.words, problem.isFinal ? "dim" : "yellow");
      if (problem.isFinal) return true;
      wrong = given.typed;
    }
  };
}

/** For pipes and single turns: prints how the wait can be answered. */
export function byNobody(
  { session }: Pick<Agent, "session">,
  { stderr }: Pick<Io, "stderr">,
  settings: Settings,
): Answer {
  const db = settings.db === undefined ? undefined : shownDatabase(settings.db);
  const flags = Object.entries({ app: settings.app, db, session: session.id });
  const given = flags.flatMap(([flag, value]) => (value === undefined ? [] : [`--${flag} ${value}`]));
  const chat = ["bowline chat", ...given].join(" ");
  let explained: Promise<void> | undefined;
  return async (wait, printer) => {
    explained ??= session.read().then((view) => printer.leaving(view));
    await explained;
    const left =
      wait.kind === "result"
        ? `The turn still waits. ${chat} continues it`
        : `Nobody here can answer, so the turn still waits. On a terminal, ${chat} asks again`;
    const code = `runtime.waits.list({ session: ${JSON.stringify(wait.sessionId)} })`;
    stderr.write(`bowline: ${oneLine(`${questionOf(wait, session.id)} ${left}; code finds it with ${code}.`)}\n`);
    return false;
  };
}

/** An address has a password. */
const shownDatabase = (db: string): string => (addressOf({ env: {} }, db) === undefined ? db : nameOf(db));

/** Printed if an earlier turn still waits: a script must not believe that its own text was sent. */
export const NOT_SENT = "bowline: An earlier turn of this session still waits, so your text was not sent.\n";

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

// ── How an answer is read ───────────────────────────────────────────────────────────────────────────────────────────

/**
 * Reads a line that is typed from now on. Undefined when the question is withdrawn or the person leaves. `typed`: text
 * that is already in the line.
 */
type Ask = (mark: string, over: AbortSignal, typed?: string) => Promise<string | undefined>;
/** `typed`: arguments to correct if they are not valid. */
interface GivenAnswer {
  readonly answer: Approval | Delivery;
  readonly typed?: string;
}
/** Undefined when the question is withdrawn, or when the person leaves. `wrong`: arguments that were not valid. */
type Read = (
  ask: Ask,
  wait: PendingWait,
  printer: Printer,
  over: AbortSignal,
  wrong?: string,
) => Promise<GivenAnswer | undefined>;

const CHOICE = "[y]es, [n]o, or type why not: ";
const CHOICE_OR_EDIT = "[y]es, [n]o, [e]dit, or type why not: ";

const HELP =
  "Type y or n. Any other text denies the call, and the model reads the text. Ctrl-D leaves the question for later.";

const readApproval: Read = async (ask, wait, printer, over, wrong) => {
  const isEditable = wait.kind === "approval";
  for (let typed = wrong; ; typed = undefined) {
    const line = typed === undefined ? await lineOf(ask, isEditable ? CHOICE_OR_EDIT : CHOICE, over) : "e";
    if (line === undefined) return undefined;
    if (/^(y|yes|ok|okay|sure)[.!]?$/i.test(line)) return { answer: { approved: true } };
    if (/^no?[.!]?$/i.test(line)) return { answer: { approved: false } };
    if (/^[/?]/.test(line)) {
      printer.note(HELP, "yellow"); // A line that looks like a command does not deny the call.
      continue;
    }
    if (!isEditable || !/^e(dit)?$/i.test(line)) return { answer: { approved: false, reason: line } };
    const edited = await readArguments(ask, typed ?? editable(wait.arguments), printer, over);
    if (edited !== "back") return edited;
  }
};

/** `back`: nothing was typed, so the person chooses again. */
async function readArguments(
  ask: Ask,
  from: string,
  printer: Printer,
  over: AbortSignal,
): Promise<GivenAnswer | "back" | undefined> {
  for (let typed: string = from; ; ) {
    const line = (await ask("Arguments: ", over, typed))?.trim();
    if (line === undefined || line === "/quit") return undefined;
    if (line === "") return "back";
    typed = line;
    const args = jsonIn(line);
    if (args !== undefined) return { answer: { approved: true, args }, typed };
    printer.note("That is not JSON. An empty line goes back.", "yellow");
  }
}

const readDelivery: Read = async (ask, { schema }, _, over) => {
  const line = await lineOf(ask, "Your answer, or /no and a reason: ", over);
  if (line === undefined) return undefined;
  const [, why] = /^\/no\b\s*(.*)$/s.exec(line) ?? [];
  if (why !== undefined) return { answer: { error: why === "" ? "The person did not want to answer." : why } };
  return { answer: { value: isText(schema) ? line : (jsonIn(line) ?? line) } };
};

/** Reads a line that is not empty. Undefined when the question is withdrawn or the person leaves. */
async function lineOf(ask: Ask, mark: string, over: AbortSignal): Promise<string | undefined> {
  let line: string | undefined = "";
  while (line === "" && !over.aborted) line = (await ask(mark, over))?.trim();
  return line === "/quit" ? undefined : line;
}

const isText = (schema: JsonObject | undefined): boolean =>
  schema?.type === "string" || (Array.isArray(schema?.enum) && schema.enum.every((each) => typeof each === "string"));

function jsonIn(line: string): Json | undefined {
  try {
    return JSON.parse(line) as Json;
  } catch {
    return undefined;
  }
}

// ── How it is given ─────────────────────────────────────────────────────────────────────────────────────────────────

const TOO_LATE = "Your answer came too late: the question was answered elsewhere, or has expired.";

/** Answers a wait. Returns the problem if that failed. `isFinal`: the person cannot try again. */
async function give(
  { waits }: Agent,
  { key }: PendingWait,
  answer: Approval | Delivery,
  by: string | undefined,
): Promise<{ readonly words: string; readonly isFinal: boolean } | undefined> {
  try {
    const resolved = await waits.resolve(key, answer, by === undefined ? {} : { by });
    return resolved === "accepted" ? undefined : { words: TOO_LATE, isFinal: true };
  } catch (error) {
    // The error may come from another copy of this package in the app.
    const { code, message = "" } = error as Partial<RuntimeError>;
    if (code === "wait.answer") return { words: printable(message), isFinal: false };
    if (code === "wait.unknown" || code === "wait.expired") return { words: TOO_LATE, isFinal: true };
    throw error;
  }
}

// ── What there is to ask ────────────────────────────────────────────────────────────────────────────────────────────

interface KnownWait {
  readonly id: string;
  /** Omitted for a wait of a job. */
  readonly turnId?: string | undefined;
}
interface AskedWait extends KnownWait {
  readonly over: AbortController;
}

export type EndedTurn = Extract<SessionEvent, { readonly kind: "committed"; readonly by: "turn" }>;

const LISTEN_AGAIN_MS = 1_000;
const GONE = "The question is closed: it was answered elsewhere, has expired, or its turn was stopped.";

/** The waits of a session and its descendants. The person is asked about each once, one after the other. */
export class Questions {
  readonly #agent: Pick<Agent, "session" | "waits" | "wake" | "wakeBelow">;
  readonly #answer: Answer;
  /** Waits that were not asked about yet, oldest first. */
  #line: readonly KnownWait[] = [];
  /** Waits that were asked about. A wait for a result does not block the others. */
  readonly #asked = new Set<AskedWait>();
  /** All waits so far, because a wait arrives several times: from its turn, from turns above it, and from the store. */
  readonly #known = new Set<string>();
  /** Called when there is another question. */
  onNew: () => void = () => {};
  /** Called when nobody here can answer a question. */
  onNobody: () => void = () => {};
  /** Called when a turn of the session has ended, in any process. */
  onTurn: (ended: EndedTurn) => void = () => {};

  constructor(agent: Pick<Agent, "session" | "waits" | "wake" | "wakeBelow">, answer: Answer) {
    this.#agent = agent;
    this.#answer = answer;
  }

  get isEmpty(): boolean {
    return this.#line.length === 0;
  }

  handle(event: SessionEvent): void {
    if (event.kind === "child") return this.handle(event.event);
    if (event.kind === "waiting") this.#add({ id: event.wait, turnId: event.turnId });
    if (event.kind === "resolved") this.#end(({ id }) => id === event.wait);
    if (event.kind === "committed" && event.by === "turn") this.#end(({ turnId }) => turnId === event.turnId);
  }

  /**
   * Follows the facts of the session and its descendants from the cursor on, in any process, until the signal aborts.
   * It resumes a descendant here when its wait is answered. It starts with those whose waits were answered before the
   * cursor. After an error of the store it continues at the last fact, because otherwise it would miss all later
   * questions and answers.
   */
  async listen(from: string | undefined, signal: AbortSignal): Promise<void> {
    const { session, wakeBelow } = this.#agent;
    wakeBelow().catch(() => {}); // If the store fails, the next turn reports it.
    for (let after = from; !signal.aborted; ) {
      try {
        for await (const event of session.observe({ tree: true, after, signal })) {
          if (event.fact) after = event.cursor;
          this.#follow(event);
        }
        return;
      } catch {
        await sleep(LISTEN_AGAIN_MS, undefined, { signal, ref: false }).catch(() => {});
      }
    }
  }

  #follow(event: SessionEvent): void {
    const { session, wake } = this.#agent;
    this.handle(event);
    const isOwn = event.kind !== "child" && event.sessionId === session.id;
    // If the session cannot be opened here, another process resumes it. The turn that waits for it then reports an
    // error.
    if (event.kind === "resolved" && !isOwn) wake(event.sessionId).catch(() => {});
    if (event.kind === "committed" && event.by === "turn" && isOwn) this.onTurn(event);
  }

  /** Finds the existing waits. With `again` it includes those that were already asked about. */
  async look(again = false): Promise<void> {
    if (again) this.#known.clear();
    for (const wait of await this.#agent.waits.list({ tree: this.#agent.session.id })) this.#add(wait);
  }

  /** The next wait to ask about; undefined if it was answered meanwhile. */
  async next(): Promise<PendingWait | undefined> {
    const [next] = this.#line;
    return next === undefined ? undefined : this.#agent.waits.get(next.id);
  }

  /**
   * Asks about the next wait. A result comes from elsewhere: if a turn that waits for it is shown, it stays on the
   * screen.
   */
  async ask(printer: Printer, isShown = true): Promise<void> {
    const [next] = this.#line;
    const wait = await this.next();
    if (next === undefined || !this.#line.includes(next)) return; // The question is closed.
    this.#line = this.#line.filter((each) => each !== next);
    if (wait === undefined || (wait.kind === "result" && !isShown)) return;
    const standing: AskedWait = { ...next, over: new AbortController() };
    this.#asked.add(standing);
    const answering = this.#answer(wait, printer, standing.over.signal)
      .then((isAnswered) => (isAnswered ? undefined : this.onNobody()))
      .finally(() => this.#asked.delete(standing));
    if (wait.kind !== "result") return answering;
    answering.catch(() => this.onNobody());
  }

  /**
   * Asks while no turn is shown. Ctrl-C leaves the remaining questions for later. Returns false if nobody here can
   * answer.
   */
  async askAll(printer: Printer, interrupts: Io["interrupts"]): Promise<boolean> {
    const { onNobody } = this;
    let hasLeft = false;
    const later = (): void => {
      this.#line = [];
      this.withdraw();
      printer.note("Left for later: /waits asks again.");
    };
    this.onNobody = () => {
      hasLeft = true;
    };
    interrupts.on("interrupt", later);
    try {
      while (!this.isEmpty && !hasLeft) await this.ask(printer, false);
      return !hasLeft;
    } finally {
      interrupts.off("interrupt", later);
      this.onNobody = onNobody;
    }
  }

  /** Withdraws the open questions. */
  withdraw(): void {
    for (const { over } of this.#asked) over.abort("");
  }

  #add({ id, turnId }: KnownWait): void {
    if (this.#known.has(id)) return;
    this.#known.add(id);
    this.#line = [...this.#line, { id, turnId }];
    this.onNew();
  }

  #end(isIt: (wait: KnownWait) => boolean): void {
    this.#line = this.#line.filter((each) => !isIt(each));
    for (const each of this.#asked) if (isIt(each)) each.over.abort(GONE);
  }
}
