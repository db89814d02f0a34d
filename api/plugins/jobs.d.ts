import { JobsOptions } from "../shared/plugins/jobs/options.js";
import { PluginFactory } from "../shared/kernel/plugin.js";
/** Lets the model see the background jobs of its session, wait for them and stop them. It is not shown hidden ones. */
declare const jobs: PluginFactory<JobsOptions, object>;
export { type JobsOptions, jobs };
