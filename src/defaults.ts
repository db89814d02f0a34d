// The default members: the journal host where the store is durable and the inline one elsewhere, the tool-calls protocol,
// the AI SDK adapter. `createRuntime` loads this file, and the runtime with it, when it is called: a program that only
// defines tools and plugins does not need them.
import { inline } from "./hosts/inline.ts";
import { journal } from "./hosts/journal.ts";
import { toolCalls } from "./protocols/tool-calls/index.ts";
import { aiSdk } from "./providers/ai-sdk.ts";
import { isProvider } from "./providers/provider.ts";
import { openRuntime, type Runtime, type RuntimeOptions } from "./runtime/runtime.ts";

export const openWithDefaults = (options: RuntimeOptions): Promise<Runtime> =>
  openRuntime(options, {
    host: (store) => (store.isDurable ? journal() : inline()),
    protocol: toolCalls,
    adapt: (model) => (isProvider(model) ? model : aiSdk(model)),
  });
