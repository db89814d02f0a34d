import { Json } from "../model/json.js";
/** Something worth knowing that is nobody's result: a late answer, a conflict of plugins, a skipped observer. */
interface TraceRecord {
  readonly at: number;
  readonly name: string;
  readonly sessionId?: string;
  readonly turnId?: string;
  readonly about: {
    readonly [key: string]: Json;
  };
}
/** The library never writes to the console; what a table calls "logged" comes here. It must not throw. */
type TraceSink = (record: TraceRecord) => void;
export { TraceRecord, TraceSink };
