import { definePlugin, hasCode, type JsonSchema, jsonSchema, type MonitorStatus, ToolError } from "../../plugin.ts";
import { OPTIONS, type Settings } from "./options.ts";
import { linesOf, shown } from "./shown.ts";
import { START, STOP, TEXTS } from "./texts.ts";

export type { MonitorsOptions } from "./options.ts";

/** Lets the model start and stop shell commands, and sends it their lines as messages. */
export const monitors = definePlugin({
  id: "bowline/monitors",
  options: OPTIONS,
  setup: ({ options: settings, tool }) => ({
    tools: [
      tool({
        name: START,
        path: "monitors.start",
        description: TEXTS.start,
        input: startInput(settings),
        execute: ({ isPersistent, timeoutMs = settings.timeoutMs, wake = settings.wake, ...given }, context) => {
          const { cwd, env } = settings;
          return withKnownErrors(
            given.id,
            context.monitors.start({ ...given, wake, timeoutMs, isPersistent, cwd, env }),
          );
        },
      }),
      tool({
        name: STOP,
        path: "monitors.stop",
        description: TEXTS.stop,
        input: STOP_INPUT,
        execute: ({ id, reason = "" }, context) =>
          withKnownErrors(id, context.monitors.stop(id, reason.trim() === "" ? TEXTS.stopped : reason)),
      }),
    ],
    // An empty list has a part too, because the runtime renews a volatile part in each round only if the turn began
    // with it.
    prompt: async (event) => ({
      slot: "environment",
      title: "Monitors",
      text: await linesOf(event.jobs),
      isVolatile: true,
      tools: [START, STOP],
    }),
  }),
});

/** The status of a monitor. A known error becomes a failure with advice for the model. */
async function withKnownErrors(id: string | undefined, asked: Promise<MonitorStatus>) {
  try {
    return shown(await asked);
  } catch (error) {
    const named = JSON.stringify(id ?? "");
    if (hasCode(error, "monitor.unknown")) throw refused(error.code, TEXTS.unknown(named));
    if (hasCode(error, "monitor.conflict")) throw refused(error.code, TEXTS.conflict(named));
    if (hasCode(error, "monitor.full")) throw refused(error.code, TEXTS.full(error.details.max));
    if (hasCode(error, "monitor.invalid")) throw refused(error.code, error.message);
    throw error;
  }
}
const refused = (code: string, words: string): ToolError => new ToolError(code, words, { class: "arguments" });

// ── Arguments ───────────────────────────────────────────────────────────────────────────────────────────────────────

interface StartInput {
  readonly command: string;
  readonly label?: string;
  readonly wake?: "notify" | "wake";
  readonly timeoutMs?: number;
  readonly isPersistent?: boolean;
  readonly id?: string;
}

const object = (properties: { readonly [name: string]: JsonSchema }, required: readonly string[]): JsonSchema => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});
const text = (maxLength: number, description: string): JsonSchema => ({
  type: "string",
  minLength: 1,
  maxLength,
  description,
});

const startInput = ({ wake, allowsPersistent, timeoutMs, timeoutMaxMs }: Settings) =>
  jsonSchema<StartInput>(
    object(
      {
        command: text(20_000, TEXTS.command),
        label: text(200, TEXTS.label),
        wake: { type: "string", enum: ["notify", "wake"], description: TEXTS.wake(wake) },
        timeoutMs: {
          type: "integer",
          minimum: 1,
          maximum: timeoutMaxMs,
          description: TEXTS.timeout(timeoutMs, timeoutMaxMs),
        },
        ...(allowsPersistent ? { isPersistent: { type: "boolean", description: TEXTS.persistent } } : {}),
        id: text(100, TEXTS.id),
      },
      ["command"],
    ),
  );

const STOP_INPUT = jsonSchema<{ readonly id: string; readonly reason?: string }>(
  object({ id: text(256, TEXTS.stopId), reason: { type: "string", maxLength: 500, description: TEXTS.reason } }, [
    "id",
  ]),
);
