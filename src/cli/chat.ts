import { createInterface } from "node:readline";
import { type Agent, openAgent } from "./agent.ts";
import { EXIT, type Io, isInteractive, type Settings } from "./io.ts";
import { counted, isGood, livePrinter, painter, plainPrinter, tokens } from "./print.ts";
import { Prompt } from "./prompt.ts";
import { toolList } from "./tools.ts";
import { takeTurn } from "./turn.ts";

/** `bowline chat`: a conversation on a terminal, or a turn for each line of a pipe. */
export async function chat(io: Io, settings: Settings): Promise<number> {
  const agent = await openAgent(io, settings);
  const code = isInteractive(io) ? await talk(agent, io) : await answerLines(agent, io, settings);
  // Whoever left in the middle of a turn does not wait for it.
  if (code !== EXIT.interrupted) await agent.close();
  return code;
}

async function talk(agent: Agent, io: Io): Promise<number> {
  const paint = painter(io);
  const prompt = new Prompt(io, paint("bold", "› "));
  let isIdle = true;
  const interrupted = (): void => {
    if (isIdle && !prompt.clear()) prompt.close();
  };
  io.interrupts.on("interrupt", interrupted);
  io.stdout.write(`${paint("dim", greeting(agent, io))}\n\n`);
  try {
    for (;;) {
      const line = (await prompt.next())?.trim();
      if (line === undefined) {
        io.stdout.write("\n");
        return EXIT.ok;
      }
      if (line === "") continue;
      if (line === "/quit") return EXIT.ok;
      if (/^\/\w*$/.test(line)) {
        io.stdout.write(`${(await COMMANDS[line]?.(agent)) ?? `There is no command ${line}; /help lists them.`}\n\n`);
        continue;
      }
      isIdle = false;
      const taken = await takeTurn(agent.session, line, livePrinter(io), io);
      isIdle = true;
      if (taken === "left") return EXIT.interrupted;
      io.stdout.write("\n");
    }
  } finally {
    io.interrupts.off("interrupt", interrupted);
    prompt.close();
  }
}

/** A cancelled line is the last one: who interrupts a pipe means all of it. */
async function answerLines(agent: Agent, io: Io, settings: Settings): Promise<number> {
  const printer = plainPrinter(io, settings.verbose);
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
      const taken = await takeTurn(agent.session, line, printer, io);
      isIdle = true;
      if (taken === "left") return EXIT.interrupted;
      if (taken === "refused" || !isGood(taken)) code = EXIT.failed;
      if (isInterrupted) return code;
    }
    return isInterrupted ? EXIT.interrupted : code;
  } finally {
    io.interrupts.off("interrupt", interrupted);
    lines.close();
  }
}

function greeting({ model }: Agent, { version }: Io): string {
  const about = model.isDemo
    ? "the offline demo model, which does sums, tells the time and keeps notes. For a real one set BOWLINE_MODEL, such as anthropic/claude-sonnet-4-5, and its key"
    : model.name;
  return `Bowline ${version} with ${about}. The conversation is kept in memory for now and is gone when you leave. /help lists the commands; Ctrl-C stops an answer, Ctrl-D leaves.`;
}

const COMMANDS: { readonly [line: string]: (agent: Agent) => string | Promise<string> } = {
  "/help": () => `/help   this list
/tools  what the model can use
/usage  tokens of this conversation
/quit   leave (or Ctrl-D)
Anything else is said to the model. Ctrl-C cancels its answer; at the empty prompt it leaves.`,
  "/tools": () => toolList.map(({ name, description }) => `${name.padEnd(13)} ${description}`).join("\n"),
  "/usage": async ({ session, model }) => {
    const { turns, usage } = await session.read();
    return `${counted(turns, "turn")} with ${model.name}: ${tokens(usage)}`;
  },
};
