import { breakExecutor } from "../code.ts";
import { overExecutor } from "./over.ts";

/** A replay is not given what the world gave to the code. */
breakExecutor((executor) =>
  overExecutor(executor, {
    restore: (past, context) =>
      executor.restore?.(
        {
          ...past,
          segments: past.segments.map(({ segment, progress: { given: _, ...progress } }) => ({ segment, progress })),
        },
        context,
      ),
  }),
);
