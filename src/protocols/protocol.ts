import type { ProtocolDriverSlot, ProtocolSession } from "../kernel/slots.ts";

/**
 * A protocol defines how a model acts: the requests that it gets, and the meaning of its replies. It is a plugin with
 * these two slots. Its driver must be pure, because a turn is resumed by running it again, and must give every call of
 * a reply exactly one result. `protocolLaws` in `bowline/testing` check both.
 */
export interface Protocol {
  readonly protocolSession: ProtocolSession;
  readonly protocolDriver: ProtocolDriverSlot;
}
