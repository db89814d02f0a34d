// A list of steps that the model keeps. The prompt of every later turn contains it.
import assert from "node:assert/strict";
import { createRuntime, definePlugin } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { z } from "zod";

const Step = z.object({ text: z.string(), status: z.enum(["open", "doing", "done"]) });
const MARK = { open: "[ ]", doing: "[>]", done: "[x]" };

export const plan = definePlugin({
  id: "example/plan",
  state: z.object({ steps: z.array(Step).default([]) }),
  setup: ({ tool, query }) => ({
    tools: [
      tool({
        name: "plan",
        description: "Replaces the plan. Give every step; at most one may be `doing`.",
        input: z.object({ steps: z.array(Step).max(50) }),
        writes: true,
        execute: ({ steps }, { state }) => {
          if (steps.filter(({ status }) => status === "doing").length > 1) throw new Error("Two steps are `doing`.");
          state.update(() => ({ steps }));
          return "The plan is kept.";
        },
      }),
    ],
    prompt: ({ state }) => ({
      slot: "context",
      title: "Plan",
      text: state
        .get()
        .steps.map(({ text, status }) => `${MARK[status]} ${text}`)
        .join("\n"),
    }),
    operations: { steps: query({ run: ({ state }) => state.get().steps }) },
  }),
});

// ── What it does ────────────────────────────────────────────────────────────────────────────────────────────────────

const [walls, roof] = ["Build walls", "Build roof"];
const doing = (...texts: readonly string[]) => texts.map((text) => ({ text, status: "doing" }));
const model = scripted(
  calls("plan", { steps: [...doing(walls), { text: roof, status: "open" }] }),
  calls("plan", { steps: doing(walls, roof) }), // Refused: the model reads the reason, and the plan does not change.
  says("Walls first."),
  says("Still walls."),
);
const store = memory();
const first = await createRuntime({ store, model, plugins: [plan] });
await (await first.session("house")).turn("Plan a house.").result();

await using later = await createRuntime({ store, model, plugins: [plan] }); // A new runtime, as after a restart.
const session = await later.session("house");
await session.turn("Where are we?").result();
assert.equal(model.requests.at(-1)?.system, "## Plan\n\n[>] Build walls\n[ ] Build roof");
assert.equal((await session.query(plan, "steps")).length, 2);
