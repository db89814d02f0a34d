export { both, calls, cut, ends, type Scripted, says, scripted, thinks } from "../providers/scripted.ts";
export { amnesiac } from "./amnesiac.ts";
export {
  type CrashOptions,
  CrashReport,
  type CrashRow,
  type CrashWorld,
  crashTest,
  type DefinedScenario,
  defineScenario,
  type OpenedPlace,
  type Picture,
  type Place,
  places,
  postgresPlace,
  recited,
  type Scenario,
  type Trial,
  type TrialPlace,
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
