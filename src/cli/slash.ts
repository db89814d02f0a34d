// Commands of a chat: lines that begin with a slash.
import type { PendingWait } from "../index.ts";
import type { Agent } from "./agent.ts";
import { isMode, MODE_WORDS, type Mode } from "./mode.ts";
import { counted, tokens, waitedFor } from "./print.ts";

/** The result of a command: text to show, or another mode for the conversation. */
type Obeyed = string | { readonly goOn: Mode };

/** Runs the command of a line. Undefined if there is no such command. */
export function obey(line: string, agent: Agent): Promise<Obeyed> | Obeyed | undefined {
  const [, name = "", word] = /^(\/\w+)(?:\s+(\S+))?$/.exec(line) ?? [];
  if (name === "/mode") return mode(agent, word);
  return word === undefined && Object.hasOwn(COMMANDS, name) ? COMMANDS[name]?.(agent) : undefined;
}

const COMMANDS: { readonly [name: string]: (agent: Agent) => string | Promise<string> } = {
  "/help": () => `/help   this list
/mode   shows how the model acts; /mode code and /mode tools change it
/tools  lists the tools of the model
/usage  shows the tokens of this conversation
/waits  lists open questions, also of child agents, and asks them again
/quit   leaves (or Ctrl-D)
Any other text goes to the model. Ctrl-C cancels its answer; twice at the empty prompt, it leaves.`,
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

function mode({ mode: now, isFleeting }: Agent, word: string | undefined): Obeyed {
  if (now === undefined) return "The app decides how the model acts: set the protocol there.";
  if (word === undefined) return `${MODE_WORDS[now]} /mode ${now === "code" ? "tools" : "code"} changes it.`;
  if (!isMode(word)) return `There is no mode ${word}. The modes are code and tools.`;
  if (word === now) return MODE_WORDS[now];
  if (isFleeting) return `This conversation is only in memory and would be lost. Start it again with --mode ${word}.`;
  return { goOn: word };
}
