// All code of background work behind one import, so that it loads together.
import { WATCH } from "../../kernel/monitor.ts";
import type { Core } from "../core.ts";
import { appJobs } from "../jobs/app.ts";
import { JobWorker } from "../jobs/job-worker.ts";
import { MonitorSupervisor } from "../monitors/monitor-supervisor.ts";
import { MonitorRun } from "../monitors/run.ts";
import { appTriggers } from "../triggers/app.ts";
import { Scheduler } from "../triggers/scheduler.ts";
import type { Rooms } from "./background.ts";

export const openRooms = (core: () => Core): Rooms => ({
  jobs: new JobWorker(core, { [WATCH]: (...claimed) => new MonitorRun(...claimed) }),
  monitors: new MonitorSupervisor(core),
  triggers: new Scheduler(core),
  appJobs: appJobs(core),
  appTriggers: appTriggers(core),
});
