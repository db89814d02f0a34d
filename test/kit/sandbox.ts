/** One sandbox for all runtimes of a file: its threads take longer to start than most tests take. */
import { definePlugin, type Plugin } from "bowline";
import { code } from "bowline/plugins/code";

type Spec = Parameters<typeof definePlugin>[0] & { open(given: object): unknown; close(shared: unknown): unknown };
const { spec } = Reflect.get(code, Symbol.for("bowline.plugin")) as { readonly spec: Spec };
const sandbox = spec.open({ options: {} });

/** The plugin that runs code, as it is installed without options. Close the sandbox after the tests. */
export const sharedCode: Plugin = definePlugin({ ...spec, open: () => sandbox as undefined, close: () => {} });
export const closeSandbox = async (): Promise<void> => void (await spec.close(await sandbox));
