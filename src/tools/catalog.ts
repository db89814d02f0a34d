import { createHash } from "node:crypto";
import type { CatalogEdit, Owned } from "../kernel/hooks.ts";
import { RuntimeError } from "../model/errors.ts";
import { asBlobHash, type BlobHash } from "../model/ids.ts";
import type { ToolDeclaration } from "../model/request.ts";
import type { Tool } from "../model/tool.ts";

/** The tools of a session, and what the model is told of them. */
export interface Catalog {
  readonly declarations: readonly ToolDeclaration[];
  find(name: string): Owned<Tool> | undefined;
  readonly names: readonly string[];
}

/** The owner of tools that the app gave to the runtime itself. */
export const APP = "app";

export function composeCatalog(tools: readonly Owned<Tool>[], edits: readonly Owned<CatalogEdit>[]): Catalog {
  const byName = new Map<string, Owned<Tool>>();
  for (const tool of tools) {
    const before = byName.get(tool.value.name);
    if (before !== undefined)
      throw new RuntimeError("tool.duplicate", { name: tool.value.name, sources: [before.plugin, tool.plugin] });
    byName.set(tool.value.name, tool);
  }
  const descriptions = new Map<string, string>();
  for (const { value: edit } of edits) {
    if (edit.hide === true) byName.delete(edit.tool);
    if (edit.description !== undefined) descriptions.set(edit.tool, edit.description);
  }
  const declarations = [...byName.values()].map(({ value: tool }) => ({
    name: tool.name,
    description: descriptions.get(tool.name) ?? tool.description,
    inputSchema: tool.inputSchema,
  }));
  return { declarations, names: [...byName.keys()], find: (name) => byName.get(name) };
}

export const hashOf = (content: string | Uint8Array): BlobHash =>
  asBlobHash(createHash("sha256").update(content).digest("base64url"));
