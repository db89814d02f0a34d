import { isDeepStrictEqual } from "node:util";
import { definePlugin } from "../../kernel/plugin.ts";
import type { ProtocolDriverSlot } from "../../kernel/slots.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { ToolDeclaration } from "../../model/request.ts";
import { declare } from "./declarations.ts";
import { driver } from "./driver.ts";
import { type Ending, ending, extended, OPTIONS, type Settings, storedOptions } from "./options.ts";
import { prose } from "./prose.ts";
import { TEXTS } from "./texts.ts";

export { type CodeModeOptions, type Ending, ending } from "./options.ts";

/**
 * Code mode: the model acts by writing TypeScript, one cell per reply, which `bowline/plugins/code` runs. Install both:
 * `plugins: [codeMode, code]`. It replaces the default protocol.
 */
export const codeMode = definePlugin({
  id: "bowline/code-mode",
  options: OPTIONS,
  setup: ({ options: settings }) => ({
    protocolSession: {
      configure: ({ options }) => {
        const before = options.get();
        const now = storedOptions(settings, before);
        // Set only if they changed, because setting them causes a write.
        if (!isDeepStrictEqual(before, now)) options.setAll(now);
      },
      extend: ({ extension, options }) => {
        if (extension.id !== ending.id)
          throw new RuntimeError("protocol.extension", { protocol: driver.id, extension: extension.id });
        options.set(extended(options.get(), extension.value));
      },
    },
    protocolDriver: slotFor(settings),
    proseProjector: prose,
    extensions: [ending],
  }),
});

/** Cached for all sessions with the same settings, together with its declarations of a catalog. */
function slotFor({ ending: usual, declarationCharsMax }: Settings): ProtocolDriverSlot {
  const key = `${usual} ${declarationCharsMax}`;
  let slot = SLOTS.get(key);
  if (slot === undefined) {
    slot = { driver, preamble: ({ tools }) => ({ tools: [], prompt: promptOf(tools, usual, declarationCharsMax) }) };
    SLOTS.set(key, slot);
  }
  return slot;
}
const SLOTS = new Map<string, ProtocolDriverSlot>();

function promptOf(tools: readonly ToolDeclaration[], usual: Ending, charsMax: number) {
  const { text, left } = declare(tools, { charsMax });
  const more = left === 0 ? "" : `\n\n${TEXTS.moreTools(left)}`;
  const declared = tools.length === 0 ? TEXTS.noTools : `${text}${more}`;
  return [
    { slot: "execution", title: "How you act", text: TEXTS.how(usual === "prose") },
    { slot: "execution", title: "Tools", text: declared },
  ] as const;
}
