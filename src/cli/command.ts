import { parseArgs } from "node:util";
import { EXIT, type Io, isInteractive, type Settings, UsageError } from "./io.ts";
import type { LookSettings } from "./look.ts";
import type { ServeSettings } from "./serve.ts";
import { explain } from "./text.ts";

const HELP = `Usage: bowline [chat]          chats on a terminal; from a pipe, each line is a turn
       bowline run <text>      runs one turn; with - it reads the text from stdin
       bowline sessions        lists stored sessions with their turns and last answers
       bowline turns           lists turns, the latest first: outcome, model, time, tokens, cost
       bowline show <id>       shows one turn with its timeline, or one session; the beginning of an id is enough
       bowline doctor          checks the store for damage, and lists open turns
       bowline serve           serves a chat page and an HTTP API on this machine; prints their addresses and the token
       bowline worker          runs turns, jobs and schedules without HTTP
       bowline init <folder>   writes a small agent project; npm start serves it

  --app <file>      for chat, run, serve and worker: your own runtime, the default export of a module, such as
                    export default ({ store }) => createRuntime({ store, … }). A chat on a terminal reloads the module
                    when its files change, and asks you its questions: approvals of calls, questions of tools
  --model <name>    <provider>/<model>, or demo. Default: BOWLINE_MODEL, or else the offline demo model
  --mode <mode>     tools: the model acts by tool calls. code: the model writes TypeScript that calls the tools, and its
                    variables stay in the conversation. Default: BOWLINE_MODE, or else tools. /mode in a chat changes it
  --db <file>       the store: a file, or postgres://user:password@host/database. Default: BOWLINE_DB, or else
                    .bowline/agent.db in this folder. With :memory: nothing is stored on disk
  --session <id>    the conversation to continue. Default: "chat" for chat, and a new conversation for each run
  --json            for run: each event as a line of JSON, and the result as the last line; for sessions, turns, show and
                    doctor: JSON instead of text; for serve: the addresses and the token as JSON
  --verbose         shows the model's code and all of its output; from a pipe: these, tool calls and usage on stderr
  --raw             prints text of models and tools unchanged. Default: control characters and bidirectional marks are
                    escaped, such as \\u{1b}, and in JSON such as \\u202e. Questions about calls are always escaped
  --help, --version

For turns: --session <id>, --model <name>, --state queued|running|waiting|interrupted|ended,
--outcome answered|finished|stopped|failed, --since <time, or 2h, 3d>, --max <count> (default: 30)
For show: --full prints whole arguments, results and prompts. For both: --prices <file>, JSON like prices of createRuntime
For serve: --port <n> (default: 4100 or the next free port); --host <address> (default: 127.0.0.1); --hosts <names>, by
which requests may call it, separated by commas; --token-file <file>, created if it is missing; --no-token; --open opens
a browser

If a process is killed during a turn, opening the session again finishes the turn. A waiting turn continues after its
answer.
Environment: BOWLINE_MODEL and the provider's key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY; BOWLINE_MODE;
BOWLINE_DB; BOWLINE_BASE_URL and BOWLINE_API_KEY for openai-compatible/<model>; NO_COLOR; BOWLINE_DEBUG=1 prints stacks.
Exit codes: 0 all turns answered, 1 a turn failed or was stopped, or the doctor found a problem, 2 wrong usage,
3 a turn waits for an answer that nobody here can give, 130 interrupted.`;

const SEE_HELP = "See bowline --help.";
type AllSettings = LookSettings & ServeSettings;
type Command = (io: Io, settings: AllSettings, words: readonly string[]) => Promise<number>;
/** Loads only the code of the command that runs: `--help` and a mistyped option load no runtime. */
const COMMANDS: { readonly [name: string]: () => Promise<Command> } = {
  run: async () => (await import("./run.ts")).run,
  chat: async () => (await import("./chat.ts")).chat,
  sessions: async () => (await import("./sessions.ts")).sessions,
  turns: async () => (await import("./turns.ts")).turns,
  show: async () => (await import("./show.ts")).show,
  doctor: async () => (await import("./doctor.ts")).doctor,
  serve: async () => (await import("./serve.ts")).serve,
  worker: async () => (await import("./worker.ts")).worker,
  init: async () => (await import("./init.ts")).init,
};
/** Options that only some commands accept. */
const ONLY_FOR = {
  state: ["turns"],
  outcome: ["turns"],
  since: ["turns"],
  max: ["turns"],
  full: ["show"],
  prices: ["turns", "show"],
  port: ["serve"],
  host: ["serve"],
  hosts: ["serve"],
  "token-file": ["serve"],
  "no-token": ["serve"],
  open: ["serve"],
} as const;
/** The other options that these commands accept. They refuse all others. */
const TAKES: { readonly [name: string]: readonly string[] } = {
  serve: ["app", "model", "mode", "db", "json"],
  worker: ["app", "model", "mode", "db"],
  init: [],
};
const TAKES_TEXT = ["run", "show", "init"];

/** Runs the program on the given streams and returns the exit code. Errors are one line on stderr. */
export async function command(args: readonly string[], io: Io): Promise<number> {
  try {
    return await dispatch(args, io);
  } catch (error) {
    const problem = explain(error, io.env);
    if (io.kept === undefined) io.stderr.write(`${problem}\n`);
    else await io.kept.failed(problem);
    return error instanceof UsageError ? EXIT.usage : EXIT.failed;
  }
}

async function dispatch(args: readonly string[], io: Io): Promise<number> {
  const { values: flags, positionals } = parse(args);
  const [name = "chat", ...words] = positionals;
  if (flags.version) return say(io, io.version);
  if (flags.help || name === "help") return say(io, HELP);
  const { app, model, mode, session, db, json = false, verbose = false, raw = false, full = false } = flags;
  const { state, outcome, since, max, prices } = flags;
  const { port, host, hosts, open = false, "token-file": tokenFile, "no-token": noToken = false } = flags;
  const looks = { state, outcome, since, max, prices, full };
  const serves = { port, host, hosts, open, tokenFile, noToken };
  const settings = { app, model, mode, session, db, json, verbose, raw, ...looks, ...serves };
  if (app !== undefined) requireApp(name, settings);
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (load === undefined) {
    const known = Object.keys(COMMANDS).join(", ");
    throw new UsageError(`There is no command ${JSON.stringify(name)}.`, `There are ${known}. ${SEE_HELP}`);
  }
  for (const [option, commands] of Object.entries(ONLY_FOR))
    if (flags[option as keyof typeof ONLY_FOR] !== undefined && !(commands as readonly string[]).includes(name))
      throw new UsageError(`--${option} is for ${commands.join(" and ")}.`, SEE_HELP);
  for (const option of Object.keys(flags))
    if (TAKES[name]?.includes(option) === false && !Object.hasOwn(ONLY_FOR, option))
      throw new UsageError(`--${option} is not for ${name}.`, SEE_HELP);
  if (words.length > 0 && !TAKES_TEXT.includes(name))
    throw new UsageError(`${name} takes no text.`, 'For a single question: bowline run "…".');
  if (json && name === "chat") throw new UsageError("--json is not for chat.", 'For example bowline run --json "…".');
  // From a pipe an app is loaded once, because a new version could not get the lines that were already read.
  if (app !== undefined && name === "chat" && isInteractive(io) && io.start !== undefined && io.kept === undefined)
    return (await import("./keeper.ts")).keepUp(io, io.start);
  return (await load())(io, settings, words);
}

function requireApp(name: string, { app, model, mode }: Settings): void {
  if (!["chat", "run", "serve", "worker"].includes(name))
    throw new UsageError("--app is for chat, run, serve and worker.", `For example bowline chat --app ${app}.`);
  if (model !== undefined) throw new UsageError("--model is not for --app.", "Set the model in the app.");
  if (mode !== undefined) throw new UsageError("--mode is not for --app.", "Set the protocol in the app.");
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
        app: { type: "string" },
        model: { type: "string" },
        mode: { type: "string" },
        session: { type: "string" },
        db: { type: "string" },
        json: { type: "boolean" },
        verbose: { type: "boolean" },
        raw: { type: "boolean" },
        state: { type: "string" },
        outcome: { type: "string" },
        since: { type: "string" },
        max: { type: "string" },
        prices: { type: "string" },
        full: { type: "boolean" },
        port: { type: "string" },
        host: { type: "string" },
        hosts: { type: "string" },
        "token-file": { type: "string" },
        "no-token": { type: "boolean" },
        open: { type: "boolean" },
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
