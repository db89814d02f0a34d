import { definePlugin } from "../../plugin.ts";
import { quickjs } from "../../sandbox/quickjs/index.ts";
import { BIND, bind, bindings, UNBIND, unbind } from "./bindings.ts";
import { Executor } from "./executor.ts";
import { boundsOf, OPTIONS } from "./options.ts";
import { forgetImage, KEPT } from "./state.ts";
import { variablesPart } from "./variables.ts";

export { bindings } from "./bindings.ts";
export type { CodeOptions } from "./options.ts";

/**
 * Runs code cells in TypeScript: fills the slot `codeExecutor`. Variables, functions and classes persist across cells,
 * turns, restarts and forks. A protocol defines what a cell is and what the model reads about it.
 */
export const code = definePlugin({
  id: "bowline/code",
  options: OPTIONS,
  state: KEPT,
  open: ({ options: { workers } }) => quickjs(workers === undefined ? {} : { workers }),
  close: (sandbox) => sandbox.close(),
  setup: ({ options, shared, command }) => ({
    codeExecutor: new Executor(shared, boundsOf(options), options.shownCharsMax),
    extensions: [bindings],
    prompt: variablesPart,
    operations: {
      reset: command({
        description: "Forgets all that the session's code keeps. While a turn is open it counts from its commit on.",
        run: ({ state }): void => {
          const { cells, resets } = state.get();
          forgetImage(state, cells, resets + 1);
        },
      }),
      bind: command({
        description:
          "Gives the session's code read-only values by their names, in place of those it has by these names.",
        input: BIND,
        run: ({ state, input: { values } }): Promise<void> => bind(state, values),
      }),
      unbind: command({
        description: "Takes read-only values away from the session's code.",
        input: UNBIND,
        run: ({ state, input: { names } }): void => unbind(state, names),
      }),
    },
  }),
});
