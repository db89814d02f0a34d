// Stand-in until the real one is merged.
import { stripTypeScriptTypes } from "node:module";
import { parse } from "acorn";
import type { CellProblem } from "../sandbox.ts";

export const RESERVED = ["tools", "print", "finish", "sleep", "console", "setTimeout", "clearTimeout"];
export function compileCell(code: string): { readonly js: string } | { readonly problems: readonly CellProblem[] } {
  try {
    const js = stripTypeScriptTypes(code);
    const { body } = parse(js, { ecmaVersion: "latest", allowAwaitOutsideFunction: true });
    const out = [...js];
    for (const node of body) {
      if (node.type === "VariableDeclaration" && node.kind !== "var")
        out.splice(node.start, node.kind.length, ..."var".padEnd(node.kind.length));
      if (node.type === "ClassDeclaration") out[node.start] = `var ${node.id.name}=c`;
      if (node.type === "ClassDeclaration") out[node.end - 1] = "};";
    }
    return { js: out.join("") };
  } catch (error) {
    return { problems: [{ message: String(error), line: 1, column: 1 }] };
  }
}
