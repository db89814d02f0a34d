// The default members: the journal host for a durable store and the inline host for others, the tool-calls protocol,
// and the AI SDK adapter. `createRuntime` loads this file, and the runtime with it, when it is called: a program that
// only defines tools and plugins does not need them. The journal host and the adapter are loaded on first use.
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
