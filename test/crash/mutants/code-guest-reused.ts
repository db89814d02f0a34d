import { breakExecutor } from "../code.ts";
import { overExecutor } from "./over.ts";

/** What runs here is gone on with, though an answer of it was lost, and so it is ahead of the record. */
breakExecutor((executor) => {
  let runs = false;
  return overExecutor(executor, {
    async restore(past, context) {
      if (!runs) await executor.restore?.(past, context);
      runs = true;
    },
    async release() {
      runs = false;
      await executor.release?.();
    },
  });
});
