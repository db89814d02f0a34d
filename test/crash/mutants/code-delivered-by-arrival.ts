import { swapped } from "../../code/swapped.ts";
import { breakExecutor } from "../code.ts";
import { overExecutor } from "./over.ts";

/** After a restart code is given its answers in another order than the one on record. */
breakExecutor((executor) =>
  overExecutor(executor, {
    restore: (past, context) => executor.restore?.({ ...past, segments: swapped(past.segments) }, context),
  }),
);
