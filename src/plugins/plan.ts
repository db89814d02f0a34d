import { definePlugin, emitEvent, type Fields, hasCode, jsonSchema, optionsSchema, ToolError } from "../index.ts";

export interface PlanOptions {
  /** The most steps that a plan may have. Default 100. */
  readonly stepsMax?: number | undefined;
  /** Whether sessions with a parent keep plans too. Default false: only root sessions do. */
  readonly inChildren?: boolean | undefined;
}

const STATUSES = ["pending", "in_progress", "completed"] as const;
export interface PlanStep {
  readonly step: string;
  readonly status: (typeof STATUSES)[number];
}
export interface Plan {
  readonly steps: readonly PlanStep[];
  /** Counts how often the plan was replaced or cleared. */
  readonly generation: number;
}

const NAME = "update_plan";
const STEP_CHARS_MAX = 500;
const EXPLANATION_CHARS_MAX = 2_000;
/** The plan is sent in every round, outside of what a provider caches, so its size is paid for again each time. */
const BYTES_MAX = 16_384;

const GUIDANCE =
  `For work of several steps keep a plan with \`${NAME}\`: short steps, in order, one \`in_progress\` at a time. ` +
  "Send all of it again as soon as a step is done or the way changes. Work of one step needs no plan.";

/** Lets the model keep a list of steps, which it is shown in every round. */
export const plan = definePlugin({
  id: "bowline/plan",
  options: optionsSchema<PlanOptions, Settings>(settingsOf),
  state: optionsSchema<unknown, Plan>(planOf),
  setup: ({ options: { stepsMax, inChildren }, session, tool, query, command }) => {
    const isHere = session.isRoot || inChildren;
    // An update of the plan that no event has told yet. Not state: events of a turn are previews, and an observer that
    // missed one asks for `current`.
    let untold: { readonly explanation?: string } | undefined;
    const tell = (now: Plan) => {
      if (untold === undefined) return;
      const { explanation } = untold;
      untold = undefined;
      return emitEvent("updated", { ...payloadOf(now), ...(explanation === undefined ? {} : { explanation }) });
    };
    return {
      tools: isHere
        ? [
            tool({
              name: NAME,
              description:
                "Replaces the plan. Give every step, those that are completed too; at most one may be in_progress. " +
                "An empty list clears it.",
              input: inputSchema(stepsMax),
              writes: true,
              execute: ({ steps: given, explanation }, { state }) => {
                const steps = given.map(({ step, status }) => ({ step: onOneLine(step), status }));
                requireRight(steps);
                try {
                  state.update(({ generation }) => ({ steps, generation: generation + 1 }));
                } catch (error) {
                  if (hasCode(error, "state.too-large")) throw tooLong(error.details.bytes, error.details.max);
                  throw error;
                }
                untold = explanation === undefined ? {} : { explanation };
                return `The plan is kept: ${counted(steps)}.`;
              },
            }),
          ]
        : [],
      prompt: isHere
        ? ({ state }) => [
            { slot: "guidance", text: GUIDANCE, tools: [NAME] },
            // An empty plan is said too: only a turn that begins with a volatile part asks for it again in each round.
            { slot: "environment", title: "Plan", text: shown(state.get().steps), isVolatile: true },
          ]
        : [],
      // Told here and not in `afterToolCall`: a hook there would cost every call of every tool a record in the journal.
      checkpoint: isHere ? ({ state }) => tell(state.get()) : [],
      // A turn that is stopped, or finished by a tool, passes no checkpoint after its last round.
      afterTurn: isHere ? ({ state }) => tell(state.get()) : [],
      operations: {
        current: query({ description: "The plan as it is.", run: ({ state }): Plan => state.get() }),
        clear: command({
          description: "Takes all steps away.",
          run: ({ state, emit }): Plan => {
            if (state.get().steps.length === 0) return state.get();
            state.update(({ generation }) => ({ steps: [], generation: generation + 1 }));
            emit("updated", payloadOf(state.get()));
            return state.get();
          },
        }),
      },
    };
  },
});

const payloadOf = ({ steps, generation }: Plan) => ({ steps: steps.map((step) => ({ ...step })), generation });

const MARKS = { pending: "[ ]", in_progress: "[>]", completed: "[x]" };
const shown = (steps: readonly PlanStep[]): string =>
  steps.map(({ step, status }, index) => `${index + 1}. ${MARKS[status]} ${step}`).join("\n");

/** Line breaks would let one step pass for several in the prompt. */
const onOneLine = (text: string): string => text.replace(/\s+/gu, " ").trim();

function requireRight(steps: readonly PlanStep[]): void {
  const blank = steps.findIndex(({ step }) => step === "");
  if (blank !== -1)
    throw new ToolError("plan.step", `Step ${blank + 1} has no words. Send all steps again.`, { class: "arguments" });
  const active = steps.flatMap(({ status }, index) => (status === "in_progress" ? [index + 1] : []));
  if (active.length > 1)
    throw new ToolError(
      "plan.in-progress",
      `At most one step may be in_progress, and ${active.length} are: ${listed(active)}. Send all steps again.`,
      { class: "arguments" },
    );
  const bytes = Buffer.byteLength(JSON.stringify(steps));
  if (bytes > BYTES_MAX) throw tooLong(bytes, BYTES_MAX);
}

const tooLong = (bytes: number, max: number): ToolError =>
  new ToolError("plan.too-long", `The plan takes ${bytes} bytes of at most ${max}. Send fewer or shorter steps.`, {
    class: "limit",
  });

const listed = (numbers: readonly number[]): string =>
  `${numbers.slice(0, 10).join(", ")}${numbers.length > 10 ? ", …" : ""}`;

function counted(steps: readonly PlanStep[]): string {
  if (steps.length === 0) return "it is empty";
  const done = steps.filter(({ status }) => status === "completed").length;
  return `${done} of ${steps.length} ${steps.length === 1 ? "step" : "steps"} completed`;
}

interface PlanInput {
  readonly steps: readonly PlanStep[];
  readonly explanation?: string;
}
const inputSchema = (stepsMax: number) =>
  jsonSchema<PlanInput>({
    type: "object",
    properties: {
      steps: {
        type: "array",
        maxItems: stepsMax,
        items: {
          type: "object",
          properties: {
            step: { type: "string", minLength: 1, maxLength: STEP_CHARS_MAX, description: "What is to be done." },
            status: { type: "string", enum: STATUSES },
          },
          required: ["step", "status"],
          additionalProperties: false,
        },
      },
      explanation: {
        type: "string",
        maxLength: EXPLANATION_CHARS_MAX,
        description: "Why the plan changes, for whoever watches.",
      },
    },
    required: ["steps"],
    additionalProperties: false,
  });

// ── Options and state ───────────────────────────────────────────────────────────────────────────────────────────────

interface Settings {
  readonly stepsMax: number;
  readonly inChildren: boolean;
}

function settingsOf(given: Fields): Settings {
  given.only("stepsMax", "inChildren");
  return { stepsMax: given.whole("stepsMax", { min: 1, max: 500 }, 100), inChildren: given.flag("inChildren", false) };
}

function planOf(given: Fields): Plan {
  return { steps: given.objects("steps", stepOf, []), generation: given.whole("generation", {}, 0) };
}

function stepOf(given: Fields): PlanStep {
  return { step: given.text("step"), status: given.oneOf("status", STATUSES) };
}
