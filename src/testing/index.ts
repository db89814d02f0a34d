export { both, calls, cut, ends, type Scripted, says, scripted, thinks } from "../providers/scripted.ts";
export { amnesiac } from "./amnesiac.ts";
export {
  type CrashBackend,
  type CrashOptions,
  CrashReport,
  type CrashRow,
  type CrashWorld,
  crashBackends,
  crashTest,
  type DefinedScenario,
  defineScenario,
  type OpenedBackend,
  type Picture,
  postgresBackend,
  recited,
  type Scenario,
  type Trial,
  type TrialResources,
  type Violation,
  type ViolationKind,
} from "./crash.ts";
export { type HostFixture, type HostLaw, hostLaws, type LawWorld } from "./host-laws.ts";
export { type ProtocolLaw, protocolLaws } from "./protocol-laws.ts";
export { type MakeProvider, type ProviderLaw, providerLaws } from "./provider-laws.ts";
export type { SandboxLaw } from "./sandbox-cast.ts";
export { sandboxLaws } from "./sandbox-laws.ts";
export { type StoreLaw, storeLaws } from "./store-laws.ts";
export { type SimulatedWorld, simulatedWorld } from "./world.ts";
