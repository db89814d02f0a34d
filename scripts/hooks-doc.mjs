// Makes docs/hooks.md from the table of hooks and its types, so that the page always agrees with the code.
import { HOOKS } from "../src/kernel/hooks.ts";
import { declarations, inOneLine, row, sourceOf, table } from "./sources.mjs";

const BEGINNING = `# Hooks

<!-- Written by \`npm run docs\` from the table in src/kernel/hooks.ts: change that, not this. -->

What a plugin returns from \`setup\` is keyed by these names; [Plugins](plugins.md) shows how. Here is
[what each is given and may answer](#given-and-answered), [how answers merge](#families), [each hook](#the-hooks) with when it
fires and what a throw means, the [directives](#directives) and the [types](#types).

- Handlers run in order: \`early\`, \`normal\`, \`late\`, then as the plugins were installed. A handler's own \`order\` wins over its
  plugin's.
- To return nothing is to have no opinion, except in \`single\`.
- An answer that cannot be used (of the wrong shape, or a directive that the hook does not list) counts as a throw of the plugin
  that gave it, and so does a promise that misses its deadline. A handler that blocks past its deadline cannot be
  interrupted: it is reported as the trace \`hook.deadline\`, and its answer counts. A handler may set its own \`deadlineMs\`.
- Besides what its hook shows, every event has \`sessionId\`, within a turn \`turnId\`, \`signal\`, \`read(point)\`, \`once(name, run)\`,
  \`state\` where the plugin has one, and exactly the services listed. One that the runtime cannot offer throws
  \`service.unavailable\` when it is used.`;

const FAMILIES = {
  observe: "Nothing is answered. Handlers run side by side unless it says otherwise, and all are waited for.",
  transform: "Each handler sees what the one before it answered; the last answer stands.",
  collect: "Every answer counts, in order. A handler may answer with one or with a list.",
  gate:
    "The strictest answer stands, whatever the order: `abort`, `deny`, `ask`, `shortCircuit`. What is replaced is seen by " +
    "later handlers and looked at once more by earlier ones; there only what is stricter counts, and replacing it again denies.",
  first: "The first answer that is not empty stands; later handlers are not asked.",
  single: "One plugin has it. A second is an error that names both.",
};

const THROWS = {
  "fail-turn": "ends the turn, `failed` by `plugin`; later handlers are not asked",
  "fail-call":
    "fails the model call, which is not tried again; the turn ends `failed` by `plugin`, with what was said so far",
  "fail-build": "fails the build: of a catalog, and with it the turn, or of a session, which does not open",
  "refuse-input": "refuses the input: `turn()` and `send()` reject, and nothing is kept",
  "fail-compaction": "is as if there was no compactor: the turn is `stopped` by `limit`, code `limit.context`",
  deny: "denies the call; the model is told why, it is in the turn's `issues`, and the turn goes on",
  withhold:
    "denies the result: the model is told why instead of seeing it, it is in the turn's `issues`, and the turn goes on",
  retry: "has the reply derived again, three tries in all; then the turn ends `failed` by `plugin`",
  skip: "skips the handler: what it was given stands",
  issue: "is in the turn's `issues` and in the trace; nothing else changes",
  trace: "is in the trace; nothing else changes",
  show: "is what the model is shown in the place of the result",
};

/** Hooks that the runtime never calls, with the reason. A test compares this list with the sources. */
export const UNUSED = {};

export const page = () =>
  [
    BEGINNING,
    "## Given and answered",
    GIVEN,
    signatures(),
    "## Families",
    families(),
    "## The hooks",
    ...Object.entries(HOOKS).map(([name, row]) => section(name, row)),
    "## Directives",
    "Made with the functions of the same names, which `bowline/plugin` exports.",
    directives(),
    "## Types",
    "`bowline/plugin` exports those that a plugin is likely to name; the others are inferred.",
    types(),
    "",
  ]
    .join("\n\n")
    .trimEnd()
    .concat("\n");

const GIVEN = `Fields of the one object that a handler is given, and the type of what it may return, besides nothing. A handler of a
\`collect\` or \`gate\` hook may also return a list. Where it is a [directive](#directives), any of those named.`;

/** The types in the table, \`hook<Sees, Answer>()({\`, as they are written. */
const TYPES = new Map(
  Array.from(
    sourceOf("src/kernel/hooks.ts").matchAll(/^ {2}(\w+): hook<([\s\S]*?)>\(\)\(\{$/gm),
    ([, name, written]) => [name, argumentsOf(written.replace(/\/\*\*[\s\S]*?\*\//g, ""))],
  ),
);

/** Splits type arguments at their commas, except inside brackets. */
function argumentsOf(written) {
  const found = [""];
  let depth = 0;
  for (const character of written) {
    if ("{([<".includes(character)) depth++;
    if ("})]>".includes(character)) depth--;
    if (character === "," && depth === 0) found.push("");
    else found[found.length - 1] += character;
  }
  return found.map(inOneLine).filter((type) => type !== "");
}

function typesOf(name) {
  const found = TYPES.get(name);
  if (found === undefined) throw new Error(`scripts/hooks-doc.mjs finds no types of ${name} in src/kernel/hooks.ts.`);
  return { sees: found[0], answer: found[1] };
}

const plainly = (type) =>
  type
    .replaceAll("readonly ", "")
    .replace(/^\{ (.*?);? \}$/, "$1")
    .replaceAll("; ", ", ");

function signatures() {
  const rows = Object.entries(HOOKS).map(([name, { directives: made, family }]) => {
    const { sees, answer } = typesOf(name);
    const given = sees === "never" ? "a value" : sees === "object" ? "nothing more" : `\`${plainly(sees)}\``;
    const answered = made === undefined ? (answer === undefined ? "nothing" : `\`${answer}\``) : list(made);
    return row(`[\`${name}\`](#${name.toLowerCase()})`, given, family === "observe" ? "nothing" : answered);
  });
  return table(["hook", "is given", "may answer"], rows);
}

const DIRECTIVE = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\nexport const (\w+) = (\([\s\S]*?\)): DirectiveOf/g;

function directives() {
  const made = Array.from(sourceOf("src/kernel/directive.ts").matchAll(DIRECTIVE), ([, comment, name, given]) =>
    row(
      `\`${name}${inOneLine(given).replaceAll(/readonly | \| undefined(?= \})/g, "")}\``,
      comment.replace(/\s*\n\s*\* ?/g, " ").trim(),
    ),
  );
  return table(["directive", ""], made);
}

/** The types in the table and the types that these use, if they are declared for plugins. */
function types() {
  const known = declarations("src/{model,kernel}/*.ts");
  const found = new Set();
  const take = (text) => {
    for (const [name] of text.replace(/\/\*\*[\s\S]*?\*\//g, "").matchAll(/\b[A-Z]\w+\b/g)) {
      const declared = known.get(name);
      if (declared === undefined || found.has(name) || isLeftOut(declared)) continue;
      found.add(name);
      take(declared.text);
    }
  };
  for (const [name, each] of Object.entries(HOOKS)) {
    if (isSlot(each)) continue;
    const { sees, answer = "" } = typesOf(name);
    take(`${sees} ${answer}`);
  }
  // Keeps `| undefined` for results of methods. For optional fields it is not shown.
  const written = [...found].map((name) =>
    known.get(name).text.replaceAll(/readonly |(?<!\): \w+)\s+\| undefined(?=;)/g, ""),
  );
  return ["```ts", ...written, "```"].join("\n");
}

/** Left out: ids and error codes are texts, and tools and schemas have a separate page. */
const isLeftOut = ({ file }) =>
  ["ids", "errors", "json", "schema"].some((name) => file === `src/model/${name}.ts`) || file === "src/kernel/tool.ts";

const families = () =>
  table(
    ["family", "how answers merge"],
    Object.entries(FAMILIES).map(([name, text]) => row(`\`${name}\``, text)),
  );

function section(name, row) {
  const remark = UNUSED[name] === undefined ? [] : [`**Not in use.** ${UNUSED[name]}`];
  return [`### ${name}`, ...remark, isSlot(row) ? slot(row) : handler(row)].join("\n\n");
}

/** A slot holds a value and has no handlers to call. */
const isSlot = ({ fires }) => fires === "see protocols";

function slot({ family, onThrow, isRequired }) {
  const facts = [
    ["family", `\`${family}\``],
    ["a second plugin, or a wrong value", wordsFor(onThrow)],
    ["required", isRequired ? "yes; the default protocol fills it where no plugin fills any required one" : "no"],
  ];
  return ["Holds a value and not a handler.", points(facts)].join("\n\n");
}

function handler(row) {
  const { family, onThrow, deadlineMs, state, services, directives } = row;
  const how = [...(row.isSync ? ["may not return a promise"] : []), ...(row.inOrder ? ["one by one, in order"] : [])];
  const facts = [
    ["family", [`\`${family}\``, ...how].join(", ")],
    ["a throw", wordsFor(onThrow)],
    ["deadline", `${deadlineMs / 1_000} s`],
    ["state", state === "write" ? "read and write" : "read"],
    ["services", list(services)],
    ...(directives === undefined ? [] : [["directives", list(directives)]]),
  ];
  return [`Fires ${row.fires}.`, points(facts)].join("\n\n");
}

function wordsFor(onThrow) {
  if (THROWS[onThrow] === undefined)
    throw new Error(`scripts/hooks-doc.mjs has no words for a throw that is ${onThrow}.`);
  return THROWS[onThrow];
}

const points = (facts) => facts.map(([what, value]) => `- ${what}: ${value}`).join("\n");

const list = (names) => (names.length === 0 ? "none" : names.map((name) => `\`${name}\``).join(", "));
