// All texts of the protocol to a model, except tool declarations.
import { CLOSE, OPEN } from "./grammar.ts";

export const TEXTS = {
  how: (mayEndInProse: boolean) => `You act by writing TypeScript. A reply is ${
    mayEndInProse ? "either an answer in prose, which ends your work, or" : "a few words, if you like, and"
  } one cell of code:

${OPEN}
const squares = [1, 2, 3].map((n) => n * n);
print(squares);
${CLOSE}

- The tags stand on lines of their own. The reply ends with the cell: what comes after it is not read. One cell a reply.
- The cell is run, and you are shown what it printed (\`print\`, \`console.log\`) and the value of its last expression. Then you go on.
- Do as much as you can in one cell: loops, conditions, calls side by side (\`await Promise.all(items.map(…))\`). Print only what you need to see, and keep large values in variables.
- Variables, functions and classes stay for later cells. A cell is a script: \`await\` at the top, no \`import\`, no \`return\`, no file system, network or real clock. Types are not checked.
- Tools are called as they are declared below, with one object, and give a promise. A call that fails throws an error with \`code\` and \`message\`: catch it where you can go on without it.
- \`finish(value)\` ends your work with a value, which is the answer. \`sleep(ms)\` waits. \`continueAs(task, seed)\` goes on with another task in a fresh context: there, nothing but the task is known, and \`seed\` in the code.
- More tools than those below may be there: \`await tools.search("words")\` gives how they are called.
- \`history\` has the conversation: \`(await history[i]).text\`.
- In prose, do not begin a line with \`${OPEN}\`: it would begin a cell.`,

  noTools: "There are no tools: code only computes.",
  moreTools: (left: number) =>
    `${left === 1 ? "1 more tool is" : `${left} more tools are`} not listed here: find them with \`tools.search\`.`,

  // ── After a useless reply ──────────────────────────────────────────────────────────────────────────────────────────

  error: (problem: string, advice: string) => `[ERROR] ${problem}${advice === "" ? "" : `\n${advice}`}`,
  policy: (problem: string) => `[POLICY] ${problem}`,

  nativeCall: "[POLICY] Tools are called from code, not in this way: nothing was called. Write a cell that calls them.",
  unclosed: `[ERROR] The cell has no end, and was not run. Write it again, and end it with a line ${CLOSE}.`,
  cutOff: "[POLICY] Your reply was too long and was cut off: nothing was run. Do less in one cell.",
  longAnswer: "[POLICY] Your answer was too long and was cut off. Answer again, more briefly.",
  emptyCell: "[ERROR] The cell is empty: there was nothing to run. Write code, or answer in prose.",
  emptyCellFinish: "[ERROR] The cell is empty: there was nothing to run. Write code that ends with finish(value).",
  strayTag: `[ERROR] No cell was found, so nothing was run. A cell begins with a line ${OPEN} and ends with a line ${CLOSE}.`,
  fence: `[ERROR] Code in a markdown fence is not run. Put it between a line ${OPEN} and a line ${CLOSE}.`,
  finishMissing: "[ERROR] Prose does not end this work. Write a cell that calls finish(value).",
  notFitting: (problem: string) => `The value of finish() does not fit: ${problem}`,
  finishAgain: "Correct it, and call finish() again in a cell.",

  // ── The result of a cell ───────────────────────────────────────────────────────────────────────────────────────────

  fix: "Correct the code.",
  callFailed: "Catch the error where you can go on without the call, or do it in another way.",
  nothing: "The code ran to its end. It printed nothing and has no value.",
  calls: (calls: string) => `Calls: ${calls}.`,
  finished: (value: string) => `Finished with ${value}`,
  seed: (shown: string) => `What was handed over is in the code as \`seed\`: ${shown}`,
  lost: "[ERROR] What came of this cell is not known: it was not run, or was stopped before its end. What it changed is not kept.",
  goesOn: "The work goes on in a fresh context.",

  // ── The tail, which changes from round to round ────────────────────────────────────────────────────────────────────

  round: (round: number, max: number) => (Number.isFinite(max) ? `Round ${round} of ${max}.` : `Round ${round}.`),
  proseOrCell: "Answer in prose, or write one cell.",
  finishOnly: "End with finish(value) in a cell: prose does not end this work.",
  finishType: (type: string) => `End with finish(value) in a cell. Prose is not read. The value must fit: ${type}`,
  context: (used: number, max: number, advice: string) =>
    `The context holds about ${used.toLocaleString("en-US")} of ${max.toLocaleString("en-US")} tokens. ${advice}`,
  adviceSoon: "Look for a good place to hand over with continueAs(task, seed).",
  adviceNext: "Finish the step at hand, then hand over with continueAs(task, seed).",
  adviceNow: "Hand over now with continueAs(task, seed), and do nothing else.",

  leftOut: (chars: number, handle: string) =>
    `\n[… ${chars.toLocaleString("en-US")} characters left out; in code, all of it: ${handle} …]\n`,
};
