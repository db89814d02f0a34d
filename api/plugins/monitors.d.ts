import { MonitorsOptions } from "../shared/plugins/monitors/options.js";
import { PluginFactory } from "../shared/kernel/plugin.js";
/** Lets the model watch shell commands, whose lines come to it as messages, and stop them. */
declare const monitors: PluginFactory<MonitorsOptions, object>;
export { type MonitorsOptions, monitors };
