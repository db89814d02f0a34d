// All texts about its code that a model reads: how a cell ended, its variables, and its read-only values.
import type { Json } from "../../plugin.ts";
import type { Bound, CellProblem, GuestError, GuestVariable } from "../../sandbox/quickjs/index.ts";

const WHY: { readonly [B in Bound]: string } = {
  steps: "it computed for too long",
  time: "it computed for too long without waiting for anything",
  memory: "it used too much memory",
  output: "it printed or handed over too much",
  calls: "it made too many calls",
  engine: "the engine that ran it broke down",
};

const HOW: { readonly [B in Bound]: string } = {
  steps: "Do less in one cell, or find a quicker way.",
  time: "Do less at a time, or find a quicker way.",
  memory: "Keep less, and work through large data in pieces.",
  output: "Print and pass on only what is needed.",
  calls: "Make fewer calls in one cell.",
  engine: "Do it another way: the same code may break it again.",
};

const placeOf = ({ line, column }: GuestError): string =>
  line === undefined ? "" : ` (line ${line}${column === undefined ? "" : `, column ${column}`})`;

const errorOf = (error: GuestError): string => {
  const { name, message, code, stack } = error;
  const head = `${name}${code === undefined ? "" : ` [${code}]`}: ${message}${placeOf(error)}`;
  return stack === undefined || stack === "" ? head : `${head}\n${stack}`;
};

const number = (count: number): string => count.toLocaleString("en-US");

export const TEXTS = {
  nothing: "The code ran to its end. It printed nothing and has no value.",
  value: (value: string) => `= ${value}`,
  threw: (error: GuestError) => `${errorOf(error)}\nWhat the code changed before that is kept.`,
  /** For code that calls a tool like a function. */
  calledAs: (callee: string) => `Tools are called as ${callee}(…).`,
  unhandled: (error: GuestError) => `Unhandled rejection: ${errorOf(error)}`,
  stalled: "The code waits for a promise that nothing will ever settle. What it changed so far is kept.",
  stopped: (bound: Bound) =>
    `The code was stopped: ${WHY[bound]}. All that this cell changed is undone; calls that it made are not. ${HOW[bound]}`,
  turnStopped: "The turn was stopped while the code ran. All that this cell changed is undone.",
  refused: (problems: readonly CellProblem[]) =>
    `The code was not run:\n${problems.map(({ line, column, message }) => `line ${line}, column ${column}: ${message}`).join("\n")}`,
  language: (language: string) => `Code in ${language} cannot be run here. Write TypeScript.`,

  // Texts that code reads while it runs.
  opened: "callable from the next cell on",
  noMessage: (index: number) => `There is no history[${index}] any more.`,
  noBinding: (name: string) => `There is no ${name} any more.`,

  // Texts that the model reads before it writes code.
  variables: "Variables",
  variable: ({ name, shown }: GuestVariable) =>
    `${/^[\w$]+$/.test(name) ? name : JSON.stringify(name)}: ${shown.replace(/\s+/g, " ")}`,
  /** A small value, as JSON. */
  near: (name: string, shown: string) => `\`${name}\` (read-only): ${shown}`,
  far: (name: string, shown: string, length: number) =>
    `\`${name}\` (read-only): ${shown}, ${number(length)} characters: \`await ${name}\``,
  kindOf: (value: Json): string => {
    if (typeof value === "string") return "text";
    if (Array.isArray(value)) return `a list of ${number(value.length)}`;
    return typeof value === "object" && value !== null ? "an object" : JSON.stringify(value);
  },
};
