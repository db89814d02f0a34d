import { definePlugin } from "../../index.ts";
import { quickjs } from "../../sandbox/quickjs/index.ts";
import { Executor } from "./executor.ts";
import { forgetImage, KEPT } from "./kept.ts";
import { boundsOf, OPTIONS } from "./options.ts";

export type { CodeOptions } from "./options.ts";

/**
 * Runs code cells in TypeScript: fills the slot `codeExecutor`. Variables, functions and classes stay over cells, turns,
 * restarts and forks. A protocol decides what a cell is and what the model is shown of it.
 */
export const code = definePlugin({
  id: "bowline/code",
  options: OPTIONS,
  state: KEPT,
  open: ({ options: { workers } }) => quickjs(workers === undefined ? {} : { workers }),
  close: (sandbox) => sandbox.close(),
  setup: ({ options, shared, command }) => ({
    codeExecutor: new Executor(shared, boundsOf(options), options.shownCharsMax),
    operations: {
      reset: command({
        description: "Forgets all that the session's code keeps. While a turn is open it counts from its commit on.",
        run: ({ state }): void => {
          const { cells, resets } = state.get();
          forgetImage(state, cells, resets + 1);
        },
      }),
    },
  }),
});
