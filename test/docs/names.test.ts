import { existsSync, globSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";

const textOf = (file: string): string => readFileSync(file, "utf8");

/** Pages of hand-written text; `docs/decisions` quotes names of their time. */
const pages = ["README.md", ...globSync("docs/*.md")]
  .map((page) => page.replaceAll("\\", "/"))
  .filter((page) => !/(?:errors|hooks|defaults|model-texts)\.md$/.test(page))
  .sort();

/** Names of Node, of the web, of packages and of programs, and words of other systems in tables that compare. */
const OTHERS = new Set(
  `acorn acpx ajv croner pg zod valibot npm npx node kill chmod sqlite3 pg_dump tsc dom SIGTERM SIGINT SIGKILL SIGSTOP UTC HTTP SSE DELETE
  setInterval setTimeout setImmediate Promise AbortController AbortSignal useChat useState UIMessage sqlite wal shm toolApproval generateText
  streamText ToolLoopAgent stopWhen isStepCount prepareStep WorkflowAgent createAgent invoke interrupt Command resume SqliteSaver thread_id
  humanInTheLoopMiddleware summarizationMiddleware beforeModel entrypoint condition awakeable Schedule Timer experimental strip types
  CONTRIBUTING mcp__github__create_issue create_issue mcp__files__read_file data_checksums synchronous_commit PATH HOME USER LANG LC_ALL TMPDIR PPID environ PGUSER FROM WHERE UPDATE SELECT`.split(
    /\s+/,
  ),
);

// Fenced code compiles (`snippets.test.ts`). Here are the names that the text quotes.
const spansOf = (page: string): readonly string[] =>
  Array.from(
    textOf(page)
      .replace(/^```[\s\S]*?^```$/gm, "")
      .matchAll(/`([^`\n]+)`/g),
    ([, span = ""]) => span,
  );

const withoutComments = (text: string): string => text.replace(/^\s*\/\/.*$|\/\*[\s\S]*?\*\/|\s\/\/ .*$/gm, "");
/** What the programs of the pages declare: `startAgent`. */
const declared = new Set(
  pages.flatMap((page) =>
    Array.from(textOf(page).matchAll(/^```ts[\s\S]*?^```$/gm)).flatMap(([block]) =>
      Array.from(block.matchAll(/\b(?:const|function|class) (\w+)/g), ([, name = ""]) => name),
    ),
  ),
);
const words = new Set<string>();
for (const file of [
  ...globSync("src/**/*.ts").filter((each) => !each.endsWith(".test.ts")),
  ...globSync(["examples/**/*.ts", "test/stores/*.ts", "scripts/*.mjs", "bench/*.ts"]),
  "package.json",
])
  for (const [word] of withoutComments(textOf(file)).matchAll(/[A-Za-z_$][\w$]*/g)) words.add(word);

test("every name in a code span of the docs is in the sources", () => {
  const isComparison = (page: string): boolean => /from-|glossary/.test(page);
  const missing = pages.flatMap((page) =>
    spansOf(page)
      .flatMap((span) => {
        // Values: texts in quotes, paths, packages, URLs, HTTP headers, and samples with an ellipsis of a name.
        const code = span.replace(/"[^"]*"|'[^']*'|\/[^/ ]+\/[a-z]*|https?:\S+|[\w-]+(?:-[\w-]+)+|\S*\/\S*|@\S+/g, " ");
        const names = Array.from(code.matchAll(/[A-Za-z_$][\w$]{3,}/g), ([name]) => name);
        return names
          .filter((name) => !words.has(name) && !OTHERS.has(name) && !declared.has(name))
          .map((name) => `${page}: ${name} in \`${span}\``);
      })
      .filter(() => !isComparison(page)),
  );
  expect(missing).toEqual([]);
});

test("every path of the repository in a code span of the docs exists", () => {
  const found = pages.flatMap((page) =>
    spansOf(page).flatMap((span) =>
      Array.from(span.matchAll(/^(?:src|test|examples|docs|scripts|bench|api)\/[\w./-]+/g), ([path]) => ({
        page,
        path,
      })),
    ),
  );
  expect(found.length).toBeGreaterThan(10);
  expect(found.filter(({ path }) => !existsSync(path))).toEqual([]);
});

test("every entry of the package in the docs is in package.json, and each entry is on the page of entries", () => {
  const { exports } = JSON.parse(textOf("package.json")) as { exports: Record<string, unknown> };
  const known = new Set(Object.keys(exports).map((entry) => entry.replace(/^\./, "bowline")));
  const unknown = pages.flatMap((page) =>
    Array.from(textOf(page).matchAll(/[`"](bowline\/[\w/-]+)[`"]/g), ([, entry = ""]) => ({ page, entry })).filter(
      // An id of a bundled plugin is a name too.
      ({ entry }) =>
        !known.has(entry) &&
        !known.has(entry.replace("bowline/", "bowline/plugins/")) &&
        !/^bowline\/(?:tools|idempotencyKey)$/.test(entry),
    ),
  );
  expect(unknown).toEqual([]);
  const entries = textOf("docs/entries.md");
  expect([...known].filter((entry) => !entries.includes(`\`${entry}\``) && !entry.endsWith(".json"))).toEqual([]);
});

test("every command of npm in the docs is a script", () => {
  const { scripts } = JSON.parse(textOf("package.json")) as { scripts: Record<string, string> };
  const used = [...pages, "CONTRIBUTING.md"].flatMap((page) =>
    Array.from(textOf(page).matchAll(/npm run ([\w:-]+)/g), ([, name = ""]) => name),
  );
  expect(used.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
});

test("every option of the command line in the docs is in its sources", () => {
  const sources = globSync("src/cli/*.ts").map(textOf).join("\n");
  const used = spansOf("docs/cli.md").flatMap((span) =>
    Array.from(span.matchAll(/--([a-z][\w-]+)/g), ([, name = ""]) => name),
  );
  expect(used.length).toBeGreaterThan(5);
  expect(used.filter((name) => name !== "help" && !new RegExp(`\\b${name}\\b`).test(sources))).toEqual([]);
});

/** Words of the text: with a letter or a digit. Programs and generated tables do not count. */
const countOf = (page: string): number =>
  textOf(page)
    .replace(/^```[\s\S]*?^```$/gm, "")
    .replace(/^<!-- Routes:[\s\S]*?^<!-- End of the routes/gm, "")
    .split(/\s+/)
    .filter((word) => /[\p{L}\p{N}]/u.test(word)).length;

test("the hand-written docs have at most 25,000 words", () => {
  const counts = pages.filter((page) => page.startsWith("docs/")).map((page) => [page, countOf(page)] as const);
  const total = counts.reduce((sum, [, count]) => sum + count, 0);
  expect(total, counts.map(([page, count]) => `${page} ${count}`).join(", ")).toBeLessThanOrEqual(25_000);
});
