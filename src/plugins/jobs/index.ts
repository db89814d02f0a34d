import { definePlugin, type JsonSchema, jsonSchema } from "../../index.ts";
import { OPTIONS, type Settings } from "./options.ts";
import { linesOf, listed, shown } from "./shown.ts";
import { LIST, STOP, TEXTS, WAIT } from "./texts.ts";
import { requireShown, type WaitInput, waitFor } from "./wait.ts";

export type { JobsOptions } from "./options.ts";

/** Lets the model see the background jobs of its session, wait for them and stop them. It is not shown hidden ones. */
export const jobs = definePlugin({
  id: "bowline/jobs",
  options: OPTIONS,
  setup: ({ options: settings, tool }) => ({
    tools: [
      tool({
        name: LIST,
        description: TEXTS.list,
        input: jsonSchema<object>(object({}, [])),
        execute: (_, context) => listed(context.jobs),
      }),
      tool({
        name: STOP,
        description: TEXTS.stop,
        input: jsonSchema<{ readonly id: string; readonly reason?: string }>(
          object({ id: ID, reason: { type: "string", maxLength: 500, description: TEXTS.reason } }, ["id"]),
        ),
        execute: async ({ id, reason = "" }, context) => {
          await requireShown(context.jobs, id);
          return shown(await context.jobs.cancel(id, reason.trim() === "" ? TEXTS.stopped : reason));
        },
      }),
      tool({
        name: WAIT,
        description: TEXTS.wait,
        input: waitInput(settings),
        execute: (given, context) => waitFor(given, settings, context),
      }),
    ],
    // An empty list is said too: only a turn that begins with a volatile part asks for it again in each round.
    prompt: async (event) => ({
      slot: "environment",
      title: "Background jobs",
      text: await linesOf(event.jobs),
      isVolatile: true,
      tools: [LIST, STOP, WAIT],
    }),
  }),
});

const object = (properties: { readonly [name: string]: JsonSchema }, required: readonly string[]): JsonSchema => ({
  type: "object",
  properties,
  required,
  additionalProperties: false,
});

const ID = { type: "string", maxLength: 256, description: TEXTS.id };

const waitInput = ({ timeoutMs }: Settings) =>
  jsonSchema<WaitInput>(
    object(
      {
        ids: { type: "array", items: ID, minItems: 1, maxItems: 100, description: TEXTS.ids },
        need: { type: "string", enum: ["all", "any"], description: TEXTS.need },
        timeoutMs: { type: "integer", minimum: 0, description: TEXTS.timeout(timeoutMs) },
      },
      ["ids"],
    ),
  );
