type ViolationKind =
/** An input that was accepted is not in the graph. */
"lost" |
/** An effect ran again although its answer was recorded, or although its tool forbids it. */
"repeated" |
/** An input is in the graph more than once. */
"doubled" |
/** An effect ran before what released it was durable. */
"early" |
/** A call without its one result. */
"unpaired" |
/** The final graph, outcomes or plugin states differ from those of the run without a kill. */
"different" |
/** A turn has no end, a slot is still held, or a process did not end. */
"stuck" |
/** The scenario threw. */
"failed";
export { ViolationKind };
