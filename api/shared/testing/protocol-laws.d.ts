import { ProtocolDriver } from "../turn/driver.js";
/** What every protocol's driver promises. `check` throws when the promise is broken. */
interface ProtocolLaw {
  readonly law: string;
  check(driver: ProtocolDriver): void;
}
declare const protocolLaws: readonly ProtocolLaw[];
export { ProtocolLaw, protocolLaws };
