import { CrashBackend } from "./backends/backend.js";
/** The backends of the kit by name. Your own backend may extend one, for example with another host. */
declare const crashBackends: {
  readonly sqlite: CrashBackend;
  readonly amnesiac: CrashBackend;
};
type CrashBackendName = keyof typeof crashBackends;
export { CrashBackendName, crashBackends };
