import { Awaitable } from "../../../model/awaitable.js";
import { Engine, Finding } from "../port.js";
interface CheckOptions {
  /** Maximum number of findings. Default: 100. */
  readonly max?: number;
  /** Also runs slow checks: on SQLite each index is compared with its table. */
  readonly deep?: boolean;
}
/** Reads the whole store as of one moment and returns what is damaged. */
declare const checkStore: (engine: Pick<Engine, "read">, options?: CheckOptions) => Awaitable<readonly Finding[]>;
export { CheckOptions, checkStore };
