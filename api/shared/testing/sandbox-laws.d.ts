import { SandboxLaw } from "./sandbox-cast.js";
declare const sandboxLaws: readonly SandboxLaw[];
export { sandboxLaws };
