import { JobsOptions, TaskOffer } from "../shared/plugins/jobs/options.js";
import { PluginFactory } from "../shared/kernel/plugin.js";
/**
 * Lets the model see the background jobs of its session, wait for them and stop them, and with `tasks` also start and
 * signal some. The model does not see hidden jobs.
 */
declare const jobs: PluginFactory<JobsOptions, object>;
export { type JobsOptions, type TaskOffer, jobs };
