type ViolationKind =
/** An input that was accepted is not in the graph. */
"lost" |
/** An effect ran again though its answer was recorded, or though its tool says that it must not. */
"repeated" |
/** An input is in the graph more than once. */
"doubled" |
/** An effect ran before what released it was durable. */
"early" | "unpaired" |
/** The final graph, the outcomes or the plugin states are not those of the run without a kill. */
"different" |
/** A turn without an end, a slot that is held, a process that never ended. */
"stuck" |
/** The scenario itself threw. */
"failed";
export { ViolationKind };
