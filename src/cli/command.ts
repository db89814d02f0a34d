import { parseArgs } from "node:util";
import { chat } from "./chat.ts";
import { EXIT, type Io, UsageError } from "./io.ts";
import { explain } from "./print.ts";
import { run } from "./run.ts";

const HELP = `Usage: bowline [chat]          talk on a terminal; from a pipe, each line is a turn
       bowline run <text>      one turn; - reads the text from stdin

  --model <name>    <provider>/<model>, or demo; else BOWLINE_MODEL; else the offline demo
  --session <id>    the name of the session
  --json            with run: every event as a line of JSON, the result last
  --verbose         from a pipe: tool calls and usage on stderr
  --help, --version

Environment: BOWLINE_MODEL and the provider's key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY;
BOWLINE_BASE_URL and BOWLINE_API_KEY for openai-compatible/<model>; NO_COLOR; BOWLINE_DEBUG=1 for stacks.
Exit codes: 0 all turns answered, 1 a turn failed or was stopped, 2 wrong usage, 130 interrupted.`;

const SEE_HELP = "See bowline --help.";

/** The whole program but for its process. Gives the exit code; what goes wrong is told in one line. */
export async function command(args: readonly string[], io: Io): Promise<number> {
  try {
    return await dispatch(args, io);
  } catch (error) {
    io.stderr.write(`${explain(error, io.env)}\n`);
    return error instanceof UsageError ? EXIT.usage : EXIT.failed;
  }
}

async function dispatch(args: readonly string[], io: Io): Promise<number> {
  const { values: flags, positionals } = parse(args);
  const [name = "chat", ...words] = positionals;
  if (flags.version) return say(io, io.version);
  if (flags.help || name === "help") return say(io, HELP);
  const { model, session, json = false, verbose = false } = flags;
  const settings = { model, session, json, verbose };
  if (name === "run") return run(io, settings, words);
  if (name !== "chat") {
    throw new UsageError(`There is no command ${JSON.stringify(name)}.`, `There are chat and run: bowline run "…".`);
  }
  if (words.length > 0) throw new UsageError("chat takes no text.", 'For one question: bowline run "…".');
  if (json) throw new UsageError("--json belongs to run.", 'Such as bowline run --json "…".');
  return chat(io, settings);
}

function say(io: Io, words: string): number {
  io.stdout.write(`${words}\n`);
  return EXIT.ok;
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        model: { type: "string" },
        session: { type: "string" },
        json: { type: "boolean" },
        verbose: { type: "boolean" },
        help: { type: "boolean", short: "h" },
        version: { type: "boolean" },
      },
    });
  } catch (error) {
    const message = (error as Error).message;
    const unknown = /^Unknown option '([^']+)'/.exec(message)?.[1];
    if (unknown === undefined) throw new UsageError(`${message.replace(/\.?$/, ".")}`, SEE_HELP);
    throw new UsageError(`There is no option ${unknown}.`, `${SEE_HELP} Text that begins with - goes after --.`);
  }
}
