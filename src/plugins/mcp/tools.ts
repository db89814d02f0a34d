import { createHash } from "node:crypto";
import type { Json, JsonSchema, ToolManifest } from "../../plugin.ts";
import type { Settings } from "./options.ts";
import { refusal } from "./schema.ts";

/** A tool in a server's list: the fields that are used. */
export interface Listed {
  /** The server's name for the tool. */
  readonly tool: string;
  /** The model's name for the tool. */
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly hints: { readonly [hint: string]: boolean };
}
export interface Skipped {
  readonly tool: string;
  readonly reason: string;
}
export interface Toolbox {
  readonly tools: ReadonlyMap<string, Listed>;
  readonly skipped: readonly Skipped[];
  /** Equal for equal tools, so that sessions are notified only of real changes. */
  readonly fingerprint: string;
}

export const NO_TOOLS: Toolbox = { tools: new Map(), skipped: [], fingerprint: "[]" };

export const TOOLS_MAX = 5_000;
const DESCRIPTION_MAX = 8_192;
const TOOL_NAME_MAX = 256;
const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"] as const;

/** The tools that a server lists, by their names for the model. Tools that cannot be used are in `skipped`. */
export function toolbox(
  server: string,
  listed: readonly unknown[],
  settings: Pick<Settings, "include" | "exclude">,
): Toolbox {
  const skipped: Skipped[] = [];
  const found = new Map<string, Omit<Listed, "name">>();
  for (const given of listed) {
    const read = readTool(given);
    if ("reason" in read) skipped.push(read);
    else if (settings.include?.includes(read.tool) === false || settings.exclude.includes(read.tool)) continue;
    else if (found.has(read.tool)) skipped.push({ tool: read.tool, reason: "it is listed twice" });
    else if (found.size === TOOLS_MAX) skipped.push({ tool: read.tool, reason: `more than ${TOOLS_MAX} are listed` });
    else found.set(read.tool, read);
  }
  const names = namesFor(server, [...found.keys()]);
  const tools = [...found.values()].map((tool): Listed => ({ ...tool, name: names.get(tool.tool) as string }));
  return { tools: new Map(tools.map((tool) => [tool.name, tool])), skipped, fingerprint: JSON.stringify(tools) };
}

function readTool(given: unknown): Omit<Listed, "name"> | Skipped {
  if (typeof given !== "object" || given === null) return { tool: "?", reason: "it is no object" };
  const { name, title, description, inputSchema, annotations } = given as { readonly [field: string]: unknown };
  if (typeof name !== "string" || name === "") return { tool: "?", reason: "it has no name" };
  if (name.length > TOOL_NAME_MAX)
    return { tool: `${name.slice(0, 64)}…`, reason: `its name has more than ${TOOL_NAME_MAX} characters` };
  const reason = refusal(inputSchema);
  if (reason !== undefined) return { tool: name, reason };
  const words = [description, title, name].find((text) => typeof text === "string" && text.trim() !== "") as string;
  const hints = (annotations ?? {}) as { readonly [hint: string]: unknown };
  return {
    tool: name,
    description: words.length > DESCRIPTION_MAX ? `${words.slice(0, DESCRIPTION_MAX)}…` : words,
    inputSchema: inputSchema as JsonSchema,
    hints: Object.fromEntries(HINTS.flatMap((hint) => (typeof hints[hint] === "boolean" ? [[hint, hints[hint]]] : []))),
  };
}

const NAME_MAX = 64;
const HASH = 8;
const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, HASH);

/**
 * Names of the form `mcp__<server>__<tool>`, in the characters and the length that models allow. A name gets a hash of
 * the original at its end if it is too long, or if a change made it equal to another name. So the order of the server's
 * list does not matter.
 */
export function namesFor(server: string, tools: readonly string[]): ReadonlyMap<string, string> {
  const prefix = `mcp__${server}__`;
  const room = NAME_MAX - prefix.length;
  const plain = (tool: string): string => tool.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  const hashed = (tool: string): string => `${plain(tool).slice(0, room - HASH - 1)}_${hashOf(tool)}`;
  const uses = new Map<string, number>();
  for (const tool of tools) uses.set(plain(tool), (uses.get(plain(tool)) ?? 0) + 1);
  return new Map(
    tools.map((tool) => {
      const short = plain(tool);
      const isFree = short.length <= room && (short === tool || uses.get(short) === 1);
      return [tool, prefix + (isFree ? short : hashed(tool))];
    }),
  );
}

/** A tool without its schema. `bindings` has a hash of the schema, so that a changed schema changes the manifest. */
export const manifestOf = (
  server: string,
  { tool, name, description, hints, inputSchema }: Listed,
  settings: Settings,
): ToolManifest => ({
  name,
  description,
  ...(settings.availability === undefined ? {} : { availability: settings.availability }),
  bindings: { server, tool, schema: hashOf(JSON.stringify(inputSchema)), ...hints } satisfies { [key: string]: Json },
});
