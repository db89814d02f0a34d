// `tools.search(words)`: finds tools. It opens the searchable ones for the following cells.
import { type CodeContext, hasCode, type Json, type ToolManifest } from "../../protocol.ts";
import { calleeOf } from "../../sandbox/quickjs/index.ts";
import { codeSignature, cutAt, toolIndexer } from "../../tools/search/index.ts";
import { TEXTS } from "./texts.ts";
import { CodeTools, isCallable } from "./tools.ts";

type SearchContext = Pick<CodeContext<unknown>, "catalog" | "membership">;

const FOUND_MAX = 8;
const DESCRIPTION_CHARS_MAX = 600;
const SIGNATURE_CHARS_MAX = 1_200;

const indexOf = toolIndexer();

/** `values`: names of values. They are not modules of tools. */
export async function searchTools(
  words: string,
  { catalog, membership }: SearchContext,
  values: readonly string[],
): Promise<Json> {
  const all = catalog.list();
  const opened = new Set<string>();
  const found: ToolManifest[] = [];
  for (const manifest of indexOf(all).rank(words, all)) {
    if (found.length === FOUND_MAX) break;
    const isOpen = isCallable(manifest);
    if (!isOpen && !isOpened(membership, manifest.name)) continue;
    if (!isOpen) opened.add(manifest.name);
    found.push(manifest);
  }
  // The names in the next cell: opening a tool can change which tools share a module.
  const tools = new CodeTools(
    all.map((each) => (opened.has(each.name) ? { ...each, availability: "callable" } : each)),
    values,
  );
  const lines = await Promise.all(
    found.map(async ({ name, description }) => {
      const declared = await catalog.describe(name);
      if (declared === undefined) return undefined;
      const call = calleeOf(tools.pathOf(name));
      return {
        call,
        description:
          description.length > DESCRIPTION_CHARS_MAX
            ? `${cutAt(description, DESCRIPTION_CHARS_MAX - 1)}…`
            : description,
        signature: codeSignature(call, declared.inputSchema, declared.outputSchema, SIGNATURE_CHARS_MAX),
        ...(opened.has(name) ? { note: TEXTS.opened } : {}),
      };
    }),
  );
  return lines.filter((each) => each !== undefined);
}

/** False for a tool that no longer exists, or belongs to this turn only. */
function isOpened(membership: SearchContext["membership"], name: string): boolean {
  try {
    membership.set(name, "callable");
    return true;
  } catch (error) {
    if (hasCode(error, "tool.unknown")) return false;
    throw error;
  }
}
