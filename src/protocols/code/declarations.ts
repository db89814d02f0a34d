import type { ToolDeclaration } from "../../model/request.ts";
export const declare = (tools: readonly ToolDeclaration[], _: { charsMax: number }) => ({
  text: tools.map(({ name }) => `tools.${name}`).join("\n"),
  shown: tools.length,
  left: 0,
});
