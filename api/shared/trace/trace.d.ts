import { Json, JsonObject } from "../model/json.js";
/**
 * A diagnostic that belongs to no result: a late answer that was dropped, a conflict between plugins, an observer that
 * was skipped.
 */
interface TraceRecord {
  readonly at: number;
  readonly name: string;
  readonly sessionId?: string;
  readonly turnId?: string;
  /** Where in the turn or in the job a plugin emitted it, as the plugin gives it: a call's id, a job's id. */
  readonly context?: JsonObject;
  readonly about: {
    readonly [key: string]: Json;
  };
}
/**
 * Receives diagnostics. The library never writes to the console: whatever the documentation calls "logged" comes here.
 * It must not throw.
 */
type TraceSink = (record: TraceRecord) => void;
export { TraceRecord, TraceSink };
