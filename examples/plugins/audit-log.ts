// Sends every call and every turn to a sink. If the sink fails, the turn continues.
import assert from "node:assert/strict";
import { createRuntime, definePlugin, defineTool, type TelemetryListener } from "bowline";
import { memory } from "bowline/stores/memory";
import { calls, says, scripted } from "bowline/testing";
import { z } from "zod";

type Sink = (line: { readonly what: string; readonly how: string }) => Promise<void>;

export const auditLog = definePlugin({
  id: "example/audit-log",
  order: "late",
  options: z.object({ sink: z.custom<Sink>((given) => typeof given === "function") }),
  setup: ({ options: { sink } }) => ({
    // Catch the failure: if `afterToolCall` throws, the model does not get the result.
    afterToolCall: async ({ call, output, once, trace }) => {
      try {
        // After a crash this can run again. `once` does not repeat a recorded send.
        await once(call.id, async () => {
          await sink({ what: call.name, how: output.kind });
          return true;
        });
      } catch (error) {
        trace.emit("lost", { call: call.id, problem: String(error) });
      }
    },
    // Here a failure cannot change the turn, because it is already committed. The failure appears in its `issues`.
    lifecycle: async ({ event }) => {
      if (event.kind === "turnPersisted") await sink({ what: "turn", how: event.report.outcome.kind });
    },
  }),
});

// ── What it does ────────────────────────────────────────────────────────────────────────────────────────────────────

const lines: string[] = [];
let isDown = false;
const sink: Sink = async ({ what, how }) => {
  if (isDown) throw new Error("The disk is full.");
  lines.push(`${what} ${how}`);
};
const traced: string[] = [];
const ping = defineTool({ name: "ping", description: "Pings.", input: z.object({}), execute: () => "Pong." });
const model = scripted(calls("ping"), calls("pong"), says("Fine."), calls("ping"), says("Fine."));
const telemetry: TelemetryListener = { event: (_, { name }) => void traced.push(name) };
const plugins = [auditLog({ sink })];
await using runtime = await createRuntime({ store: memory(), model, tools: [ping], plugins, telemetry });
const session = await runtime.session();
await session.turn("Ping and pong.").result();
assert.deepEqual(lines, ["ping value", "pong failure", "turn answered"]);

isDown = true;
const { outcome, issues } = await session.turn("Ping.").result();
assert.equal(outcome.kind, "answered");
assert.match(JSON.stringify(model.requests.at(-1)), /Pong\./); // The model got the result.
assert.equal(issues[0]?.message, "Plugin example/audit-log failed in lifecycle: The disk is full.");
assert.ok(traced.includes("example/audit-log.lost"));
