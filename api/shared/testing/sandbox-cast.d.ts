import { Sandbox } from "../sandbox/sandbox.js";
/** A promise of every sandbox. `check` throws if it is broken. Laws may share a sandbox. */
interface SandboxLaw {
  readonly law: string;
  /** `another` creates a second sandbox of the same kind, as another process would. */
  check(sandbox: Sandbox, another: () => Sandbox): Promise<void>;
}
export { SandboxLaw };
