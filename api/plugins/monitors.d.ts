import { MonitorsOptions } from "../shared/plugins/monitors/options.js";
import { PluginFactory } from "../shared/kernel/plugin.js";
/** Lets the model start and stop shell commands, and sends it their lines as messages. */
declare const monitors: PluginFactory<MonitorsOptions, object>;
export { type MonitorsOptions, monitors };
