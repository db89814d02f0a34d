import { ProtocolDriver } from "../turn/driver.js";
/** A promise of every protocol's driver. `check` throws when it is broken. */
interface ProtocolLaw {
  readonly law: string;
  check(driver: ProtocolDriver): void;
}
declare const protocolLaws: readonly ProtocolLaw[];
export { ProtocolLaw, protocolLaws };
