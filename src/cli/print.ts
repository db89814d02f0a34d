// Shows turns and errors. A printer for each kind of reader: a terminal, a pipe, a program.
import { styleText } from "node:util";
import type { Json, PendingWait, SessionEvent, SessionView, TurnOutcome, TurnResult, Usage } from "../index.ts";
import type { JsonObject } from "../model/json.ts";
import type { ToolStatus } from "../model/message.ts";
import type { Issue } from "../plugin.ts";
import type { Io, Output, Settings } from "./io.ts";
import {
  cut,
  editable,
  explain,
  faultOf,
  firstWords,
  jsonFor,
  messageOf,
  oneLine,
  printable,
  type Raw,
  SHOWN_MAX,
  textFor,
  visible,
} from "./text.ts";

/** How turns are shown: the options `--verbose` and `--raw`. */
type How = Partial<Pick<Settings, "verbose" | "raw">>;

/** Shows one turn. */
export interface Printer {
  event(event: SessionEvent): void;
  ended(result: TurnResult): void;
  issue(issue: Issue): void;
  /**
   * The turn stays open, and its question is printed next. Prints the events before the question that are not shown
   * yet.
   */
  leaving(view: Pick<SessionView, "openTurn" | "waits">): void;
  /** The turn has no result: its input was refused, or the turn was lost. */
  refused(error: unknown): void;
  note(words: string, style?: Style): void;
}

type Style = "dim" | "bold" | "red" | "yellow" | "cyan";
export type Paint = (style: Style, words: string) => string;

export function painter({ stdout, env }: Pick<Io, "stdout" | "env">): Paint {
  const isColoured = stdout.isTTY === true && !env.NO_COLOR && env.TERM !== "dumb";
  return (style, words) => (isColoured ? styleText(style, words, { validateStream: false }) : words);
}

/** Prints a turn on a terminal while it runs. Of what code prints it shows the first lines; with `verbose` all. */
export function livePrinter(io: Pick<Io, "stdout" | "env">, { verbose = false, raw = false }: How = {}): Printer {
  const { stdout } = io;
  const paint = painter(io);
  const text = textFor({ raw });
  const startedAt = performance.now();
  let isLineStart = true;
  let streaming: "text" | "reasoning" | "output" | undefined;
  /** A CR at the end of a delta: the next delta can begin with its LF. */
  let heldCr = "";
  /** The round of the last printed code cell, and how many lines of it were printed. */
  let cell: string | undefined;
  let cellLines = 0;
  /** The call whose line is still open. Its end completes the line. */
  let openCall: string | undefined;
  /** The call that was printed last: its output needs no heading. */
  let lastCall: string | undefined;
  /** The width of the progress on the screen. The next output removes it. */
  let progressWidth = 0;
  /** The names of calls and how their own work ended, by effect name. */
  const names = new Map<string, string>();
  const returned = new Map<string, ToolStatus>();
  const nameOf = (call: string): string => names.get(call) ?? "a tool";
  /** The text of the model's last reply. */
  let streamed = "";
  let streamedIn = "";

  const write = (words: string, style?: Style): void => {
    if (words === "") return;
    stdout.write(style === undefined ? words : paint(style, words));
    isLineStart = words.endsWith("\n");
  };
  const newLine = (): void => {
    if (progressWidth > 0) stdout.write(`\r${" ".repeat(progressWidth)}\r`);
    else if (!isLineStart) write("\n");
    isLineStart = true;
    progressWidth = 0;
    openCall = undefined;
    streaming = undefined;
    heldCr = "";
  };
  const line = (words: string, style?: Style): void => {
    newLine();
    write(words, style);
    write("\n");
    lastCall = undefined;
  };
  const stream = (kind: "text" | "reasoning", delta: string): void => {
    if (streaming !== kind) newLine();
    streaming = kind;
    lastCall = undefined;
    const words = heldCr + delta;
    heldCr = !raw && words.endsWith("\r") ? "\r" : "";
    write(text(words.slice(0, words.length - heldCr.length)), kind === "reasoning" ? "dim" : undefined);
  };
  const printed = (call: string, delta: string): void => {
    if (lastCall !== call) line(`  ${nameOf(call)}:`, "cyan");
    if (streaming !== "output") newLine();
    streaming = "output";
    lastCall = call;
    const lines = raw ? delta : printable(delta.replace(/\r\n?/g, "\n"));
    const words = lines.replace(/\n(?!$)/g, `\n${INDENT}`);
    write(`${isLineStart ? INDENT : ""}${words}`, "dim");
  };
  /** Prints that a cell runs, when its code arrives or at its first event. */
  const runsCode = (effect: string, code?: string): void => {
    const round = effect.replace(/\..*$/, "");
    if (cell === round) return;
    cell = round;
    cellLines = 0;
    const lines = code?.split("\n") ?? [];
    line(`· runs code${code === undefined ? "" : ` (${counted(lines.length, "line")})`}`, "dim");
    if (verbose) for (const each of lines) line(`${INDENT}${text(each)}`, "dim");
  };
  const codePrinted = (words: string): void => {
    for (const each of text(words).replace(/\n$/, "").split("\n")) {
      cellLines++;
      if (verbose) line(`${INDENT}${each}`, "dim");
      else if (cellLines <= CODE_LINES_MAX) line(`${INDENT}${cut(each, SHOWN_MAX)}`, "dim");
      else if (cellLines === CODE_LINES_MAX + 1) line(`${INDENT}… more, see --verbose`, "dim");
    }
  };
  const progressed = (call: string, value: Json): void => {
    const words = firstWords(typeof value === "string" ? value : jsonFor({ raw }, value), SHOWN_MAX, text);
    const shown = `${INDENT}${nameOf(call)}: ${words}`.slice(0, (stdout.columns ?? SHOWN_MAX) - 1);
    newLine();
    write(shown, "dim");
    progressWidth = shown.length;
  };
  const ended = (
    call: string,
    { name, status, ms }: { readonly name: string; readonly status: ToolStatus; readonly ms: number },
  ): void => {
    const end = `${status}, ${ms} ms`;
    if (openCall === call) write(` → ${end}\n`, "cyan");
    else line(`  ${printable(name)} → ${end}`, "cyan");
    openCall = undefined;
  };

  return {
    event(event) {
      switch (event.kind) {
        case "text":
          streamed = streamedIn === event.key.effect ? streamed + event.delta : event.delta;
          streamedIn = event.key.effect;
          stream("text", event.delta);
          break;
        case "reasoning":
          stream("reasoning", event.delta);
          break;
        case "retracted":
          streamed = "";
          cell = undefined;
          line("… interrupted: the text above does not count, and the model is called again.", "yellow");
          break;
        case "retrying":
          line(`… ${retryOf(event)}`, "yellow");
          break;
        case "toolStarted":
          if (CALL_OF_CELL.test(event.key.effect)) runsCode(event.key.effect);
          newLine();
          write(`  ${printable(event.call.name)} ${short({ raw }, event.call.input)}`, "cyan");
          openCall = event.key.effect;
          lastCall = event.key.effect;
          names.set(event.key.effect, printable(event.call.name));
          break;
        case "toolOutput":
          printed(event.key.effect, event.delta);
          break;
        case "toolProgress":
          progressed(event.key.effect, event.value);
          break;
        case "toolReturned":
          returned.set(event.key.effect, event.status);
          ended(event.key.effect, event);
          break;
        case "toolEnded": // Told already, unless a hook has changed it.
          if (returned.get(event.key.effect) !== event.status) ended(event.key.effect, event);
          break;
        case "waiting": // Asked about in `waits.ts`.
        case "resolved":
        case "committed":
          break;
        case "plugin": {
          const { code, printed } = codeEventIn(event);
          if (code !== undefined || printed !== undefined) runsCode(event.key.effect, code);
          if (printed !== undefined) codePrinted(printed);
          break;
        }
      }
    },
    ended({ outcome, usage }) {
      const problem = problemOf(outcome);
      if (problem !== undefined) line(printable(problem), outcome.kind === "failed" ? "red" : "yellow");
      // The answer was not streamed: a plugin gave it, or the turn had ended before the printer began.
      const isShown = problem !== undefined || (outcome.kind === "answered" && outcome.text === streamed);
      if (!isShown) line(wordsOf(outcome, { raw }));
      const facts = [outcome.kind, tokens(usage), counted(names.size, "tool call"), ms(performance.now() - startedAt)];
      line(facts.join(" · "), "dim");
    },
    issue: (issue) => line(issueOf(issue), "yellow"),
    leaving: () => {}, // Everything was already printed while the turn ran.
    refused: (error) => line(printable(explain(error, io.env)), "red"),
    note: (words, style = "dim") => line(words, style),
  };
}

/** Prints for pipes: the final answer on stdout, problems on stderr; with `verbose` also tool calls and usage. */
export function plainPrinter(
  io: Pick<Io, "stdout" | "stderr" | "env">,
  { verbose = false, raw = false }: How = {},
): Printer {
  const text = textFor({ raw });
  const writeLine = (output: Output, words: string): void => void output.write(`${words}\n`);
  const aside = (words: string | undefined): void =>
    verbose && words !== undefined ? writeLine(io.stderr, text(words)) : undefined;
  return {
    event(event) {
      if (event.kind === "toolStarted") aside(`${event.call.name} ${short({ raw }, event.call.input)}`);
      if (event.kind === "toolEnded") aside(`${event.name} → ${event.status}, ${event.ms} ms`);
      if (event.kind === "retracted") aside("The reply was interrupted. The model is called again.");
      if (event.kind === "retrying") aside(retryOf(event));
      if (event.kind === "plugin") {
        const { code, printed } = codeEventIn(event);
        aside((code ?? printed)?.replace(/\n$/, ""));
      }
    },
    ended({ outcome, usage }) {
      const problem = problemOf(outcome);
      if (problem === undefined) writeLine(io.stdout, wordsOf(outcome, { raw }));
      else writeLine(io.stderr, `bowline: ${oneLine(problem)}`);
      aside(`${outcome.kind} · ${tokens(usage)}`);
    },
    issue: (issue) => writeLine(io.stderr, `bowline: ${issueOf(issue)}`),
    leaving({ openTurn, waits }) {
      // With `verbose`, calls were printed while they ran. The question shows a call that waits.
      const isPrinted = (callId: string): boolean => verbose || waits.some((wait) => wait.callId === callId);
      for (const { role, parts } of openTurn?.messages ?? [])
        for (const part of role === "assistant" ? parts : []) {
          if (part.kind === "text") writeLine(io.stderr, text(part.text));
          if (part.kind === "toolCall" && !isPrinted(part.callId))
            writeLine(io.stderr, text(`${part.name} ${short({ raw }, part.input)}`));
        }
    },
    refused: (error) => writeLine(io.stderr, explain(error, io.env)),
    note: (words) => aside(words),
  };
}

/** Prints turns that the user did not start here: everything on stderr; without `verbose` only issues and waits. */
export function asidePrinter({ stderr, env }: Pick<Io, "stderr" | "env">, how: How): Printer {
  const nothing = (): void => {};
  const printer = plainPrinter({ stdout: stderr, stderr, env }, how);
  return how.verbose ? printer : { ...printer, event: nothing, ended: nothing, refused: nothing, note: nothing };
}

/** Prints for programs: every event is a line of JSON, and the result is the last line. */
export function jsonPrinter(io: Pick<Io, "stdout" | "stderr" | "env">, how: Raw): Printer {
  const print = (value: object): void => void io.stdout.write(`${jsonFor(how, value)}\n`);
  return {
    event: print,
    ended: (result) => print({ kind: "result", ...result }),
    issue: () => {}, // The result contains it.
    leaving: () => {},
    refused(error) {
      const { code, hint } = faultOf(error);
      print({ kind: "error", code, message: messageOf(error), hint });
      io.stderr.write(`${explain(error, io.env)}\n`);
    },
    note: () => {},
  };
}

export const isGood = ({ outcome }: Pick<TurnResult, "outcome">): boolean => problemOf(outcome) === undefined;

/** How a turn ended: its answer or its problem. */
export const endOf = (outcome: TurnOutcome, how: Raw): string =>
  isGood({ outcome }) ? wordsOf(outcome, how) : printable(problemOf(outcome) as string);

function problemOf(outcome: TurnOutcome): string | undefined {
  if (outcome.kind === "stopped") return `Stopped: ${outcome.reason} [${outcome.code}]`;
  if (outcome.kind === "failed") return `Failed: ${outcome.reason} [${outcome.code}]`;
  return undefined;
}

const issueOf = ({ plugin, message, hint }: Issue): string =>
  oneLine(`Issue${plugin === undefined ? "" : ` in ${plugin}`}: ${message}${hint === undefined ? "" : ` ${hint}`}`);

function wordsOf(outcome: TurnOutcome, how: Raw): string {
  const value = outcome.kind === "finished" ? outcome.value : outcome.text;
  return typeof value === "string" ? textFor(how)(value) : jsonFor(how, value);
}

const retryOf = ({ class: failure, attempt, waitMs }: Extract<SessionEvent, { kind: "retrying" }>): string =>
  `attempt ${attempt} at the model call failed (${failure}). Next try in ${ms(waitMs)}`;

export function tokens({ input, cacheRead, cacheWrite, output, reasoning, ...unknown }: Usage): string {
  const { unknownCalls, estimatedInput = 0, estimatedOutput = 0 } = unknown;
  const about = estimatedInput + estimatedOutput;
  const guess = about === 0 ? "" : `, about ${counted(about, "token")}`;
  const uncounted = unknownCalls === 0 ? "" : ` (and ${counted(unknownCalls, "call")} not counted${guess})`;
  return `${input + cacheRead + cacheWrite} tokens in, ${output + reasoning} out${uncounted}`;
}

export const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`;
const ms = (duration: number): string =>
  duration < 1_000 ? `${Math.round(duration)} ms` : `${(duration / 1_000).toFixed(1)} s`;

const INDENT = "    ";
const short = (how: Raw, input: unknown): string => cut(jsonFor(how, input), SHOWN_MAX);

const UNITS: readonly (readonly [string, number])[] = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
];

export function ago(at: number): string {
  const passed = Date.now() - at;
  const unit = UNITS.find(([, ms]) => passed >= ms);
  return unit === undefined ? "just now" : `${counted(Math.floor(passed / unit[1]), unit[0])} ago`;
}

// ── Code cells ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** How many lines of one cell's output are shown, without `verbose`. */
const CODE_LINES_MAX = 5;
/** A call inside a code cell has such a name: `r1.exec.call.0`. */
const CALL_OF_CELL = /\.exec\.call\./;

/** The events of code mode: the code of a cell, and what the cell prints. */
function codeEventIn({ plugin, name, payload }: Extract<SessionEvent, { kind: "plugin" }>): {
  readonly code?: string | undefined;
  readonly printed?: string | undefined;
} {
  const { code, text } = (payload ?? {}) as { readonly code?: string; readonly text?: string };
  if (plugin === "bowline/code" && name === "cell") return { code };
  return plugin === "bowline/code" && name === "printed" ? { printed: text } : {};
}

// ── What waits for an answer ────────────────────────────────────────────────────────────────────────────────────────

type Asked = Pick<PendingWait, "kind" | "tool" | "arguments" | "reason" | "schema" | "sessionId" | "path">;

/**
 * The question of a wait. For a descendant of `root` it names the agent. A person who allows a call must see the whole
 * call, so hidden characters are escaped.
 */
export function questionOf(wait: Asked, root: string): string {
  const { kind, tool, reason, schema } = wait;
  const who = wait.sessionId === root ? "" : `${wait.path.slice(wait.path.indexOf(root as never) + 1).join(" › ")}: `;
  return printable(visible(who)) + asked();

  function asked(): string {
    const call = `${visible(tool)} ${shownInput(wait.arguments)}`;
    const words = oneLine(visible(reason));
    if (kind === "approval") return `Allow ${call}? ${words}`;
    if (kind === "interrupted") return `Make the call ${call} again? ${words}`;
    if (kind === "result") return `${call} waits for its result from elsewhere.`;
    return `${visible(tool)} asks: ${printable(visible(reason)).trim()}${wanted(schema)}`;
  }
}

function shownInput(given: Json): string {
  const input = editable(given);
  const more = input.length - ARGUMENTS_MAX;
  return more > 0 ? `${input.slice(0, ARGUMENTS_MAX)}… (${counted(more, "more character")})` : input;
}
const ARGUMENTS_MAX = 2_000;
const shortOfQuestion = (value: unknown): string => cut(editable(value), SHOWN_MAX);

/** The kind of answer that is expected, unless any text is accepted. */
function wanted(schema: JsonObject | undefined): string {
  if (schema === undefined) return "";
  const { type, enum: choices } = schema;
  if (Array.isArray(choices)) return ` (one of ${choices.map(shortOfQuestion).join(", ")})`;
  if (type === "boolean") return " (true or false)";
  if (type === "number" || type === "integer") return " (a number)";
  const { type: _, ...more } = schema;
  if (type === "string") return Object.keys(more).length === 0 ? "" : ` (${shortOfQuestion(more)})`;
  return ` (JSON: ${shortOfQuestion(schema)})`;
}

const WANTED = {
  approval: "approval of",
  interrupted: "permission to repeat",
  question: "answer to",
  result: "result of",
};

/** A wait in one line of a list: `approval of pay {"amount":3}, asked 2 hours ago`. */
export function waitedFor(wait: Pick<PendingWait, "kind" | "tool" | "arguments" | "askedAt">): string {
  const { kind, tool, askedAt } = wait;
  return `${WANTED[kind]} ${visible(tool)} ${shortOfQuestion(wait.arguments)}, asked ${ago(askedAt)}`;
}
