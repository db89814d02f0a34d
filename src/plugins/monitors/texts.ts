// All texts about monitors that a model reads.
export const START = "monitor";
export const STOP = "monitor_stop";

export const TEXTS = {
  start:
    "Runs a shell command in the background and tells you the lines that it prints. Use it to hear of something while you do " +
    "other work, for example of errors in a log: `tail -n 0 -F app.log | grep --line-buffered ERROR`. The command begins with " +
    "this answer. Its lines come to you as messages that begin with [Monitor], and so does its end: do not call this tool to " +
    "look for them. Let the command print only what matters. Returns the id of the monitor and how it stands.",
  command: "The command, for /bin/sh. What it starts ends with it.",
  label: "What it is for, in a few words. You read it beside its lines. Default: the command.",
  wake: (unlessGiven: string) =>
    "notify: you read its lines when you next act, and are not woken. wake: a line that it prints opens a turn for you; what " +
    `it prints to the standard error does not. Default: ${unlessGiven}.`,
  timeout: (ms: number, max: number) =>
    `The command is stopped, and has failed, after so many milliseconds. Default: ${ms}, at most ${max}.`,
  persistent: "true: it has no time limit, and runs until it ends by itself or is stopped. Default: false.",
  id: "A name of your own, for example build-log. One that runs under it with another command is not replaced: stop it first.",
  begins: "It begins with this answer. Its lines come to you as messages.",

  stop:
    "Stops a monitor: ends its command with all that it has started. Use it when its lines are no longer of use. Returns how it " +
    "stands then; one that was over before stays as it was.",
  stopId: `The id of the monitor, as ${START} returns it.`,
  reason: "Why it is stopped, in a few words. Whoever looks at its job later reads it.",
  stopped: "The model stopped it.",

  // ── Prompt ────────────────────────────────────────────────────────────────────────────────────────────────────────

  moreMonitors: "- and more",

  // ── Results and refusals ──────────────────────────────────────────────────────────────────────────────────────────

  cut: (shown: string, chars: number) => `${shown} … (${chars} characters)`,
  unknown: (id: string) =>
    `There is no monitor ${id} in this session. Take an id that ${START} has returned, or start one with ${START}.`,
  conflict: (id: string) =>
    `A monitor ${id} runs with another command or other arguments. Stop it with ${STOP}, or take another id.`,
  full: (max: number) => `${max} monitors run already. Stop one that is not needed with ${STOP}, then try again.`,
};
