// Reads declarations from the sources, for the generated pages. It depends on the format of the sources. If it cannot
// read one, a test of the pages fails.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../", import.meta.url));
export const sourceOf = (file) => readFileSync(join(root, file), "utf8");

/** Interfaces and types by name: `{ file, text }`, the text as it is written, without `export`. */
export function declarations(pattern) {
  const found = new Map();
  for (const file of globSync(pattern, { cwd: root }).sort()) {
    if (file.endsWith(".test.ts")) continue;
    const text = sourceOf(file);
    for (const match of text.matchAll(/^(?:export )?(interface|type) (\w+)(?= |<)/gm)) {
      const body = text.slice(match.index).replace(/^export /, "");
      const declared = match[1] === "interface" ? upToBrace(body) : upToSemicolon(body);
      found.set(match[2], { file, text: withMembers(declared, text) });
    }
  }
  return found;
}

/** Replaces `(typeof SLOTS)[number]` by the texts in that list. */
const withMembers = (declared, text) =>
  declared.replace(/\(typeof (\w+)\)\[number\]/, (written, name) => {
    const [, members] = new RegExp(`const ${name} = \\[([^\\]]*)\\] as const`).exec(text) ?? [];
    return members?.trim().replace(/,$/, "").replaceAll(/,\s*/g, " | ") ?? written;
  });

const upToBrace = (text) => text.slice(0, text.search(/^\}$/m) + 1);

/** A type ends with the first semicolon outside of brackets and comments. */
function upToSemicolon(text) {
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    if (text.startsWith("/*", at)) at = text.indexOf("*/", at) + 1;
    else if ("{([".includes(text[at])) depth++;
    else if ("})]".includes(text[at])) depth--;
    else if (text[at] === ";" && depth === 0) return text.slice(0, at + 1);
  }
  throw new Error(`A type has no end: ${text.slice(0, 80)}`);
}

/** The fields of an interface, `{ name, type, isOptional, words }`, with their comments. */
export function fieldsOf(text) {
  const field = /^ {2}(?:\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\n {2})?readonly (\w+)(\??): ([\s\S]*?);$/gm;
  return Array.from(text.matchAll(field), ([, comment = "", name, optional, type]) => ({
    name,
    type: inOneLine(type).replace(/ \| undefined$/, ""),
    isOptional: optional === "?",
    words: comment.replace(/\s*\n\s*\* ?/g, " ").trim(),
  }));
}

export const inOneLine = (text) => text.replace(/\s+/g, " ").trim();

/** A row of a table. Escapes `|`, because it would end a cell. */
export const row = (...cells) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
export const table = (head, rows) => [row(...head), row(...head.map(() => "---")), ...rows].join("\n");
