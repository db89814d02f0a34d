// Defines a point where any plugin can switch a feature on or off. Off wins.
import assert from "node:assert/strict";
import { createRuntime, defineTool } from "bowline";
import { definePlugin, deny, point } from "bowline/plugin";
import { memory } from "bowline/stores/memory";
import { both, calls, says, scripted } from "bowline/testing";
import { z } from "zod";

interface Flag {
  readonly feature: string;
  readonly on: boolean;
}
type Flags = (feature: string) => boolean;

/**
 * Plugins that contribute must import this object, because the runtime compares points by object. A feature
 * without a contribution is off.
 */
export const flags = point<Flag, Flags>("example/flags", (given) => {
  const on = new Set(given.flatMap(({ value }) => (value.on ? [value.feature] : [])));
  for (const { value } of given) if (!value.on) on.delete(value.feature);
  return (feature) => on.has(feature);
});

/** Reads the point, and denies calls of a tool if the feature with its name is off. */
export const featureFlags = definePlugin({
  id: "example/feature-flags",
  options: z.object({ features: z.array(z.string()) }),
  setup: ({ options: { features } }) => ({
    prompt: ({ read }) =>
      features
        .filter((feature) => !read(flags)(feature))
        .map((feature) => ({ slot: "guidance", text: `You cannot use ${feature} yet.` })),
    beforeToolCall: ({ call, read }) =>
      features.includes(call.name) && !read(flags)(call.name) ? deny("The feature is off.") : undefined,
  }),
});

// ── What it does ────────────────────────────────────────────────────────────────────────────────────────────────────

const release = definePlugin({
  id: "example/release",
  setup: () => ({ contributions: ["chart", "mail"].map((feature) => flags.of({ feature, on: true })) }),
});
const incident = definePlugin({
  id: "example/incident",
  setup: () => ({ contributions: [flags.of({ feature: "mail", on: false })] }),
});

const ran: string[] = [];
const tools = ["chart", "mail"].map((name) =>
  defineTool({ name, description: `Makes a ${name}.`, input: z.object({}), execute: () => void ran.push(name) }),
);
const model = scripted(both(calls("chart"), calls("mail")), says("A chart, but no mail."));
const plugins = [featureFlags({ features: ["chart", "mail"] }), release, incident];
await using runtime = await createRuntime({ store: memory(), model, tools, plugins });
const session = await runtime.session();
await session.turn("Chart it and mail it.").result();
assert.deepEqual(ran, ["chart"]);
assert.equal(model.requests[0]?.system, "You cannot use mail yet.");
assert.equal(session.contributed(flags)("chart"), true); // The app can read the point too.
