// Declares the tools as TypeScript that a model reads before it writes code: `declare const files: { … }`. Pure, and
// equal for equal tools, because a provider caches the prompt.
import { isObject, type Json } from "../../model/json.ts";
import type { ToolDeclaration } from "../../model/request.ts";
import { calleeOf, toolPaths } from "../../model/tool-path.ts";
import { onOneLine, quoted, WORDS } from "./comments.ts";
import { typeOf } from "./types.ts";

export interface DeclareOptions {
  /** Maximum characters of the text. */
  readonly charsMax: number;
}

export interface Declared {
  readonly text: string;
  /** The number of tools in the text, including those with only a name. */
  readonly shown: number;
  /** The number of omitted tools. */
  readonly left: number;
}

/**
 * Declares tools in full while they fit, documented ones first. Tools that do not fit are declared in a short form,
 * then only by name, then omitted. If space is short, no tool takes more than a quarter of it, or more than its share
 * if there are fewer than four.
 */
export function declare(tools: readonly ToolDeclaration[], { charsMax }: DeclareOptions): Declared {
  const paths = toolPaths(tools);
  const entries = tools.map((tool) => new Entry(tool, paths.pathOf(tool.name), Math.min(charsMax, TOOL_CHARS_MAX)));
  const whole = new Page(entries, charsMax);
  whole.upgrade("full", 1);
  if (whole.shown === tools.length) return { text: whole.text(), shown: tools.length, left: 0 };
  const toolMax = Math.min(charsMax / Math.min(4, tools.length), TOOL_CHARS_MAX);
  const page = new Page(
    entries.map((entry) => entry.inBrief(toolMax)),
    charsMax,
  );
  // Names are so short that most tools get one before any gets more. Full declarations get the remaining space.
  page.upgrade("name", 1 / 4);
  page.upgrade("full", 3 / 4);
  page.upgrade("short", 1);
  page.upgrade("name", 1);
  page.upgrade("full", 1);
  return { text: page.text(), shown: page.shown, left: tools.length - page.shown };
}

const FORMS = ["name", "short", "full"] as const;
type Form = (typeof FORMS)[number];

/** Tools without a module are properties of this. */
const TOOLS = "tools";

class Page {
  readonly #modules = new Map<string, Entry[]>();
  readonly #ranked: readonly Entry[];
  readonly #charsMax: number;
  readonly #forms = new Map<Entry, Form>();
  /** Frames that are already counted: a block around entries, or a line of names. */
  readonly #frames = new Set<string>();
  /** The maximum length of the text. Each frame is counted with a line break; the text has one less. */
  #chars = -BREAK.length;

  constructor(entries: readonly Entry[], charsMax: number) {
    for (const entry of entries) {
      const others = this.#modules.get(entry.module);
      if (others === undefined) this.#modules.set(entry.module, [entry]);
      else others.push(entry);
    }
    this.#ranked = entries.toSorted((a, b) => Number(b.isFirst) - Number(a.isFirst));
    this.#charsMax = charsMax;
  }

  get shown(): number {
    return this.#forms.size;
  }

  /**
   * Upgrades as many tools to this form as fit, and fills at most this share. Skips tools that already have a longer
   * form.
   */
  upgrade(form: Form, share: number): void {
    for (const entry of this.#ranked) {
      const before = this.#forms.get(entry);
      if (before !== undefined && FORMS.indexOf(before) >= FORMS.indexOf(form)) continue;
      const frame = frameOf(entry.module, form);
      const chars =
        this.#chars +
        (this.#frames.has(frame) ? 0 : frame.length + BREAK.length) +
        charsOf(entry, form) -
        (before === undefined ? 0 : charsOf(entry, before));
      if (chars > this.#charsMax * share) continue;
      this.#chars = chars;
      this.#frames.add(frame);
      this.#forms.set(entry, form);
    }
  }

  text(): string {
    return [...this.#modules]
      .toSorted(([a], [b]) => Number(a === TOOLS) - Number(b === TOOLS))
      .map(([module, entries]) => this.#block(module, entries))
      .filter((text) => text !== "")
      .join(BREAK);
  }

  #block(module: string, entries: readonly Entry[]): string {
    const declared = entries.filter((entry) => !["name", undefined].includes(this.#forms.get(entry)));
    const named = entries.filter((entry) => this.#forms.get(entry) === "name");
    const lines = declared.map((entry) => `\n${entry[this.#forms.get(entry) as Form]}`);
    return [
      ...(lines.length === 0 ? [] : [frameOf(module, "full").replace("\n", () => `${lines.join("")}\n`)]),
      ...(named.length === 0 ? [] : [frameOf(module, "name") + named.map(({ name }) => name).join(SEPARATOR)]),
    ].join("\n");
  }
}

const BREAK = "\n\n";
const SEPARATOR = ", ";

/** The length of an entry with its separator. */
const charsOf = (entry: Entry, form: Form): number => entry[form].length + (form === "name" ? SEPARATOR : "\n").length;

/** Returns the text around entries. */
function frameOf(module: string, form: Form): string {
  if (form === "name") return WORDS.names(module);
  return `declare const ${module}: {\n};`; // A namespace could not contain a function called `delete`.
}

// ── One tool ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** A longer declaration does not help the model, however much space there is. */
const TOOL_CHARS_MAX = 10_000;
const DESCRIPTION_CHARS_MAX = 3_000;
const LINE_CHARS_MAX = 600;
const PARAGRAPH_CHARS_MAX = 600;
const SENTENCE_CHARS_MAX = 160;
const EXAMPLES_MAX = 4;
const EXAMPLE_CHARS_MAX = 400;
const INDENT = 2;

/** A tool in each form. */
class Entry implements Readonly<Record<Form, string>> {
  readonly module: string;
  readonly isFirst: boolean;
  readonly name: string;
  readonly full: string;
  readonly #tool: ToolDeclaration;
  readonly #path: string;
  readonly #paragraph: string;
  readonly #begin: string;
  #short: string | undefined;

  /** `isBrief`: only the first paragraph of its description, even if there is space for more. */
  constructor(tool: ToolDeclaration, path: string, charsMax: number, isBrief = false) {
    const callee = calleeOf(path);
    const dot = path.indexOf(".");
    this.#tool = tool;
    this.#path = path;
    this.#paragraph = firstParagraph(tool.description);
    this.module = dot < 0 ? TOOLS : path.slice(0, dot);
    this.isFirst = tool.isDocumented === true;
    this.name = dot >= 0 ? path.slice(dot + 1) : callee === `${TOOLS}.${path}` ? path : `${quoted(path)}`;
    // Quoted, because `new` without quotes would declare a constructor.
    this.#begin = `  ${this.name === "new" ? quoted("new") : this.name}`;
    const examples = examplesOf(tool, callee, charsMax / 4);
    const whole = isBrief ? "" : commented([...linesOf(tool.description), ...examples]);
    const isWhole = whole !== "" && whole.length <= charsMax / 2;
    const head = `${isWhole ? whole : commented([this.#paragraph, ...examples])}${this.#begin}`;
    const full = `${head}${signatureOf(tool, charsMax - head.length)}`;
    this.full = full.length <= charsMax ? full : this.short;
  }

  get short(): string {
    return (this.#short ??= `${commented([firstSentence(this.#paragraph)])}${this.#begin}(input: unknown): Promise<unknown>;`);
  }

  /** Returns the tool in a shorter form, with at most this many characters. */
  inBrief(charsMax: number): Entry {
    return new Entry(this.#tool, this.#path, charsMax, true);
  }
}

function signatureOf({ inputSchema, outputSchema }: ToolDeclaration, charsMax: number): string {
  const room = charsMax - "(input?: ): Promise<>;".length;
  const output = outputSchema === undefined ? "unknown" : typeOf(outputSchema, { charsMax: room / 3, indent: INDENT });
  const input = typeOf(inputSchema, { charsMax: room - output.length, indent: INDENT });
  return `(${parameterOf(inputSchema, input)}): Promise<${output}>;`;
}

/** No parameter for a tool without arguments; an optional one if no argument is required. */
function parameterOf(schema: unknown, type: string): string {
  if (!isObject(schema) || NEEDS.some((keyword) => hasSome(schema[keyword]))) return `input: ${type}`;
  const hasFields = TAKES.some((keyword) => schema[keyword] === true || hasSome(schema[keyword]));
  return hasFields ? `input?: ${type}` : "";
}
const NEEDS = ["required", "$ref", "allOf", "anyOf", "oneOf"];
const TAKES = ["properties", "patternProperties", "additionalProperties"];
const hasSome = (value: unknown): boolean =>
  typeof value === "string" || (typeof value === "object" && value !== null && Object.keys(value).length > 0);

/** Returns the lines of a whole description. */
function linesOf(description: string): readonly string[] {
  const lines = description.split("\n").map((line) => onOneLine(line, LINE_CHARS_MAX));
  const nonEmpty = lines.filter((line) => line !== "");
  let left = DESCRIPTION_CHARS_MAX;
  const fits = nonEmpty.filter((line) => (left -= line.length) >= 0);
  return fits.length === nonEmpty.length ? nonEmpty : [...fits, "…"];
}

const firstParagraph = (text: string): string =>
  onOneLine(text.trimStart().split(/\n\s*\n/, 1)[0] ?? "", PARAGRAPH_CHARS_MAX);
/** A full stop before a small letter probably belongs to an abbreviation such as "e.g." */
const firstSentence = (paragraph: string): string =>
  onOneLine(/^.*?[.!?…](?=\s+[^\s\p{Ll}]|$)/u.exec(paragraph)?.[0] ?? paragraph, SENTENCE_CHARS_MAX);

function commented(lines: readonly string[]): string {
  const [first, ...more] = lines.filter((line) => line !== "");
  if (first === undefined) return "";
  return more.length === 0
    ? `  /** ${first} */\n`
    : `  /**\n${[first, ...more].map((line) => `   * ${line}\n`).join("")}   */\n`;
}

/** Returns as many examples as fit, because the types matter more. */
function examplesOf({ isDocumented, examples }: ToolDeclaration, callee: string, charsMax: number): readonly string[] {
  const lines: string[] = [];
  if (isDocumented !== true || examples === undefined) return lines;
  let left = charsMax;
  for (const example of examples.slice(0, EXAMPLES_MAX)) {
    // Only a string can contain the end of a comment, and in a string this escape means the same.
    const line = `@example ${callee}(${written(example)})`.replaceAll("*/", "*\\/");
    if (line.length > Math.min(left, EXAMPLE_CHARS_MAX)) continue;
    lines.push(line);
    left -= line.length;
  }
  return lines;
}

/** Returns a value as a person would write it in code. */
function written(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(written).join(", ")}]`;
  if (!isObject(value)) return `${quoted(value)}`;
  const fields = Object.entries(value).map(
    ([name, field]) => `${IDENTIFIER.test(name) ? name : quoted(name)}: ${written(field as Json)}`,
  );
  return fields.length === 0 ? "{}" : `{ ${fields.join(", ")} }`;
}
const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;
