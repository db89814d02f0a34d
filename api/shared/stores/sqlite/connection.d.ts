/**
 * What a write survives. Every setting survives a killed process. `process`: a power cut may lose the latest writes.
 * `power`: acknowledged writes survive a power cut (inputs, commits, changes, answers, cancels; of jobs their start,
 * their end, and the events sent to them or by them; subscriptions and occurrences); later journal events, steps and
 * lines may be lost. `power-all`: every write survives a power cut.
 */
type Durability = "process" | "power" | "power-all";
export { Durability };
