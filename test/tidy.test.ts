import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, globSync, lstatSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { expect, test } from "vitest";
import { badEnglishIn } from "./kit/style.ts";

/** The singular file that outsiders of a plural folder import; every other file or folder in there is a member. */
const CONTRACT_OF: Record<string, string> = {
  hosts: "host",
  stores: "store",
  providers: "provider",
  protocols: "protocol",
  sandbox: "sandbox",
};

/** What members of a family have in common belongs to its contract. */
const SHARED: ReadonlySet<string> = new Set(["hosts/local", "stores/rows", "stores/rules", "stores/tables"]);

const pure = ["model", "turn", "graph"];
const core = [...pure, "telemetry", "kernel", "tools", ...Object.values(CONTRACT_OF)];
const shell = ["runtime"];

/** Who may import what, besides its own folder; a member and a plugin count as a folder each. Types count too. */
const MAY_IMPORT: Record<string, readonly string[] | "all"> = {
  model: [],
  turn: ["model"],
  graph: ["model"],
  telemetry: ["model"],
  kernel: [...pure, "telemetry"],
  tools: ["model", "turn", "kernel"],
  host: [...pure, "store"],
  store: pure,
  provider: pure,
  protocol: [...pure, "kernel"],
  sandbox: [...pure, "kernel"],
  runtime: [...core, ...shell],
  "a member of a family": core,
  plugins: ["a public door"],
  client: ["model", "server"],
  studio: [],
  server: "all",
  "index.ts": "all",
  "plugin.ts": "all",
  "protocol.ts": "all",
  "provider.ts": "all",
  "defaults.ts": "all",
  testing: "all",
  cli: "all",
};

/**
 * The rooms of `src/runtime` and whose values each may import; types are free between them, so that a file says
 * `session: LiveSession` instead of declaring the five methods of it that it happens to use.
 */
const ROOMS: Record<string, readonly string[]> = {
  runtime: ["records", "telemetry", "background", "session", "live-turn", "services", "toolset", "readers", "core"],
  telemetry: ["live-turn", "core"],
  records: ["session", "services", "core"],
  background: ["triggers", "monitors", "jobs", "session", "live-turn", "services", "toolset", "readers", "core"],
  triggers: ["jobs", "session", "live-turn", "services", "toolset", "readers", "core"],
  monitors: ["jobs", "session", "live-turn", "services", "toolset", "readers", "core"],
  jobs: ["session", "live-turn", "services", "toolset", "readers", "core"],
  session: ["live-turn", "services", "toolset", "readers", "core"],
  "live-turn": ["services", "toolset", "readers", "core"],
  services: ["toolset", "readers", "core"],
  toolset: ["core"],
  readers: ["core"],
  core: [],
};

/** The room whose object a variable or field of this name holds: only that room assigns to the object's fields. */
const ROOM_OF_OBJECT: Record<string, string> = {
  core: "core",
  session: "session",
  snapshot: "session",
  queue: "session",
  watcher: "session",
  live: "live-turn",
  opened: "live-turn",
  running: "live-turn",
  conversation: "live-turn",
  spending: "live-turn",
  draft: "live-turn",
  show: "live-turn",
  handle: "live-turn",
  toolset: "toolset",
  feed: "readers",
  followers: "readers",
  readers: "readers",
  jobs: "jobs",
};
const ASSIGNMENT = /\b(\w+)\.(\w+)\s*(?:[-+*|&?]{0,2}=(?![=>])|\+\+|--)/g;

const LINES_MAX = 500;
const STRING_OR_COMMENT = /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\/.*|\/\*[\s\S]*?\*\//g;

interface Import {
  readonly from: string;
  readonly to: string; // a file of src/, or a specifier as written
  readonly typeOnly: boolean;
}

const texts = new Map(
  globSync("src/**/*.{ts,tsx}")
    .map((file) => file.replaceAll("\\", "/"))
    .filter((file) => !file.endsWith(".test.ts"))
    .sort()
    .map((file) => [file, readFileSync(file, "utf8")]),
);
const sources = [...texts.keys()];
const imports = sources.flatMap((file) => importsOf(file, texts.get(file)!));
const inside = imports.filter(({ to }) => to.startsWith("src/"));
const doors = publicDoors();

test("every file imports only what the table allows its folder", () => {
  expect(inside.filter((each) => !isAllowed(each)).map(explain)).toEqual([]);
});

test("no file imports itself, by however long a way; types may, inside the runtime", () => {
  const isFree = ({ from, to, typeOnly }: Import): boolean =>
    typeOnly && roomOf(from) !== undefined && roomOf(to) !== undefined;
  expect(cycles(inside.filter((each) => !isFree(each)))).toEqual([]);
});

test("the rooms of the runtime import each other's values one way", () => {
  const wrong = inside.filter(({ from, to, typeOnly }) => {
    const [importer, imported] = [roomOf(from), roomOf(to)];
    if (typeOnly || importer === undefined || imported === undefined || importer === imported) return false;
    return ROOMS[importer]?.includes(imported) !== true;
  });
  expect(wrong.map(name)).toEqual([]);
});

test("no room of the runtime assigns to an object of another room", () => {
  const foreign = sources.flatMap((file) => {
    const room = roomOf(file);
    if (room === undefined) return [];
    return Array.from(codeOf(texts.get(file)!).matchAll(ASSIGNMENT)).flatMap(([text, object]) => {
      const owner = Object.hasOwn(ROOM_OF_OBJECT, object!) ? ROOM_OF_OBJECT[object!] : undefined;
      return owner === undefined || owner === room ? [] : [`${file}: ${text}`];
    });
  });
  expect(foreign).toEqual([]);
});

test("sources import each other by path: by name they would load the built package", () => {
  const byName = imports.filter(({ to }) => isOfPackage(to, "bowline"));
  // The studio is an app: it has the HTTP API alone.
  const isStudio = ({ from, to }: Import): boolean => from.startsWith("src/studio/") && to === "bowline/client";
  expect(byName.filter((each) => !isStudio(each)).map(name)).toEqual([]);
});

test("the client imports types alone, besides its own files: it runs in a browser, and needs nothing", () => {
  const values = imports.filter(({ from, typeOnly }) => from.startsWith("src/client/") && !typeOnly);
  expect(values.filter(({ to }) => !to.startsWith("src/client/")).map(name)).toEqual([]);
});

test("sources need no schema library", () => {
  expect(imports.filter(({ to }) => isOfPackage(to, "zod")).map(name)).toEqual([]);
});

test.each(["index", "plugin", "protocol", "provider"])("the door %s names each export", (door) => {
  expect(withoutComments(texts.get(`src/${door}.ts`)!)).not.toMatch(/export\s*\*/);
});

test("a long file has its reason in a first line like: // long: one table", () => {
  const tooLong = sources.filter((file) => linesOf(file).length > LINES_MAX && !saysWhyLong(file));
  expect(tooLong.map((file) => `${file} has ${linesOf(file).length} lines`)).toEqual([]);
});

test("only the command line writes to the console, and a server that has no `onError`", () => {
  const loud = sources.filter((file) => !file.startsWith("src/cli/") && /\bconsole\./.test(codeOf(texts.get(file)!)));
  expect(loud).toEqual(["src/server/index.ts"]);
});

test.skipIf(!existsSync(".git"))("no committed file contains a path of the machine it was written on", () => {
  const home = /(?<![\w.-])\/(?:work|root|home\/\w+|Users\/\w+)\/\w/;
  const registry = /"resolved":\s*"http|https?:\/\/[^/\s"]*(?:registry|artifactory|verdaccio)/;
  const found = committedFiles().flatMap((file) =>
    linesOf(file)
      .filter((line) => home.test(line) || registry.test(line))
      .map((line) => `${file}: ${line.trim().slice(0, 120)}`),
  );
  expect(found).toEqual([]);
});

test.each([
  ['import a, { type B } from "./x.ts";', "./x.ts", false],
  ['import {\n  // why\n  a,\n  b as c,\n} from "./x.ts";', "./x.ts", false],
  ['import type { A } from "./x.ts";', "./x.ts", true],
  ['import "./x.ts";', "./x.ts", false],
  ['export * as x from "./x.ts";', "./x.ts", false],
  ['export type { A } from "./x.ts";', "./x.ts", true],
  ['const x = await import("./x.ts");', "./x.ts", false],
  ['import data from "./x.json" with { type: "json" };', "./x.json", false],
])("the scan reads %s", (text, specifier, typeOnly) => {
  expect(importsOf("src/a.ts", text)).toEqual([{ from: "src/a.ts", to: specifier.replace("./", "src/"), typeOnly }]);
});

test.each(['// import "./x.ts";', '/*\nimport "./x.ts";\n*/', "export const from = { a };", 'say("import");'])(
  "the scan finds no import in %s",
  (text) => expect(importsOf("src/a.ts", text)).toEqual([]),
);

function isAllowed({ from, to }: Import): boolean {
  const [importer, imported] = [unitOf(from), unitOf(to)];
  if (importer === imported) return true;
  const allowed = MAY_IMPORT[rowOf(importer)] ?? [];
  return allowed === "all" || allowed.includes(imported) || (allowed.includes("a public door") && doors.has(to));
}

/** What a file belongs to: a folder, a contract (`store`), a member of a family (`stores/sqlite`), or itself (`index.ts`). */
function unitOf(file: string): string {
  const [folder, name] = file
    .replace(/^src\//, "")
    .replace(/(?<=\/.*)\.ts$/, "")
    .split("/") as [string, string?];
  if (folder === "plugins") return `${folder}/${name}`;
  const contract = CONTRACT_OF[folder];
  if (contract === undefined) return folder;
  return name === contract || SHARED.has(`${folder}/${name}`) ? contract : `${folder}/${name}`;
}

/** The room of a file in `src/runtime`; what lies beside the rooms is their common ground, but for the door. */
function roomOf(file: string): string | undefined {
  const [, room, rest] = /^src\/runtime\/([^/]+?)(?:\.ts|\/(.+))$/.exec(file) ?? [];
  if (room === undefined || rest !== undefined) return room;
  return room === "runtime" ? "runtime" : "core";
}

function rowOf(unit: string): string {
  if (unit.startsWith("plugins/")) return "plugins";
  return unit.includes("/") ? "a member of a family" : unit;
}

function explain(each: Import): string {
  const row = rowOf(unitOf(each.from));
  const allowed = MAY_IMPORT[row];
  if (allowed === undefined) return `${name(each)}, but ${row} has no row in the table`;
  return `${name(each)}, but ${row} may import only ${[...allowed].join(", ") || "itself"}`;
}

function name({ from, to }: Import): string {
  return `${from} imports ${to}`;
}

function isOfPackage(specifier: string, name: string): boolean {
  return specifier === name || specifier.startsWith(`${name}/`);
}

function publicDoors(): Set<string> {
  const { exports } = JSON.parse(readFileSync("package.json", "utf8")) as { exports: Record<string, string> };
  return new Set(Object.values(exports).map((file) => file.replace(/^\.\/dist\/(.*)\.js$/, "src/$1.ts")));
}

function importsOf(file: string, text: string): Import[] {
  const statement = /^[ \t]*(?:import|export)\s+(type\s+(?!from\b))?(?:[\w$*{},\s]+?\sfrom\s+)?["']([^"']+)["']/gm;
  const call = /\bimport\(\s*["']([^"']+)["']\s*[,)]/g;
  const code = withoutComments(text);
  const found = (specifier: string, typeOnly: boolean) => ({ from: file, to: resolve(file, specifier), typeOnly });
  return [
    ...Array.from(code.matchAll(statement), ([, type, specifier]) => found(specifier!, type !== undefined)),
    ...Array.from(code.matchAll(call), ([, specifier]) => found(specifier!, false)),
  ];
}

function resolve(file: string, specifier: string): string {
  return specifier.startsWith(".") ? posix.join(posix.dirname(file), specifier) : specifier;
}

function cycles(edges: readonly Import[]): string[] {
  const next = Map.groupBy(edges, ({ from }) => from);
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) found.push([...path.slice(path.indexOf(file)), file].join(" → "));
    if (path.includes(file) || done.has(file)) return;
    for (const { to } of next.get(file) ?? []) visit(to, [...path, file]);
    done.add(file);
  };
  for (const file of next.keys()) visit(file, []);
  return found;
}

function linesOf(file: string): string[] {
  return readFileSync(file, "utf8").trimEnd().split("\n");
}

function saysWhyLong(file: string): boolean {
  return linesOf(file)
    .slice(0, 5)
    .some((line) => /^\/\/ long: \S/.test(line));
}

// Strings are matched so that what looks like a comment in one is left alone.
function withoutComments(text: string): string {
  return text.replace(STRING_OR_COMMENT, (match, string?: string) => (string === undefined ? "" : match));
}

function codeOf(text: string): string {
  return text.replace(STRING_OR_COMMENT, (_match, string?: string) => (string === undefined ? "" : '""'));
}

function committedFiles(): string[] {
  const list = ["ls-files", "--cached", "--others", "--exclude-standard"];
  const listed = execFileSync("git", ["-c", "safe.directory=*", ...list], { encoding: "utf8" });
  return listed.split("\n").filter((file) => lstatSync(file, { throwIfNoEntry: false })?.isFile());
}

test("a folder without tests fails `test:full` and `test:long`, and `test:full` runs nothing else", () => {
  const { status, stderr } = spawnSync(process.execPath, ["scripts/test.mjs", "--full", "test/nope"], {
    encoding: "utf8",
    env: { ...process.env, NO_COLOR: "1" },
  });
  expect(status).toBe(1);
  expect(stderr).toMatch(/No test files found.*\n+filter: test\/nope\n/);
  expect(readFileSync("package.json", "utf8")).not.toContain("passWithNoTests");
});

// ── Plain English ───────────────────────────────────────────────────────────────────────────────────────────────────

/** Hand-written pages. `docs/errors.test.ts` holds the error texts; texts for models have rules of their own. */
const pagesOfText = ["README.md", "CHANGELOG.md", ...globSync("docs/**/*.md")]
  .map((page) => page.replaceAll("\\", "/"))
  .filter((page) => !/(?:errors|hooks|defaults|model-texts)\.md$/.test(page))
  .sort();
/** A paragraph, a list item or a cell that begins with a pronoun: its noun is in another sentence. */
const PRONOUN =
  /^(?:\*\*)?(?:(?:It|They|One|Those|These|Such|That)\b (?:is|are|was|that|has|have|does|do|will|can|may|must)\b|(?:It|They) \w+)/;

test.each(pagesOfText)("%s is in plain English", (page) => {
  const text = readFileSync(page, "utf8")
    .replace(/^(?:```[\s\S]*?^```| {4}.*)$/gm, (code) => code.replace(/[^\n]/g, ""))
    .replace(/`[^`\n]*`/g, "`code`");
  const lines = text.split("\n");
  const problems = lines.flatMap((line, index) => {
    const opens = lines[index - 1]?.trim() === "" || index === 0;
    const cells = line.startsWith("|") ? line.split("|") : [];
    const starts = [
      ...(opens ? [line] : []),
      ...cells,
      ...(/^\s*(?:[-*]|\d+\.) .*/.test(line) ? [line.replace(/^\s*\S+ /, "")] : []),
    ];
    return [
      ...badEnglishIn(line),
      ...(starts.some((each) => PRONOUN.test(each.trim())) ? ["begins with a pronoun"] : []),
    ].map((problem) => `${page}:${index + 1} ${problem}`);
  });
  expect(problems).toEqual([]);
});

test("titles of tests are in plain English", () => {
  const title =
    /(?:\b(?:test|it)(?:\.\w+)*|\))\(\s*(?:"((?:\\.|[^"\\\n])*)"|'((?:\\.|[^'\\\n])*)'|`((?:\\.|[^`\\])*)`)\s*,/g;
  const titles = globSync(["src/**/*.test.ts", "test/**/*.test.ts"]).flatMap((file) =>
    Array.from(readFileSync(file, "utf8").matchAll(title), ([, a, b, c]) => ({ file, text: a ?? b ?? c ?? "" })),
  );
  expect(titles.length).toBeGreaterThan(3_000);
  expect(titles.flatMap(problemsOf)).toEqual([]);
});

test("comments of the sources and the examples are in plain English", () => {
  const examples = globSync("examples/**/*.ts").map((file) => [file, readFileSync(file, "utf8")] as const);
  expect(examples.length).toBeGreaterThan(30);
  // The comments of the prelude are part of the engine's id: a change makes stored heaps unreadable.
  const free = [...texts].filter(([file]) => !file.startsWith("src/sandbox/quickjs/prelude"));
  // Joins the lines of a comment, because a bad construction can cross lines.
  const comment = /(?:^[ \t]*\/\/ .*\n?)+|[ \t]\/\/ .*$|\/\*\*[\s\S]*?\*\//gm;
  const comments = [...free, ...examples].flatMap(([file, source]) =>
    Array.from(source.matchAll(comment), ([text]) => ({
      file,
      text: text
        .replace(/^[ \t]*(?:\/\/|\/?\*+\/?)|\*\/$/gm, "")
        .replace(/`[^`\n]*`/g, "`code`")
        .replace(/\s+/g, " "),
    })),
  );
  expect(comments.length).toBeGreaterThan(5_000);
  expect(comments.flatMap(problemsOf)).toEqual([]);
});

function problemsOf({ file, text }: { readonly file: string; readonly text: string }): string[] {
  return badEnglishIn(text).map((problem) => `${file}: ${problem} in: ${text.trim().slice(0, 100)}`);
}
