import { createInterface } from "node:readline";
import type { PendingWait, SessionView } from "../index.ts";
import { type Agent, busyElsewhere, openAgent } from "./agent.ts";
import { EXIT, type Io, isInteractive, type Settings } from "./io.ts";
import { keepUp } from "./keeper.ts";
import {
  asidePrinter,
  counted,
  firstWords,
  isGood,
  livePrinter,
  type Printer,
  painter,
  plainPrinter,
  questionOf,
  tokens,
  waitedFor,
} from "./print.ts";
import { Prompt } from "./prompt.ts";
import { finishLeft, LEFT, takeTurn } from "./turn.ts";
import { atPrompt, byNobody, NOT_SENT, Questions } from "./waits.ts";

const SESSION = "chat";
/** A second Ctrl-C at the empty prompt leaves within this time. */
const AGAIN_MS = 2_000;

/** `bowline chat`: a conversation on a terminal; from a pipe, each line is a turn. */
export async function chat(io: Io, settings: Settings): Promise<number> {
  // From a pipe an app is loaded once: lines that were read already could not be given to the next version.
  if (settings.app !== undefined && isInteractive(io) && io.start !== undefined && io.kept === undefined)
    return keepUp(io, io.start);
  const agent = await openAgent(io, settings, settings.session ?? SESSION);
  if (agent === undefined) return EXIT.ok;
  const code = isInteractive(io) ? await talk(agent, io, settings) : await answerLines(agent, io, settings);
  // A user who left in the middle of a turn does not wait for it: closing would.
  if (code !== EXIT.interrupted) await agent.close();
  return code;
}

async function talk(agent: Agent, io: Io, settings: Settings): Promise<number> {
  const paint = painter(io);
  const { kept } = io;
  const prompt = new Prompt(io, paint("bold", "› "), kept?.typed);
  const questions = new Questions(agent, atPrompt(prompt, agent, paint, io, byNobody(agent, io, settings)));
  let isIdle = false;
  let pressedAt = Number.NEGATIVE_INFINITY;
  /** One Ctrl-C does not leave: it may have been meant for an answer that has just ended. */
  const interrupted = (): void => {
    if (!isIdle || prompt.clear()) return;
    if (performance.now() - pressedAt < AGAIN_MS) return prompt.close();
    pressedAt = performance.now();
    prompt.tell(paint("dim", "Press Ctrl-C again to leave."));
  };
  let printer = livePrinter(io);
  const newPrinter = (): Printer => {
    printer = livePrinter(io);
    return printer;
  };
  const tell = (words: string): void => (prompt.isShown ? prompt.tell(paint("yellow", words)) : printer.note(words));
  const leave = (): void =>
    isIdle ? prompt.close() : tell(`${agent.about} has changed: the new version takes over after this turn.`);
  /** An agent below works by itself, and asks while nobody listens to it. */
  const tellNew = async (): Promise<void> => {
    const wait = await questions.next();
    if (wait === undefined || wait.kind === "result" || !isIdle || !prompt.isShown) return;
    tell(`${firstWords(questionOf(wait, agent.session.id))} Press Enter to be asked.`);
  };
  questions.onNew = () => void tellNew();
  kept?.on("tell", tell).on("leave", leave);
  io.interrupts.on("interrupt", interrupted);
  const read = await agent.session.read();
  const opening = kept?.isReload ? `Reloaded ${agent.about}.` : greeting(agent, io, read);
  io.stdout.write(`${paint("dim", opening)}\n${kept?.isReload ? "" : "\n"}`);
  const over = new AbortController();
  questions.listen(read.cursor, over.signal).catch(() => {}); // If the store fails, the next turn will tell.
  try {
    await questions.look();
    const finished = await finishLeft(agent, newPrinter, io, questions);
    if (finished === "left" || finished === "waiting") return LEFT[finished];
    if (agent.left.length > 0) io.stdout.write("\n");
    const other = await busyElsewhere(agent);
    if (other !== undefined) {
      io.stdout.write(`${paint("yellow", `In this conversation ${other} is at a turn; yours come after it.`)}\n\n`);
    }
    for (;;) {
      isIdle = false;
      if (!questions.isEmpty && !(await questions.askAll(newPrinter(), io.interrupts))) return EXIT.waiting;
      isIdle = true;
      const line = kept?.isLeaving ? undefined : (await prompt.next())?.trim();
      pressedAt = Number.NEGATIVE_INFINITY; // What was typed since parts this Ctrl-C from the next.
      if (line === undefined) {
        io.stdout.write("\n");
        if (kept?.isLeaving) await kept.left(prompt.typed);
        return EXIT.ok;
      }
      if (line === "") continue;
      if (line === "/quit") return EXIT.ok;
      if (/^\/\w*$/.test(line)) {
        if (line === "/waits") await questions.look(true); // Asked about next, also what was left for later.
        io.stdout.write(`${(await COMMANDS[line]?.(agent)) ?? `There is no command ${line}; /help lists them.`}\n\n`);
        continue;
      }
      isIdle = false;
      const taken = await takeTurn(agent, line, newPrinter(), io, questions);
      if (taken === "left" || taken === "waiting") return LEFT[taken];
      io.stdout.write("\n");
    }
  } finally {
    io.interrupts.off("interrupt", interrupted);
    kept?.off("tell", tell).off("leave", leave);
    over.abort();
    prompt.close();
  }
}

/** Answers each line of a pipe. Ctrl-C cancels the turn and ends the whole: the rest of the pipe is not read. */
async function answerLines(agent: Agent, io: Io, settings: Settings): Promise<number> {
  const printer = plainPrinter(io, settings.verbose);
  const aside = asidePrinter(io, settings.verbose);
  const questions = new Questions(agent, byNobody(agent, io, settings));
  const finished = await finishLeft(agent, () => aside, io, questions);
  if (finished === "waiting") io.stderr.write(NOT_SENT);
  if (finished !== "finished") return LEFT[finished];
  const lines = createInterface({ input: io.stdin, crlfDelay: Number.POSITIVE_INFINITY });
  let code: number = EXIT.ok;
  let isIdle = true;
  let isInterrupted = false;
  const interrupted = (): void => {
    isInterrupted = true;
    if (isIdle) lines.close();
  };
  io.interrupts.on("interrupt", interrupted);
  try {
    for await (const each of lines) {
      const line = each.trim();
      if (line === "/quit") break;
      const command = Object.hasOwn(COMMANDS, line) ? COMMANDS[line] : undefined;
      if (command !== undefined) io.stdout.write(`${await command(agent)}\n`);
      if (line === "" || command !== undefined) continue;
      isIdle = false;
      const taken = await takeTurn(agent, line, printer, io, questions);
      isIdle = true;
      if (taken === "left" || taken === "waiting") return LEFT[taken];
      if (taken === "refused" || !isGood(taken)) code = EXIT.failed;
      if (isInterrupted) return code;
    }
    return isInterrupted ? EXIT.interrupted : code;
  } finally {
    io.interrupts.off("interrupt", interrupted);
    lines.close();
  }
}

function greeting({ about, where, session }: Agent, { version }: Io, { turns }: SessionView): string {
  const name = session.id === SESSION ? "" : ` ${session.id}`;
  const so = turns === 0 ? `The conversation${name} is new` : `The conversation${name} has ${counted(turns, "turn")}`;
  const kept = where === undefined ? "" : `, ${where}`;
  return `Bowline ${version} with ${about}. ${so}${kept}. /help lists the commands; Ctrl-C stops an answer, Ctrl-D leaves.`;
}

const COMMANDS: { readonly [line: string]: (agent: Agent) => string | Promise<string> } = {
  "/help": () => `/help   this list
/tools  what the model can use
/usage  tokens of this conversation
/waits  what waits for an answer, here and in agents below
/quit   leave (or Ctrl-D)
Anything else is said to the model. Ctrl-C cancels its answer; twice at the empty prompt, it leaves.`,
  "/tools": async ({ session }) =>
    (await session.tools.list()).map(({ name, description }) => `${name.padEnd(13)} ${description}`).join("\n"),
  "/usage": async ({ session }) => {
    const { turns, usage, config } = await session.read();
    return `${counted(turns, "turn")} with ${config.model}: ${tokens(usage)}`;
  },
  "/waits": async ({ session, waits }) => {
    const found = await waits.list({ tree: session.id });
    const where = ({ path }: PendingWait): string => path.slice(path.indexOf(session.id) + 1).join(" › ");
    const lines = found.map((wait) => `${[waitedFor(wait), where(wait)].filter((part) => part !== "").join(", by ")}`);
    return lines.length === 0 ? "Nothing waits for an answer." : lines.join("\n");
  },
};
