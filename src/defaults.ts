// The default members: the journal host where the store is durable and the inline one elsewhere, the tool-calls protocol,
// the AI SDK adapter. `createRuntime` loads this file, and the runtime with it, when it is called: a program that only
// defines tools and plugins does not need them. The journal host and the adapter are loaded where they are used.
import { inline } from "./hosts/inline.ts";
import { toolCalls } from "./protocols/tool-calls/index.ts";
import { isProvider } from "./providers/provider.ts";
import { openRuntime, type Runtime, type RuntimeOptions } from "./runtime/runtime.ts";

export const openWithDefaults = (options: RuntimeOptions): Promise<Runtime> =>
  openRuntime(options, {
    host: async ({ isDurable }) => (isDurable ? (await import("./hosts/journal.ts")).journal() : inline()),
    protocol: toolCalls,
    adapt: async (model) => (isProvider(model) ? model : (await import("./providers/ai-sdk.ts")).aiSdk(model)),
  });
