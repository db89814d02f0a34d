import { TEXTS as RUNTIME } from "../../src/model/texts.ts";
import { TEXTS as APPROVALS } from "../../src/plugins/approvals/texts.ts";
import { TEXTS as CODE } from "../../src/plugins/code/texts.ts";
import { TEXTS as JOBS } from "../../src/plugins/jobs/texts.ts";
import { TEXTS as MCP } from "../../src/plugins/mcp/texts.ts";
import { TEXTS as MEMORY } from "../../src/plugins/memory/texts.ts";
import { TEXTS as MONITORS } from "../../src/plugins/monitors/texts.ts";
import { TEXTS as OUTPUT_BUDGET } from "../../src/plugins/output-budget/texts.ts";
import { TEXTS as PLAN } from "../../src/plugins/plan/texts.ts";
import { TEXTS as ROLLING_HISTORY } from "../../src/plugins/rolling-history/texts.ts";
import { TEXTS as SUBAGENTS } from "../../src/plugins/subagents/texts.ts";
import { TEXTS as TOOLS_SEARCH } from "../../src/plugins/tools-search/texts.ts";
import { TEXTS as WORKSPACE } from "../../src/plugins/workspace/texts.ts";
import { TEXTS as CODE_MODE } from "../../src/protocols/code/texts.ts";
import { TEXTS as TOOL_CALLS } from "../../src/protocols/tool-calls/texts.ts";

/** Texts with arguments for those that are functions. A new text without arguments does not compile. */
interface Texts {
  readonly title: string;
  readonly texts: { readonly [name: string]: string | ((...given: never[]) => string) };
  readonly samples: { readonly [name: string]: readonly unknown[] };
}
// biome-ignore lint/suspicious/noExplicitAny: any function that makes a text
type Makes = (...given: any[]) => string;
type Samples<T> = {
  readonly [K in keyof T as T[K] extends Makes ? K : never]: T[K] extends Makes ? Parameters<T[K]> : never;
};
const shown = <T extends Texts["texts"]>(title: string, texts: T, samples: Samples<T>): Texts => ({
  title,
  texts,
  samples,
});

const PATH = '"src/a.ts"';
const INPUT = '{"id":"Kxvn…","offset":400}';

const REPORTS =
  '- acme/reports.write: Writes a report.\n  input: {"type":"object","properties":{"topic":{"type":"string"}}}\n  signals: signed {}';

export const ALL: readonly Texts[] = [
  shown("The runtime", RUNTIME, {
    unknownTool: ["serach", ["search", "fetch"]],
    unavailableTool: ["search", "searchable"],
    wrongArguments: ["search", "/query must be string"],
    uncheckable: [30_000],
    tooManyCalls: [128],
    denied: ["pay", "It moves money."],
    failed: ["pay", "The bank is closed."],
    timeout: ["pay", 600_000],
    unusable: ["pay", "receipt: a function is not JSON"],
    tooLarge: ["fetch", 9_000_000, 8_388_608],
    withheld: ["read_mail", "It has a password in it."],
    interrupted: ["pay"],
    awaited: ["pay"],
    submitAgain: ["/value must be number"],
    charsLeftOut: [4_000],
    waitsOn: [100],
    codeStopped: ["The turn was cancelled: Enough."],
    monitorLines: ["The build log", "log", ["error: no such file"], 0],
    monitorEnded: ["The build log", "log", "The command has ended.", ["done"], 12],
    monitorOver: ["completed"],
    triggered: ["Write the nightly report.", "nightly", "due at 2027-01-01T02:00:00.000Z"],
    jobEnded: ["Nightly report", "job_0k3", "completed", '{"pages":12}', undefined],
  }),
  shown("Tool calls (`bowline/protocols/tool-calls`)", TOOL_CALLS, { noTool: [0], noInput: [0], nested: [0] }),
  shown("Code mode (`bowline/protocols/code`)", CODE_MODE, {
    how: [true],
    moreTools: [120],
    error: ["<problem>", "Correct the code."],
    policy: ["<problem>"],
    notFitting: ["/sum must be number"],
    calls: ["pay denied (tool.denied)"],
    finished: ['{"sum":4}'],
    seed: ['{"rows":[1,2]}'],
    round: [2, 50],
    finishType: ['{"type":"number"}'],
    context: [61_000, 100_000, "<advice>"],
    leftOut: [30_000, "(await history[4]).text"],
  }),
  shown("Workspace (`bowline/plugins/workspace`)", WORKSPACE, {
    files: ["<root>"],
    shellStarts: ["<root>"],
    list: [[".git", "node_modules"]],
    search: [[".git", "node_modules"]],
    shell: [120_000, 600_000],
    linesOf: [1, 2_000, "4210"],
    noLines: [5_000, "4210"],
    goOnAt: [2_001],
    hash: ["9f86d081884c7d65"],
    lineCut: [3_100],
    morePaths: [500],
    visitsOver: [100_000],
    moreMatches: [200],
    searchVisitsOver: [100_000],
    searchStopped: [30_000],
    noMatch: [42],
    skipped: ["2 binary, 1 unreadable"],
    binary: [2],
    large: [1],
    unreadable: [1],
    outputCut: [70_000],
    late: [120_000],
    missing: [PATH],
    missingFile: [PATH],
    missingFolder: ['"src"'],
    isFolder: ['"src"'],
    isFile: [PATH],
    partIsFile: [PATH],
    special: ['"pipe"'],
    binaryFile: ['"a.bin"'],
    notUtf8: [PATH],
    tooLarge: [PATH, 20_000_000, 16_777_216],
    outside: ['"../x"'],
    pathTooLong: ['"aaaa…"', 4_096],
    nameTooLong: ['"aaaa…"'],
    linkLoop: ['"loop"'],
    replaced: [PATH],
    noAccess: [PATH, "EACCES"],
    busy: [PATH, "EMFILE"],
    unusable: [PATH, "EIO"],
    gone: [PATH],
    changed: [PATH, "9f86d081884c7d65"],
    existsAlready: [PATH],
    notFound: [PATH],
    notUnique: [PATH, "3"],
    badPattern: ["Invalid regular expression: /(/: Unterminated group"],
    slowPattern: [2_000, PATH],
    patternFailed: ["Out of memory"],
    wideGlob: ['"{a,b,…}"', 64],
    notAllowed: ["/npm (test|run \\w+)/"],
    notRun: ["spawn E2BIG"],
  }),
  shown("Plan (`bowline/plugins/plan`)", PLAN, {
    steps: [100],
    updated: [1, 3],
    blankStep: [2],
    inProgress: [2, "1, 3"],
    tooLong: [20_000, 16_384],
  }),
  shown("Memory (`bowline/plugins/memory`)", MEMORY, {
    moreNotes: [12],
    note: [2_000],
    saved: ["m3"],
    savedBefore: ["m3"],
    noteTooLong: [2_400, 2_000],
    full: [200],
    forgotten: ["m3"],
    unknownNote: ["m9"],
    newestNotes: ["m11, m12"],
    allNotes: ["m1, m2"],
    moreFit: [7],
    noMatch: [5],
    topics: ["travel, home"],
  }),
  shown("Approvals (`bowline/plugins/approvals`)", APPROVALS, { asks: ["refund"] }),
  shown("Subagents (`bowline/plugins/subagents`)", SUBAGENTS, {
    spawn: [604_800_000, "- reader: Reads files and reports."],
    timeout: [604_800_000],
    role: ["reader", 1, 5],
    moreAgents: [14],
    failed: ["agt_4f0aQ2", "trn_1", "failed", "agent.gave-up", "submit_error: There is no such file."],
    timedOut: ["agt_4f0aQ2", "trn_1", 3_600_000],
    saidBefore: ["I have looked everywhere."],
    tookTooLong: [3_600_000],
    noCapability: ["reader, writer"],
    unknownCapability: ['"cook"', "reader, writer"],
    badOutput: ["type must be one of the seven types"],
    tooDeep: [5],
    tooMany: [100],
    tooManyEver: [1_000],
    unknownAgent: ['"agt_x"'],
    closedAgent: ["agt_4f0aQ2"],
  }),
  shown("Jobs (`bowline/plugins/jobs`)", JOBS, {
    timeout: [604_800_000],
    start: [REPORTS],
    task: ["acme/reports.write", "Writes a report.", "", ""],
    wake: ["notify"],
    cut: ["The report begins with", 12_000],
    moreLive: [1_100],
    unknownJob: ['"job_x"'],
    overJob: ["job_0k3", "completed"],
    wrongInput: ["acme/reports.write", "topic: expected string"],
    missingTask: ["acme/reports.write"],
    full: [10_000],
  }),
  shown("Monitors (`bowline/plugins/monitors`)", MONITORS, {
    wake: ["notify"],
    timeout: [300_000, 3_600_000],
    cut: ["error: no such file or directory", 4_000],
    unknown: ['"build-log"'],
    conflict: ['"build-log"'],
    full: [64],
  }),
  shown("Code (`bowline/plugins/code`)", CODE, {
    value: ["[1, 2, 3]"],
    threw: [{ name: "TypeError", message: "not a function", line: 2, column: 5, stack: "at <eval> (cell-3.ts:2:5)" }],
    calledAs: ["tools.weather"],
    unhandled: [{ name: "ToolError", code: "tool.failed", message: "read failed: No such file.", line: 4, column: 12 }],
    stopped: ["steps"],
    refused: [[{ message: "An `enum` cannot be used. Use an object.", line: 1, column: 1 }]],
    language: ["python"],
    noMessage: [12],
    noBinding: ["report"],
    variable: [{ name: "rows", shown: '[{ id: 1, name: "Ada" }, { id: 2, name: "Bo" }]' }],
    near: ["limit", "20"],
    far: ["report", "text", 120_000],
    kindOf: [[1, 2, 3]],
  }),
  shown("Tool search (`bowline/plugins/tools-search`)", TOOLS_SEARCH, {
    guidance: ["about 200"],
    max: [8],
    moreFit: [12],
    cannotOpen: ["send_mail"],
    atMost: [8, "send_fax, send_letter"],
    unknown: ["send_maik"],
    similar: ["send_mail"],
    others: ["send_mail, send_fax", 3],
    nothingFits: ['"quantum physics"'],
    whatThereIs: [200, "mcp__mail (120), files (80)"],
  }),
  shown("Output budget (`bowline/plugins/output-budget`)", OUTPUT_BUDGET, {
    tailCut: [184_210, 4_601, 200_594, 5_000, OUTPUT_BUDGET.readOn(INPUT)],
    headCut: [184_210, 4_601, 200_594, 5_000, OUTPUT_BUDGET.readFromStart('{"id":"Kxvn…"}')],
    readOn: [INPUT],
    readFromStart: ['{"id":"Kxvn…"}'],
    partsCut: [16, "text/plain Kxvn… (20003 bytes)"],
    others: [4],
    page: [400, 798, 16_384, 32_601, 200_594, 5_000, OUTPUT_BUDGET.nextPage("offset 799")],
    nextPage: ["offset 799"],
    pastEnd: [200_594, 5_000],
  }),
  shown("Rolling history (`bowline/plugins/rolling-history`)", ROLLING_HISTORY, {
    soFar: ["…"],
    userSaid: ["Plan my trip."],
    conversation: [2, 3, true],
    task: [true, 1_500],
    attachmentLeftOut: ['image/png "map.png", 20480 bytes'],
  }),
  shown("MCP servers (`bowline/plugins/mcp`)", MCP, {
    notConnected: ["files", " The server could not be reached."],
    lost: ["files", " The server ended with code 3."],
  }),
];

export const wordsOf = ({ texts, samples }: Texts): readonly (readonly [name: string, words: string])[] =>
  Object.entries(texts).map(([name, text]) => [
    name,
    typeof text === "string" ? text : text(...((samples[name] ?? []) as never[])),
  ]);
