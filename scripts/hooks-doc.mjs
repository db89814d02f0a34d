// Writes docs/hooks.md from the table of hooks, so that the page always says what runs.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { HOOKS } from "../src/kernel/hooks.ts";

const BEGINNING = `# Hooks

<!-- Written by \`npm run docs\` from the table in src/kernel/hooks.ts: change that, not this. -->

What a plugin returns from \`setup\` is keyed by these names; [the guide](guide.md#plugins) shows how, and what each is given
and may answer. Here is when a hook fires, how the answers of several plugins become one, and what happens when one fails.

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

/** Hooks that nothing fires, and why. A test compares this list with the sources. */
export const UNUSED = {
  proseProjector: "Nothing reads it yet.",
};

export const page = () =>
  [
    BEGINNING,
    "## Families",
    families(),
    "## The hooks",
    ...Object.entries(HOOKS).map(([name, row]) => section(name, row)),
    "",
  ]
    .join("\n\n")
    .trimEnd()
    .concat("\n");

function families() {
  const rows = Object.entries(FAMILIES).map(([name, text]) => `| \`${name}\` | ${text} |`);
  return ["| family | how answers merge |", "| --- | --- |", ...rows].join("\n");
}

function section(name, row) {
  const remark = UNUSED[name] === undefined ? [] : [`**Not in use.** ${UNUSED[name]}`];
  return [`### ${name}`, ...remark, isSlot(row) ? slot(row) : handler(row)].join("\n\n");
}

/** A slot holds a value; it has no handlers that anything could fire. */
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

const file = fileURLToPath(import.meta.url);
if (process.argv[1] === file) writeFileSync(join(file, "../../docs/hooks.md"), page());
