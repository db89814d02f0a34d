import type { SessionView } from "../index.ts";
import { type Agent, busyElsewhere } from "./agent.ts";
import { EXIT, type Io, isInteractive, type Settings } from "./io.ts";
import { Lines } from "./lines.ts";
import { MODE_WORDS, type Mode } from "./mode.ts";
import { openAgent, reopenAgent } from "./open.ts";
import {
  asidePrinter,
  counted,
  endOf,
  isGood,
  livePrinter,
  type Printer,
  painter,
  plainPrinter,
  questionOf,
} from "./print.ts";
import { Prompt } from "./prompt.ts";
import { obey } from "./slash.ts";
import { firstWords, printable } from "./text.ts";
import { finishLeft, LEFT, takeTurn } from "./turn.ts";
import { atPrompt, byNobody, type EndedTurn, NOT_SENT, Questions } from "./waits.ts";

const SESSION = "chat";
/** A second Ctrl-C at the empty prompt within this time ends the program. */
const AGAIN_MS = 2_000;

/** `bowline chat`: a conversation on a terminal; from a pipe, each line is a turn. */
export async function chat(io: Io, settings: Settings): Promise<number> {
  let agent = await openAgent(io, settings, settings.session ?? SESSION);
  if (agent === undefined) return EXIT.ok;
  const reader = isInteractive(io) ? new Prompt(io, painter(io)("bold", "› "), io.kept?.typed) : new Lines(io);
  let hasFailed = false;
  try {
    for (let opening: string | undefined; ; ) {
      const { code, goOn }: Left =
        reader instanceof Prompt
          ? await talk(agent, reader, io, settings, opening)
          : await answerLines(agent, reader, io, settings, opening);
      if (code === EXIT.failed) hasFailed = true;
      if (goOn !== undefined) {
        opening = agent.wanted === undefined ? MODE_WORDS[goOn] : "";
        agent = await reopenAgent(agent, io, settings, goOn);
        continue;
      }
      reader.close(); // Closed before the agent, so that Ctrl-C can end the program while the agent closes.
      // Closing waits for the open turn. A user who left in the middle of a turn does not want to wait.
      if (code !== EXIT.interrupted) await agent.close();
      return code === EXIT.ok && hasFailed ? EXIT.failed : code;
    }
  } finally {
    reader.close();
  }
}

/** Why a conversation ended: for good, or to continue in another mode. */
interface Left {
  readonly code: number;
  readonly goOn?: Mode;
}
const DONE: Left = { code: EXIT.ok };

/** `opening` replaces the greeting. If it is empty, nothing is shown. */
async function talk(agent: Agent, prompt: Prompt, io: Io, settings: Settings, opening?: string): Promise<Left> {
  const paint = painter(io);
  const { kept } = io;
  const questions = new Questions(agent, atPrompt(prompt, agent, paint, io, byNobody(agent, io, settings)));
  let isIdle = false;
  let pressedAt = Number.NEGATIVE_INFINITY;
  /** One Ctrl-C does not leave the chat, because it can be meant for an answer that has just ended. */
  const interrupted = (): void => {
    if (!isIdle || prompt.clear()) return;
    if (performance.now() - pressedAt < AGAIN_MS) return prompt.close();
    pressedAt = performance.now();
    prompt.notify(paint("dim", "Press Ctrl-C again to leave."));
  };
  let printer = livePrinter(io, settings);
  const newPrinter = (): Printer => {
    printer = livePrinter(io, settings);
    return printer;
  };
  const notify = (words: string): void =>
    prompt.isShown ? prompt.notify(paint("yellow", words)) : printer.note(words);
  /**
   * The prompt is closed for the next version. A `stay` that comes now is too late: this process must leave to free the
   * terminal.
   */
  let isHandingOver = false;
  const leave = (): void => {
    if (!isIdle) return notify(`${agent.about} has changed. The new version starts after this turn.`);
    isHandingOver = true;
    prompt.close();
  };
  /** Announces a question of a child session, which can ask while its turn is not shown. */
  const announceQuestion = async (): Promise<void> => {
    const wait = await questions.next();
    if (wait === undefined || wait.kind === "result" || !isIdle || !prompt.isShown) return;
    notify(`${firstWords(questionOf(wait, agent.session.id))} Press Enter to answer.`);
  };
  questions.onNew = () => void announceQuestion();
  /** Turns that were shown here while they ran. A job, a trigger or another process started all other turns. */
  const shown = new Set<string>(agent.left.map(({ turnId }) => turnId));
  let ended: readonly EndedTurn[] = [];
  const showEnded = (): void => {
    if (!isIdle) return;
    const others = ended.filter(({ turnId }) => !shown.has(turnId));
    ended = [];
    for (const { turnId, outcome } of others) {
      shown.add(turnId);
      prompt.notify(`${paint("dim", "A turn that was started elsewhere has ended:")}\n${endOf(outcome, settings)}\n`);
    }
  };
  questions.onTurn = (turn) => {
    ended = [...ended, turn];
    showEnded();
  };
  kept?.on("notice", notify).on("leave", leave);
  io.interrupts.on("interrupt", interrupted);
  const read = await agent.session.read();
  if (kept?.isReload) io.stdout.write(`${paint("dim", `Reloaded ${agent.about}.`)}\n`);
  else if (opening !== "") io.stdout.write(`${paint("dim", opening ?? printable(greeting(agent, io, read)))}\n\n`);
  const over = new AbortController();
  questions.listen(read.cursor, over.signal).catch(() => {}); // If the store fails, the next turn reports it.
  try {
    await questions.look();
    const finished = await finishLeft(agent, newPrinter, io, questions);
    if (finished === "left" || finished === "waiting") return { code: LEFT[finished] };
    if (agent.left.length > 0) io.stdout.write("\n");
    if (agent.wanted !== undefined) return { code: EXIT.ok, goOn: agent.wanted };
    const other = await busyElsewhere(agent);
    if (other !== undefined) {
      io.stdout.write(`${paint("yellow", `In this conversation ${other} is at a turn; yours come after it.`)}\n\n`);
    }
    for (;;) {
      isIdle = false;
      if (!questions.isEmpty && !(await questions.askAll(newPrinter(), io.interrupts))) return { code: EXIT.waiting };
      isIdle = true;
      showEnded();
      const line = kept?.isLeaving ? undefined : (await prompt.next())?.trim();
      // A key between two Ctrl-C makes them separate: the second one does not leave.
      pressedAt = Number.NEGATIVE_INFINITY;
      if (line === undefined) {
        io.stdout.write("\n");
        if (isHandingOver || kept?.isLeaving) await kept?.left(prompt.typed);
        return DONE;
      }
      if (line === "") continue;
      if (line === "/quit") return DONE;
      if (line === "/waits") await questions.look(true); // The next questions, also those that the user left for later.
      const unknown = /^\/\w*$/.test(line) ? `There is no command ${line}. /help lists the commands.` : undefined;
      const obeyed = (await obey(line, agent)) ?? unknown;
      if (typeof obeyed === "object") return { code: EXIT.ok, ...obeyed };
      if (obeyed !== undefined) {
        io.stdout.write(`${printable(obeyed)}\n\n`);
        continue;
      }
      isIdle = false;
      const taken = await takeTurn(agent, line, newPrinter(), io, questions);
      if (taken === "left" || taken === "waiting") return { code: LEFT[taken] };
      if (taken !== "refused") shown.add(taken.turnId);
      io.stdout.write("\n");
    }
  } finally {
    io.interrupts.off("interrupt", interrupted);
    kept?.off("notice", notify).off("leave", leave);
    over.abort();
  }
}

/** Answers each line of a pipe. Ctrl-C cancels the turn and ends the program; the rest of the pipe is not read. */
async function answerLines(agent: Agent, lines: Lines, io: Io, settings: Settings, opening = ""): Promise<Left> {
  if (opening !== "") io.stdout.write(`${opening}\n`);
  const printer = plainPrinter(io, settings);
  const aside = asidePrinter(io, settings);
  const questions = new Questions(agent, byNobody(agent, io, settings));
  const finished = await finishLeft(agent, () => aside, io, questions);
  if (finished === "waiting") io.stderr.write(NOT_SENT);
  if (finished !== "finished") return { code: LEFT[finished] };
  if (agent.wanted !== undefined) return { code: EXIT.ok, goOn: agent.wanted };
  let code: number = EXIT.ok;
  let isIdle = true;
  let isInterrupted = false;
  const interrupted = (): void => {
    isInterrupted = true;
    if (isIdle) lines.close();
  };
  io.interrupts.on("interrupt", interrupted);
  try {
    for (let each = await lines.next(); each !== undefined; each = await lines.next()) {
      const line = each.trim();
      if (line === "/quit") break;
      const obeyed = await obey(line, agent);
      if (typeof obeyed === "object") return { code, ...obeyed };
      if (obeyed !== undefined) io.stdout.write(`${printable(obeyed)}\n`);
      if (line === "" || obeyed !== undefined) continue;
      isIdle = false;
      const taken = await takeTurn(agent, line, printer, io, questions);
      isIdle = true;
      if (taken === "left" || taken === "waiting") return { code: LEFT[taken] };
      if (taken === "refused" || !isGood(taken)) code = EXIT.failed;
      if (isInterrupted) return { code };
    }
    return { code: isInterrupted ? EXIT.interrupted : code };
  } finally {
    io.interrupts.off("interrupt", interrupted);
  }
}

function greeting({ about, where, mode, session }: Agent, { version }: Io, { turns, inputs }: SessionView): string {
  const name = session.id === SESSION ? "" : ` ${session.id}`;
  const has = turns === 0 ? "has an open turn" : `has ${counted(turns, "turn")}`;
  const so = `The conversation${name} ${turns === 0 && inputs.length === 0 ? "is new" : has}`;
  const kept = where === undefined ? "" : `, ${where}`;
  const how = mode === "code" ? ` ${MODE_WORDS.code}` : "";
  return `Bowline ${version} with ${about}.${how} ${so}${kept}. /help lists the commands; Ctrl-C stops an answer, Ctrl-D leaves.`;
}
