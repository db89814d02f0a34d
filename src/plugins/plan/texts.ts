// All texts about the plan that a model reads.
export const NAME = "update_plan";
export const STEP_CHARS_MAX = 500;
export const EXPLANATION_CHARS_MAX = 2_000;

const steps = (count: number): string => `${count} ${count === 1 ? "step" : "steps"}`;

export const TEXTS = {
  guidance:
    `For work of several steps, keep a plan with \`${NAME}\`. Write short steps in the order in which you will do them, ` +
    "and mark at most one as `in_progress`. Send the whole list again as soon as a step is done or your approach " +
    "changes. Do not make a plan for work of a single step.",

  description:
    "Replaces your plan: the list of steps that you are shown before each of your replies. Use it for work of several " +
    "steps: when you begin, when a step is done, and when your approach changes. Always send every step, also the " +
    "completed ones: a step that you leave out is removed. An empty list clears the plan. Returns how many steps are " +
    "completed.",
  steps: (max: number) =>
    `All steps of the plan, in the order in which you will do them. At most ${steps(max)}, of which at most one is in_progress.`,
  step: `What to do, in one short sentence of at most ${STEP_CHARS_MAX} characters. Line breaks become spaces.`,
  status: "pending: not begun. in_progress: you are working on it now. completed: done.",
  explanation: `Why the plan changes, in one or two sentences, for people who follow your work. At most ${EXPLANATION_CHARS_MAX} characters.`,

  updated: (done: number, count: number) =>
    count === 0 ? "The plan is now empty." : `The plan is updated: ${done} of ${steps(count)} completed.`,

  blankStep: (number: number) =>
    `Step ${number} has no text. The plan is unchanged. Send all steps again, each with a text.`,
  inProgress: (count: number, numbers: string) =>
    `At most one step may be in_progress, but ${count} are: ${numbers}. The plan is unchanged. Send all steps again.`,
  tooLong: (bytes: number, max: number) =>
    `The plan has ${bytes} bytes, and at most ${max} are allowed. The plan is unchanged. Send fewer or shorter steps.`,
};
