/**
 * What a write survives. `process`: a killed process, always, and a power cut but for the latest writes. `power`: what
 * was acknowledged to someone (inputs, commits, changes, answers, cancels; of jobs their beginning, their end, and what
 * is sent to them or by them; subscriptions, and what has happened) survives a power cut; journal events, steps and lines
 * since may be lost. `power-all`: everything written survives one.
 */
type Strength = "process" | "power" | "power-all";
export { Strength };
