// Makes docs/defaults.md from the interfaces of options and the defaults in the sources.
import { DEFAULT_LIMITS } from "../src/model/limits.ts";
import { declarations, fieldsOf, row, table } from "./sources.mjs";

const BEGINNING = `# Defaults

<!-- Written by \`npm run docs\` from the interfaces in the sources: change those, not this. -->

What can be set, and what holds where nothing is. All of it is optional, unless it says otherwise.`;

const PLUGINS = [
  ["Workspace", "workspace/options", { WorkspaceOptions: "", ShellOptions: "`shell`, where it is not just `true`:" }],
  [
    "MCP servers",
    "mcp/options",
    {
      McpOptions: "",
      McpProcess: "A server that is started here:",
      McpRemote: "A server that is reached over HTTP:",
      Common: "Of each server, or (but for `include` and `exclude`) of all of them:",
    },
  ],
  ["Tool search", "tools-search/index", { ToolsSearchOptions: "" }],
  ["Output budget", "output-budget/index", { OutputBudgetOptions: "" }],
  ["Subagents", "subagents/options", { SubagentsOptions: "", Capability: "A capability:" }],
  ["Jobs", "jobs/options", { JobsOptions: "", TaskOffer: "A task in `tasks`:" }],
  ["Monitors", "monitors/options", { MonitorsOptions: "" }],
  ["Code", "code/options", { CodeOptions: "" }],
  [
    "Approvals",
    "approvals/options",
    {
      ApprovalsOptions: "",
      ApprovalRule: "A rule, besides what it decides:",
      ApprovalDecision: "What a rule or the function decides:",
    },
  ],
  ["Rolling history", "rolling-history/options", { RollingHistoryOptions: "" }],
  ["Plan", "plan", { PlanOptions: "" }],
  ["Memory", "memory", { MemoryOptions: "" }],
];

export const page = () =>
  [
    BEGINNING,
    "## Limits",
    "`createRuntime({ limits })`. `Ms` is milliseconds, `BytesMax` bytes of UTF-8, `Max` a count; `Infinity` lifts a limit.",
    limits(),
    "## Settings",
    "`createRuntime({ settings })`, `session.configure({ settings })` and the settings of a subagent's capability. What is left\nout is the provider's default.",
    options("src/model/request.ts", "ModelSettings"),
    "## Configuration of a session",
    "`runtime.session(id, { config })` and `session.configure(config)`. What is left out is the runtime's.",
    options("src/model/config.ts", "SessionConfig", true),
    "A `budget`:",
    options("src/model/config.ts", "Budget"),
    "An `Allowance` of it:",
    options("src/model/config.ts", "Allowance"),
    "## Access to other sessions",
    "`createRuntime({ sessionAccess })`. A plugin reaches jobs and monitors of its session and its descendants; see\n[jobs of other sessions](jobs.md#jobs-of-other-sessions). `app` stands for the tools of the app.",
    options("src/runtime/services/session-service.ts", "SessionAccess"),
    "## Options of the bundled plugins",
    "The arguments of their tools are in [what a model reads](model-texts.md#tools).",
    ...PLUGINS.flatMap(([title, file, tables]) => [
      `### ${title}`,
      ...Object.entries(tables).flatMap(([name, words]) => [
        ...(words === "" ? [] : [words]),
        options(`src/plugins/${file}.ts`, name),
      ]),
    ]),
  ]
    .join("\n\n")
    .concat("\n");

function limits() {
  const rows = declared("src/model/limits.ts", "Limits").map(({ name, words }) => {
    if (DEFAULT_LIMITS[name] === undefined) throw new Error(`${name} has no default.`);
    const [, meaning, said] = /^(.*?)(?: Default: (.*?)\.)?$/.exec(words);
    const number = DEFAULT_LIMITS[name].toLocaleString("en-US");
    return row(`\`${name}\``, said === undefined || said === number ? number : `${number} (${said})`, meaning);
  });
  return table(["limit", "default", ""], rows);
}

/** `isPartial`: every field is optional, also fields that the interface requires. */
const options = (file, name, isPartial = false) =>
  table(
    ["option", "type", ""],
    declared(file, name).map(({ name: field, type, isOptional, words }) =>
      row(
        `\`${field}\``,
        `\`${type.replaceAll("readonly ", "")}\``,
        isOptional || isPartial ? words : `Required. ${words}`,
      ),
    ),
  );

function declared(file, name) {
  const found = declarations(file).get(name);
  const fields = found === undefined ? [] : fieldsOf(found.text);
  if (fields.length === 0) throw new Error(`scripts/defaults-doc.mjs finds no ${name} in ${file}.`);
  const silent = fields.filter(({ words }) => words === "").map((field) => field.name);
  if (silent.length > 0) throw new Error(`${name} in ${file} does not say what ${silent.join(", ")} is.`);
  return fields;
}
