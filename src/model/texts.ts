// The texts of the runtime for a model: why a call has no result of its tool, and the purpose of the last round. The
// code beside a text (`tool.denied`) is for programs, and so are the messages of `errors.ts`.
import { OUTPUT_TOOL } from "./tool.ts";

const sentence = (words: string): string => (/[.!?…]$/.test(words) ? words : `${words}.`);

const printed = (lines: readonly string[], dropped: number): string =>
  dropped === 0 ? lines.join("\n") : `(${dropped} earlier lines are left out)\n${lines.join("\n")}`;

export const TEXTS = {
  // ── Calls that did not run ────────────────────────────────────────────────────────────────────────────────────────

  unknownTool: (name: string, known: readonly string[]) =>
    `There is no tool ${name}. ${known.length === 0 ? "You have no tools: answer without one." : `Call one of these instead: ${known.join(", ")}.`}`,
  unavailableTool: (name: string, availability: string) =>
    availability === "searchable"
      ? `The tool ${name} is not open to you yet. Open it with the tool that searches for tools, if you have one; otherwise do without it.`
      : `The tool ${name} is switched off. Do without it.`,
  wrongArguments: (name: string, problem: string) =>
    `The arguments of ${name} are not valid: ${sentence(problem)} Correct them so that they fit the tool's schema, and call it again.`,
  notJson: "they are not valid JSON",
  uncheckable: (ms: number) => `checking them took more than ${ms} ms`,
  tooManyCalls: (max: number) =>
    `This call was not made: one reply, or one code cell, may make at most ${max} calls. Make it again in your next one.`,
  denied: (name: string, reason: string) =>
    `${name} was not allowed: ${sentence(reason)} Do not try the same call again: find another way, or tell the user.`,
  notApproved: "it was not approved",
  unanswered: "nobody approved it in time",
  revoked: "the request for approval was withdrawn",
  lastRound: "The call was not made: this was the last round, which is only for your answer.",
  notMade: "The call was not made.",
  turnStopped: "The turn was stopped.",
  turnEnded: "The turn ended before this call was made.",

  // ── Calls that ran, and have no result ────────────────────────────────────────────────────────────────────────────

  failed: (name: string, problem: string) => `${name} failed: ${problem}`,
  timeout: (name: string, ms: number) =>
    `${name} did not finish within ${ms} ms. It may have done a part of its work: check before you call it again, or ask for less at a time.`,
  unusable: (name: string, problem: string) =>
    `${name} ran, but returned a result that cannot be shown: ${sentence(problem)} Calling it again will not help: tell the user, or do without it.`,
  tooLarge: (name: string, bytes: number, max: number) =>
    `The result of ${name} has ${bytes} bytes, and at most ${max} can be shown. Ask for less, for example with a filter or a limit.`,
  withheld: (name: string, reason: string) =>
    `${name} ran, but its result is withheld: ${sentence(reason)} Do not call it again to see it: go on without it, or tell the user.`,
  interrupted: (name: string) =>
    `${name} was interrupted, and it is not known whether it took effect. Check before you call it again.`,
  cancelled: "The call was stopped together with its turn.",
  abandoned: "The call did not end in time after the turn was stopped. It is not known whether it took effect.",
  /** For the caller that passes the result. */
  awaited: (name: string) => `The result of ${name} is given from elsewhere.`,
  noAnswer: "Nobody answered the question in time.",
  withdrawn: "The question was withdrawn.",
  pending: "The call was begun, and its result has not arrived.",
  codeEnded: "The code ended before this call did. It is not known whether the call took effect.",
  codeStopped: (reason: string) =>
    `${sentence(reason)} The code was stopped: all that this cell changed is undone, calls that it made are not.`,
  codeStalled: "The code waits for nothing that could come. What it changed so far is kept.",
  codeForgotten:
    "This turn ended before what its code keeps could be saved. Variables, functions and classes are as they were before this turn: make again what you need.",
  waitsOn: (times: number) => `it has waited ${times} times for other turns or jobs, and would wait again`,
  notShown: "The result of this call is missing. It is not known whether it took effect.",
  expired: "The call was interrupted too long ago. It is not known whether it took effect.",
  upgraded: "The call was interrupted by an upgrade of the program. It is not known whether it took effect.",

  // ── Jobs ──────────────────────────────────────────────────────────────────────────────────────────────────────────

  jobEnded: (label: string, id: string, state: string, result: string | undefined, problem: string | undefined) => {
    const how = state === "completed" ? "is done" : state === "abandoned" ? "was abandoned" : "failed";
    const about =
      problem === undefined ? (result === undefined ? "" : ` Its result: ${result}`) : ` ${sentence(problem)}`;
    return `[Background job] "${label}" (${id}) ${how}.${about}`;
  },
  agentClosed: "The agent was closed.",
  jobAbandoned: "The process that did the work is gone, and nobody else can go on with it.",

  // ── Monitors and triggers ─────────────────────────────────────────────────────────────────────────────────────────

  monitorLines: (label: string, id: string, lines: readonly string[], dropped: number) =>
    `[Monitor] "${label}" (${id}) has printed:\n${printed(lines, dropped)}`,
  monitorEnded: (label: string, id: string, how: string, lines: readonly string[], dropped: number) =>
    `[Monitor] "${label}" (${id}) is over. ${how}${lines.length === 0 ? "" : `\nIts last lines:\n${printed(lines, dropped)}`}`,
  monitorOver: (state: string) => (state === "cancelled" ? "It was stopped." : "The command has ended."),
  monitorRestarted: "Its process was gone, and the command was started again. What happened in between was not seen.",
  monitorAbandoned: "The process that watched the command is gone, and the command was ended.",
  triggered: (text: string, label: string, what: string) => `${text}\n\n[Trigger] "${label}": ${what}`,

  /** For a conversation as text, for example for a summary. */
  charsLeftOut: (chars: number) => `[… ${chars} characters left out …]`,

  // ── The last round, and typed results ─────────────────────────────────────────────────────────────────────────────

  answerNow: "This is the last round of the turn. You cannot call tools any more: answer now, with what you have.",
  submitNow: `This is the last round of the turn. Call ${OUTPUT_TOOL} now, with what you have. You cannot call other tools any more.`,
  finishNow: "This is the last round of the turn. End it now, with what you have. Tools cannot be called any more.",
  submit: "Submits the result. Call it exactly once; `value` must fit the schema. Do not write the result as text.",
  submitAgain: (problem: string) =>
    `The result is not valid: ${sentence(problem)} Correct it and call ${OUTPUT_TOOL} again.`,
};
