import type { CellProgress, CellSegment } from "bowline/protocol";
import { breakExecutor } from "../code.ts";
import { overExecutor } from "./over.ts";

type Called = Extract<CellProgress, { readonly kind: "called" }>;

const countOf = ({ calls, sleeps = [] }: Called): number => calls.length + sleeps.length;
const both = (first: Called, second: CellProgress): CellProgress =>
  second.kind === "executed"
    ? second
    : {
        ...second,
        calls: [...first.calls, ...second.calls],
        sleeps: [...(first.sleeps ?? []), ...(second.sleeps ?? [])],
      };

/** Code is given two answers at a time, where two are to come. */
breakExecutor((executor) => {
  let open = 0; // Calls and sleeps that the code waits for.
  let held: CellSegment | undefined;
  let meter: number | undefined;
  return overExecutor(executor, {
    restore(past, context) {
      held = undefined;
      meter = past.segments.at(-1)?.progress.meter;
      open = past.segments.reduce((sum, { segment, progress }) => {
        const more = progress.kind === "called" ? countOf(progress) : 0;
        return (segment.deliver === undefined ? 0 : sum - 1) + more;
      }, 0);
      return executor.restore?.(past, context);
    },
    async execute(segment, context) {
      open = segment.deliver === undefined ? 0 : open - 1;
      if (segment.deliver !== undefined && held === undefined && open > 0) {
        held = segment;
        return { kind: "called", calls: [], meter };
      }
      const first = held === undefined ? undefined : await executor.execute(held, context);
      held = undefined;
      const second = await executor.execute(segment, context);
      const progress = first?.kind === "called" ? both(first, second) : second;
      if (progress.kind === "called") open += countOf(progress);
      meter = progress.meter;
      return progress;
    },
  });
});
