import type { ModelRequest } from "../../model/request.ts";
import { ProviderFailure } from "../../model/request.ts";
import type { Provider } from "../../providers/provider.ts";
import type { Reply } from "../../providers/scripted.ts";

/**
 * A model that finds its place in the conversation: its first reply if there is none yet, its second after one, and so
 * on. So it continues after a restart, which `scripted` does not.
 */
export const recited = (...replies: readonly Reply[]): Provider => ({
  id: "recited",
  modelId: "test",
  async *stream(request: ModelRequest, { signal }) {
    const place = request.messages.filter(({ role }) => role === "assistant").length;
    const reply = replies[place];
    const parts = typeof reply === "function" ? reply(request) : reply;
    if (parts === undefined)
      throw new ProviderFailure({ class: "unknown", message: `There is no reply ${place + 1}.` });
    if (parts instanceof ProviderFailure) throw parts;
    for (const part of parts) {
      if (signal.aborted) throw new ProviderFailure({ class: "cancelled", message: "Aborted." });
      yield part;
    }
  },
});
