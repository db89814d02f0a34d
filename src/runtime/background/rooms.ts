// Everything that background work needs: one file, so that it is loaded whole.
import { WATCH } from "../../kernel/monitor.ts";
import type { Core } from "../core.ts";
import { appJobs } from "../jobs/app.ts";
import { Desk } from "../jobs/desk.ts";
import { MonitorDesk } from "../monitors/desk.ts";
import { MonitorRun } from "../monitors/run.ts";
import { appTriggers } from "../triggers/app.ts";
import { TriggerDesk } from "../triggers/desk.ts";
import type { Rooms } from "./background.ts";

export const openRooms = (core: () => Core): Rooms => ({
  jobs: new Desk(core, { [WATCH]: (...claimed) => new MonitorRun(...claimed) }),
  monitors: new MonitorDesk(core),
  triggers: new TriggerDesk(core),
  appJobs: appJobs(core),
  appTriggers: appTriggers(core),
});
