import { Sandbox } from "../sandbox/sandbox.js";
/** A promise of every sandbox. `check` throws when it is broken. It may be given the same sandbox as other laws. */
interface SandboxLaw {
  readonly law: string;
  /** `another` makes a second sandbox of the same kind, as another process would. */
  check(sandbox: Sandbox, another: () => Sandbox): Promise<void>;
}
export { SandboxLaw };
