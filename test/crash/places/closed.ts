import { type CrashBackend, crashBackends } from "bowline/testing";

/** A place that nobody can open. */
export default {
  ...crashBackends.sqlite,
  open() {
    throw new Error("no server listens at port 5433");
  },
} satisfies CrashBackend;
