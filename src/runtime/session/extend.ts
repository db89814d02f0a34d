import { type ExtensionValue, keptExtension } from "../../kernel/extension.ts";
import { RuntimeError } from "../../model/errors.ts";
import type { LiveSession } from "./session.ts";

/** Gives an extension to the protocol, between turns. What of it has to last, the protocol keeps itself. */
export async function extend(session: LiveSession, value: ExtensionValue): Promise<void> {
  const { core, id, ancestors, slot } = session;
  const { hooks, extensions } = session.composition;
  const extension = keptExtension(extensions, value, core.limits.inputBytesMax);
  if (hooks.slot("protocolSession")?.extend === undefined)
    throw new RuntimeError("protocol.extension", { protocol: slot.driver.id, extension: extension.id });
  const context = { sessionId: id, isRoot: ancestors.length === 0, extension };
  await session.exclusive("extend", () =>
    hooks.inSlot("protocolSession", "extend", (protocol) => protocol.extend?.(context)),
  );
}
