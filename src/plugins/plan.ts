import { definePlugin, emitEvent, type Fields, hasCode, jsonSchema, optionsSchema, ToolError } from "../plugin.ts";
import { EXPLANATION_CHARS_MAX, NAME, STEP_CHARS_MAX, TEXTS } from "./plan/texts.ts";

export interface PlanOptions {
  /** How many steps a plan can have. Default 100. */
  readonly stepsMax?: number | undefined;
  /** Whether child sessions have plans too. Default false: only root sessions do. */
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

/** Bounded because the plan is sent in every round and no provider caches it. */
const BYTES_MAX = 16_384;

/** Lets the model keep a list of steps. The prompt of every round shows it. */
export const plan = definePlugin({
  id: "bowline/plan",
  options: optionsSchema<PlanOptions, Settings>(settingsOf),
  state: optionsSchema<unknown, Plan>(planOf),
  setup: ({ options: { stepsMax, inChildren }, session, tool, query, command }) => {
    const isHere = session.isRoot || inChildren;
    // An update of the plan that has no event yet. This is not in the state, because events of a turn are previews: an
    // observer that missed one can query `current`.
    let pending: { readonly explanation?: string } | undefined;
    const emitPlan = (now: Plan) => {
      if (pending === undefined) return;
      const { explanation } = pending;
      pending = undefined;
      return emitEvent("updated", { ...payloadOf(now), ...(explanation === undefined ? {} : { explanation }) });
    };
    return {
      tools: isHere
        ? [
            tool({
              name: NAME,
              path: "plan.update",
              description: TEXTS.description,
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
                pending = explanation === undefined ? {} : { explanation };
                const done = steps.filter(({ status }) => status === "completed").length;
                return TEXTS.updated(done, steps.length);
              },
            }),
          ]
        : [],
      prompt: isHere
        ? ({ state }) => [
            { slot: "guidance", text: TEXTS.guidance, tools: [NAME] },
            // An empty plan has a part too, because the runtime renews a volatile part in each round only if the turn
            // began with it.
            { slot: "environment", title: "Plan", text: shown(state.get().steps), isVolatile: true },
          ]
        : [],
      // Emitted here and not in `afterToolCall`, because a hook there would add a journal record to every tool call.
      checkpoint: isHere ? ({ state }) => emitPlan(state.get()) : [],
      // There is no checkpoint after the last round if the turn is stopped or a tool finishes it.
      afterTurn: isHere ? ({ state }) => emitPlan(state.get()) : [],
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

/** Without this, a step with line breaks could look like several steps. */
const onOneLine = (text: string): string => text.replace(/\s+/gu, " ").trim();

function requireRight(steps: readonly PlanStep[]): void {
  const blank = steps.findIndex(({ step }) => step === "");
  if (blank !== -1) throw new ToolError("plan.step", TEXTS.blankStep(blank + 1), { class: "arguments" });
  const active = steps.flatMap(({ status }, index) => (status === "in_progress" ? [index + 1] : []));
  if (active.length > 1)
    throw new ToolError("plan.in-progress", TEXTS.inProgress(active.length, listed(active)), { class: "arguments" });
  const bytes = Buffer.byteLength(JSON.stringify(steps));
  if (bytes > BYTES_MAX) throw tooLong(bytes, BYTES_MAX);
}

const tooLong = (bytes: number, max: number): ToolError =>
  new ToolError("plan.too-long", TEXTS.tooLong(bytes, max), { class: "limit" });

const listed = (numbers: readonly number[]): string =>
  `${numbers.slice(0, 10).join(", ")}${numbers.length > 10 ? ", …" : ""}`;

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
        description: TEXTS.steps(stepsMax),
        maxItems: stepsMax,
        items: {
          type: "object",
          properties: {
            step: { type: "string", minLength: 1, maxLength: STEP_CHARS_MAX, description: TEXTS.step },
            status: { type: "string", enum: STATUSES, description: TEXTS.status },
          },
          required: ["step", "status"],
          additionalProperties: false,
        },
      },
      explanation: {
        type: "string",
        maxLength: EXPLANATION_CHARS_MAX,
        description: TEXTS.explanation,
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
