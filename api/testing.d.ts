import { CrashBackend, OpenedBackend, TrialResources } from "./shared/testing/crash/backends/backend.js";
import { CrashOptions, DefinedScenario, Scenario, crashTest, defineScenario } from "./shared/testing/crash.js";
import { CrashReport, CrashRow, Violation } from "./shared/testing/crash/report.js";
import { CrashWorld } from "./shared/testing/crash/life.js";
import { HostFixture, HostLaw, LawWorld, hostLaws } from "./shared/testing/host-laws.js";
import { MakeProvider, ProviderLaw, providerLaws } from "./shared/testing/provider-laws.js";
import { Picture } from "./shared/testing/crash/picture.js";
import { ProtocolLaw, protocolLaws } from "./shared/testing/protocol-laws.js";
import { SandboxLaw } from "./shared/testing/sandbox-cast.js";
import { Scripted, both, calls, cut, ends, says, scripted, thinks } from "./providers/scripted.js";
import { SimulatedWorld, simulatedWorld } from "./shared/testing/world.js";
import { StoreLaw } from "./shared/testing/law.js";
import { Trial } from "./shared/testing/crash/plan.js";
import { ViolationKind } from "./shared/testing/crash/judge.js";
import { amnesiac } from "./shared/testing/amnesiac.js";
import { crashBackends } from "./shared/testing/crash/backends.js";
import { postgresBackend } from "./shared/testing/crash/backends/postgres.js";
import { recited } from "./shared/testing/crash/recited.js";
import { sandboxLaws } from "./shared/testing/sandbox-laws.js";
import { storeLaws } from "./shared/testing/store-laws.js";
export {
  type CrashBackend,
  type CrashOptions,
  CrashReport,
  type CrashRow,
  type CrashWorld,
  type DefinedScenario,
  type HostFixture,
  type HostLaw,
  type LawWorld,
  type MakeProvider,
  type OpenedBackend,
  type Picture,
  type ProtocolLaw,
  type ProviderLaw,
  type SandboxLaw,
  type Scenario,
  type Scripted,
  type SimulatedWorld,
  type StoreLaw,
  type Trial,
  type TrialResources,
  type Violation,
  type ViolationKind,
  amnesiac,
  both,
  calls,
  crashBackends,
  crashTest,
  cut,
  defineScenario,
  ends,
  hostLaws,
  postgresBackend,
  protocolLaws,
  providerLaws,
  recited,
  sandboxLaws,
  says,
  scripted,
  simulatedWorld,
  storeLaws,
  thinks,
};
