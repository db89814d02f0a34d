import { definePlugin } from "../../plugin.ts";
import { LIST_INPUT, SENT, SIGNAL_INPUT, STARTED, STOP_INPUT, startInput, waitInput } from "./inputs.ts";
import { OPTIONS } from "./options.ts";
import { linesOf, listed, shown } from "./shown.ts";
import { signalJob, startDescription, startJob } from "./start.ts";
import { LIST, SIGNAL, START, STOP, TEXTS, WAIT } from "./texts.ts";
import { requireShown, waitFor } from "./wait.ts";

export type { JobsOptions, TaskOffer } from "./options.ts";

/**
 * Lets the model see the background jobs of its session, wait for them and stop them, and with `tasks` also start and
 * signal some. The model does not see hidden jobs.
 */
export const jobs = definePlugin({
  id: "bowline/jobs",
  options: OPTIONS,
  setup: ({ options: settings, tool }) => ({
    tools: [
      tool({
        name: LIST,
        description: TEXTS.list,
        input: LIST_INPUT,
        execute: (_, context) => listed(context.jobs),
      }),
      tool({
        name: STOP,
        description: TEXTS.stop,
        input: STOP_INPUT,
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
      ...(settings.tasks.size === 0
        ? []
        : [
            tool({
              name: START,
              description: startDescription(settings),
              input: startInput(settings),
              output: STARTED,
              execute: (given, context) => startJob(given, settings, context),
            }),
            tool({
              name: SIGNAL,
              description: TEXTS.signal,
              input: SIGNAL_INPUT,
              output: SENT,
              execute: signalJob,
            }),
          ]),
    ],
    // An empty list has a part too, because the runtime renews a volatile part in each round only if the turn began
    // with it.
    prompt: async (event) => ({
      slot: "environment",
      title: "Background jobs",
      text: await linesOf(event.jobs),
      isVolatile: true,
      tools: [LIST, STOP, WAIT],
    }),
  }),
});
