import { parseArgs } from "node:util";
import { EXIT, type Io, isInteractive, type Settings, UsageError } from "./io.ts";
import type { LookSettings } from "./look.ts";
import type { ServeSettings } from "./serve.ts";
import type { StudioSettings } from "./studio.ts";
import { explain } from "./text.ts";

const HELP = `Usage: bowline [chat]          talk on a terminal; from a pipe, each line is a turn
       bowline run <text>      one turn; - reads the text from stdin
       bowline sessions        stored sessions, their turns and last answers
       bowline turns           what turns did, the latest first: outcome, model, time, tokens, cost
       bowline show <id>       one turn with a timeline, or one session: an id, or its beginning
       bowline doctor          looks for damage, and for turns that are open
       bowline serve           a chat page and an HTTP API on this machine
       bowline studio          a page of sessions, turns, waits, jobs and costs; without a database, a demo
       bowline acp             an agent for editors that speak the Agent Client Protocol, over stdin and stdout
       bowline worker          runs turns, jobs and schedules without HTTP
       bowline init <folder>   writes a small agent project; npm start serves it

  --app <file>      with chat, run, serve, acp, studio and worker: your own runtime, the default export of a module, such as
                    export default ({ store }) => createRuntime({ store, … }). In a chat on a terminal it is loaded again
                    when its files change, and you are asked what it waits for: approvals of calls, questions of tools
  --model <name>    <provider>/<model>, or demo; else BOWLINE_MODEL; else the offline demo
  --mode <mode>     how the model acts: tools, by tool calls; code, by writing TypeScript that calls the tools and whose
                    variables stay with the conversation; else BOWLINE_MODE; else tools. /mode in a chat changes it
  --db <file>       where conversations are kept, a file or postgres://user:password@host/database; else BOWLINE_DB;
                    else .bowline/agent.db in this folder. :memory: keeps nothing
  --session <id>    the conversation to continue. Default: "chat" for chat, and a new one for each run
  --json            with run: every event as a line of JSON, the result last; with sessions, turns, show and doctor: all
                    of it; with serve: its addresses and the token
  --verbose         the model's code and its output; from a pipe: these, tool calls and usage on stderr
  --raw             print text of models and tools as it came. Default: control characters and bidirectional marks are
                    spelt out, such as \\u{1b}; in JSON they are escaped, such as \\u202e. Questions about calls are always
                    escaped
  --help, --version

With turns: --session <id>, --model <name>, --state queued|running|waiting|interrupted|ended,
--outcome answered|finished|stopped|failed, --max <count>, default 30; --since <time> and --until <time>, such
as 2h, yesterday or 2026-05-31
With show: --full prints whole arguments, results and prompts. With both: --prices <file>, JSON as createRuntime takes it
With serve: --port <n>, default 4100 or the next free one; --host <address>, default 127.0.0.1; --hosts <names> that
requests may call it by, with commas; --token-file <file>, made if missing; --no-token; --open opens a browser;
--studio adds the studio
With studio: the same, and --prices <file>; or --url <address> of another server, with --token or --token-file of that
server. With --db it runs no turns

The next process that opens a session finishes its interrupted turn.
Environment: BOWLINE_MODEL and the provider's key, such as ANTHROPIC_API_KEY or OPENAI_API_KEY; BOWLINE_MODE;
BOWLINE_DB; BOWLINE_BASE_URL and BOWLINE_API_KEY for openai-compatible/<model>; NO_COLOR; BOWLINE_DEBUG=1 for stacks.
Exit codes: 0 all turns answered, 1 a turn failed or was stopped, or the doctor found something, 2 wrong usage,
3 a turn waits for a person, 130 interrupted.`;

const SEE_HELP = "See bowline --help.";
type AllSettings = LookSettings & ServeSettings & StudioSettings;
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
  acp: async () => (await import("./acp.ts")).acp,
  studio: async () => (await import("./studio.ts")).studio,
  worker: async () => (await import("./worker.ts")).worker,
  init: async () => (await import("./init.ts")).init,
};
/** Options that only some commands accept. */
const ONLY_FOR = {
  state: ["turns"],
  outcome: ["turns"],
  since: ["turns"],
  until: ["turns"],
  max: ["turns"],
  full: ["show"],
  prices: ["turns", "show", "studio"],
  port: ["serve", "studio"],
  host: ["serve", "studio"],
  hosts: ["serve", "studio"],
  "token-file": ["serve", "studio"],
  "no-token": ["serve", "studio"],
  open: ["serve", "studio"],
  studio: ["serve"],
  url: ["studio"],
  token: ["studio"],
} as const;
/** The other options that these commands accept. They refuse all others. */
const TAKES: { readonly [name: string]: readonly string[] } = {
  serve: ["app", "model", "mode", "db", "json"],
  acp: ["app", "model", "mode", "db"],
  studio: ["app", "db", "json"],
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
  const { state, outcome, since, until, max, prices } = flags;
  const { port, host, hosts, open = false, "token-file": tokenFile, "no-token": noToken = false } = flags;
  const looks = { state, outcome, since, until, max, prices, full };
  const { studio = false, url, token } = flags;
  const serves = { port, host, hosts, open, tokenFile, noToken, studio, url, token };
  const settings = { app, model, mode, session, db, json, verbose, raw, ...looks, ...serves };
  if (app !== undefined) requireApp(name, settings);
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (load === undefined) {
    const known = Object.keys(COMMANDS).join(", ");
    throw new UsageError(`There is no command ${JSON.stringify(name)}.`, `There are ${known}. ${SEE_HELP}`);
  }
  for (const [option, commands] of Object.entries(ONLY_FOR))
    if (flags[option as keyof typeof ONLY_FOR] !== undefined && !(commands as readonly string[]).includes(name))
      throw new UsageError(`--${option} is for ${commands.join(", ").replace(/, (?=[^,]*$)/, " and ")}.`, SEE_HELP);
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
  if (!["chat", "run", "serve", "acp", "studio", "worker"].includes(name))
    throw new UsageError(
      "--app is for chat, run, serve, acp, studio and worker.",
      `Such as bowline chat --app ${app}.`,
    );
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
        until: { type: "string" },
        max: { type: "string" },
        prices: { type: "string" },
        full: { type: "boolean" },
        port: { type: "string" },
        host: { type: "string" },
        hosts: { type: "string" },
        "token-file": { type: "string" },
        "no-token": { type: "boolean" },
        open: { type: "boolean" },
        studio: { type: "boolean" },
        url: { type: "string" },
        token: { type: "string" },
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
