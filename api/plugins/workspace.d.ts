import { PluginFactory } from "../shared/kernel/plugin.js";
import { ShellOptions, WorkspaceOptions } from "../shared/plugins/workspace/options.js";
import { ShellResult } from "../shared/plugins/workspace/shell.js";
/** Gives the model tools for the files of one folder and, as an option, a shell that starts in this folder. */
declare const workspace: PluginFactory<WorkspaceOptions, object>;
export { type ShellOptions, type ShellResult, type WorkspaceOptions, workspace };
