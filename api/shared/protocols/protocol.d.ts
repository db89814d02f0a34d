import { ProtocolDriverSlot, ProtocolSession } from "../kernel/slots.js";
/**
 * How a model acts: a plugin that fills these two slots. Its driver must be pure (`protocolLaws` in `bowline/testing`
 * calls every function twice on frozen input), and must show every call of a reply exactly one result.
 */
interface Protocol {
  readonly protocolSession: ProtocolSession;
  readonly protocolDriver: ProtocolDriverSlot;
}
export { Protocol };
