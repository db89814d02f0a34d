import { definePlugin, type Plugin } from "../../kernel/plugin.ts";
import { optionsSchema } from "../../model/options-schema.ts";
import type { PromptPart } from "../../model/prompt.ts";
import type { ToolDeclaration } from "../../model/request.ts";
import type { Protocol } from "../protocol.ts";
import { batchTool } from "./batch.ts";
import { driverFor } from "./driver.ts";

const protocol = (hasBatch: boolean): Protocol => ({
  protocolSession: {},
  protocolDriver: {
    driver: driverFor(hasBatch),
    preamble: ({ tools }) => ({ tools: tools.map(declared), prompt: documentation(tools) }),
  },
});
const PLAIN = protocol(false);
const WITH_BATCH = { ...protocol(true), tools: [batchTool] };

const declared = (tool: ToolDeclaration): ToolDeclaration => {
  if (tool.isDocumented !== true && tool.path === undefined && tool.outputSchema === undefined) return tool;
  const { name, description, inputSchema } = tool;
  return { name, description, inputSchema };
};

/** Puts documented tools into the prompt too, as one part that is removed with the last of them. */
function documentation(catalog: readonly ToolDeclaration[]): readonly PromptPart[] {
  const tools = catalog.filter(({ isDocumented }) => isDocumented === true);
  if (tools.length === 0) return [];
  const lines = tools.map(({ name, description, examples = [] }) =>
    [`- \`${name}\`: ${description}`, ...examples.map((each) => `  - \`${JSON.stringify(each)}\``)].join("\n"),
  );
  return [{ slot: "execution", title: "Tools", text: lines.join("\n"), tools: tools.map(({ name }) => name) }];
}

interface Options {
  /** Adds a tool with which the model makes up to 25 independent calls in one. Default: false. */
  readonly batch?: boolean | undefined;
}

const plugin = definePlugin({
  id: "bowline/tool-calls",
  version: "1",
  options: optionsSchema<Options, { readonly batch: boolean }>((given) => {
    given.only("batch");
    return { batch: given.flag("batch", false) };
  }),
  setup: ({ options: { batch } }) => (batch ? WITH_BATCH : PLAIN),
});

/** The default protocol: the model uses the provider's tool calls until it answers. */
export const toolCalls = (given: Options = {}): Plugin => plugin(given);
