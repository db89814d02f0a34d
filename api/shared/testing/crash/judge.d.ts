type ViolationKind =
/** An accepted input is missing in the graph, or a started job does not exist. */
"lost" |
/** An effect or a step of a job ran again although it was recorded, or although its tool forbids it. */
"repeated" |
/** An input in the graph, an end or a step of a job, or an occurrence of a schedule exists more than once. */
"doubled" |
/** An effect ran before the event that released it was durable. */
"early" |
/** A call does not have exactly one result. */
"unpaired" |
/** The final graph, outcomes, plugin states, jobs or triggers differ from those of the run without a kill. */
"different" |
/** A turn or a job has no end, a lease is still held, or a process did not end. */
"stuck" |
/** The scenario threw. */
"failed";
export { ViolationKind };
