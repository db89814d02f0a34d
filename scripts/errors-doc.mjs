// Makes docs/errors.md from the table of errors: messages and hints from its functions, the rest from its comments.
import { describe, OPTION_HINTS, TRIGGER_HINTS } from "../src/model/errors.ts";
import { FAILURE_HINTS } from "../src/model/request.ts";
import { inOneLine, row, sourceOf, table } from "./sources.mjs";

const BEGINNING = `# Errors

<!-- Written by \`npm run docs\` from the table in src/model/errors.ts: change that, not this. -->

All codes of \`RuntimeError\`, with what each means and what to do. Search this page for the code. An error has a \`code\`, \`details\` with the
values of the message (\`<id>\` is \`details.id\`), a \`hint\` and \`retry\`. \`hasCode(error, "session.unknown")\` checks the code and narrows
\`details\`. The outcome of a turn that stopped or failed has one of these codes too ([outcomes](guide.md#outcomes)).

| \`retry\` | trying again |
| --- | --- |
| \`never\` | does not help: change the call first |
| \`unchanged\` | can help: the same call may succeed later |
| \`reload\` | can help after you read the current state |
| \`reopen\` | can help after you open a new handle or runtime |`;

/** Hints that depend on the value of one field. */
const HINTS_BY_FIELD = {
  "options.invalid": ["option", OPTION_HINTS],
  "provider.failed": ["class", FAILURE_HINTS],
  "trigger.invalid": ["field", TRIGGER_HINTS],
};

/** Details that have more than one level. */
const DETAILS = {
  "turn.unanswered": ["stopped", "failed"].map((kind) => ({
    turnId: "<turnId>",
    outcome: { kind, by: "<by>", code: "<code>", reason: "<reason>" },
  })),
};

const source = sourceOf("src/model/errors.ts");

/** The rows of the table and the headings between them, in their order: `{ heading }` or `{ code, type, when }`. */
const rows = Array.from(
  source.matchAll(
    /^ {2}\/\/ (?<heading>.*)$|^ {2}(?<comment>\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n {2})?"(?<code>[\w.-]+)": \(\w+: (?<type>[\s\S]*?)\) =>/gm,
  ),
  ({ groups: { heading, comment, code, type } }) =>
    heading === undefined
      ? { code, type, when: inOneLine((comment ?? "").replace(/^\s*\/?\*+\/?|\*\/$/gm, "")) }
      : { heading },
);

/** All codes of the table. */
export const codes = rows.flatMap(({ code }) => code ?? []);

/** The values of a field on which a message can depend: its placeholder, or each value of a union of literals. */
function valuesOf(name, type) {
  if (type === "boolean") return [true, false];
  if (type === "true") return [true];
  if (/^readonly (?:string\[\]|\[.*\])$/.test(type)) return [[`<${name}>`]];
  return type.startsWith('"') ? type.split(" | ").map((value) => JSON.parse(value)) : [`<${name}>`];
}

/** All messages and hints of a code, for all values of its details. */
export function wordingsOf(code) {
  const { type } = rows.find((each) => each.code === code);
  const fields = Array.from(type.matchAll(/(\w+)(\??): ([^;}]+?)(?=;| \})/g), ([, name, optional, of]) => [
    name,
    [...(optional === "" ? [] : [undefined]), ...valuesOf(name, of)],
  ]);
  const all = fields.reduce(
    (found, [name, values]) => found.flatMap((details) => values.map((value) => ({ ...details, [name]: value }))),
    [{}],
  );
  const wordings = (DETAILS[code] ?? all).map((details) => describe(code, details));
  // A number that is computed from a placeholder.
  const shown = wordings.map((each) => ({
    ...each,
    message: each.message.replace("NaN", "<version>"),
    hint: each.hint.replace("NaN", "<version>"),
  }));
  return shown.filter(
    (each, at) => shown.findIndex((other) => other.message === each.message && other.hint === each.hint) === at,
  );
}

function entry({ code, when }) {
  if (when === "") throw new Error(`${code} in src/model/errors.ts has no comment: write above it when it happens.`);
  const wordings = wordingsOf(code);
  const [field, hints] = HINTS_BY_FIELD[code] ?? [];
  return [
    `### ${code}`,
    `${when} Retry: \`${wordings[0].retry}\`.`,
    `\`\`\`text\n${wordings.map(({ message, hint }) => `message: ${message}\nhint:    ${hint}`).join("\n\n")}\n\`\`\``,
    ...(hints === undefined
      ? []
      : [
          table(
            [`\`${field}\``, "hint"],
            Object.entries(hints).map(([value, hint]) => row(`\`${value}\``, hint)),
          ),
        ]),
  ];
}

export const page = () =>
  [BEGINNING, ...rows.flatMap((each) => (each.heading === undefined ? entry(each) : [`## ${each.heading}`]))]
    .join("\n\n")
    .concat("\n");
