import { definePlugin, type Plugin } from "../../kernel/plugin.ts";
import type { Protocol } from "../protocol.ts";
import { driver } from "./driver.ts";

const PROTOCOL: Protocol = {
  protocolSession: {},
  protocolDriver: { driver, preamble: (catalog) => ({ tools: catalog, prompt: [] }) },
};

const plugin = definePlugin({ id: "bowline/tool-calls", version: "1", setup: () => PROTOCOL });

/** The native loop: the model calls tools by the provider's own means until it answers. The default protocol. */
export const toolCalls = (): Plugin => plugin();
