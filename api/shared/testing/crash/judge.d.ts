type ViolationKind =
/** An input that was accepted is not in the graph, or a job that something started is not there. */
"lost" |
/** An effect, or a step of a job, ran again although it was recorded, or although its tool forbids it. */
"repeated" |
/** An input is in the graph, an end or a step in a job, or a time in what a schedule has done, more than once. */
"doubled" |
/** An effect ran before what released it was durable. */
"early" |
/** A call without its one result. */
"unpaired" |
/** The final graph, outcomes, plugin states, jobs or triggers differ from those of the run without a kill. */
"different" |
/** A turn or a job has no end, a slot is still held, or a process did not end. */
"stuck" |
/** The scenario threw. */
"failed";
export { ViolationKind };
