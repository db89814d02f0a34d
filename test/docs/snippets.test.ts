import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { expect, test } from "vitest";
import { builtArgv } from "../kit/built.ts";
import { PRELUDE, pages, quotedNames, snippets, TYPES } from "./snippets.ts";

test("every snippet of the README and the docs compiles, and every member of a session or runtime that they name exists", () => {
  expect(snippets.length).toBeGreaterThan(70);
  expect(quotedNames.length).toBeGreaterThan(100);
  const cache = resolve("node_modules/.cache"); // Inside the project, so that imports find its packages.
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, "snippets-"));
  try {
    const places = new Map<string, string>();
    for (const { page, line, code } of snippets) {
      const name = `${page.replace(/^.*\/|\.md$/g, "")}-${line}.ts`;
      places.set(name, `${page}:${line}`);
      writeFileSync(join(folder, name), `${code}\nexport {};\n`);
    }
    for (const [index, { page, line, name }] of quotedNames.entries()) {
      places.set(`name-${index}.ts`, `${page}:${line}`);
      writeFileSync(join(folder, `name-${index}.ts`), `void ${name};\nexport {};\n`);
    }
    writeFileSync(join(folder, "prelude.ts"), PRELUDE);
    writeFileSync(join(folder, "types.ts"), TYPES);
    const config = {
      extends: resolve("tsconfig.json"),
      compilerOptions: { lib: ["es2024", "dom"] },
      include: ["*.ts"],
    };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    const tsc = resolve("node_modules/typescript/bin/tsc");
    const { stdout } = spawnSync(process.execPath, [tsc, "--noEmit", "--pretty", "false", "-p", folder], {
      encoding: "utf8",
    });
    const errors = stdout
      .split("\n")
      .map((line) => /^([\w-]+\.ts)\((\d+),\d+\): (.*)/.exec(line.slice(line.lastIndexOf("/", line.indexOf("(")) + 1)))
      .filter((match) => match !== null && (places.has(match[1]!) || match[1] === "prelude.ts")) // Not of the sources.
      .map((match) => `${places.get(match![1]!) ?? match![1]} + ${Number(match![2]) - 1}: ${match![3]}`);
    expect(errors).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}, 120_000);

const programs = snippets.filter(({ runs }) => runs).map((each) => [`${each.page}:${each.line}`, each] as const);
test.each(programs)(
  "the program at %s runs offline and prints what the page shows",
  async (_name, { code, prints }) => {
    const folder = mkdtempSync(join(tmpdir(), "bowline-snippet-"));
    try {
      const file = join(folder, "agent.ts");
      writeFileSync(file, code);
      // Packages such as zod are those of this project.
      const packages =
        "import { createRequire, registerHooks } from 'node:module';" +
        `const at = createRequire(${JSON.stringify(resolve("package.json"))});` +
        "registerHooks({ resolve: (name, context, next) => { try { return next(name, context); } catch { return next('file://' + at.resolve(name), context); } } });";
      const loader = join(folder, "packages.mjs");
      writeFileSync(loader, packages);
      const args = ["--import", loader, ...(await builtArgv()), "--disable-warning=ExperimentalWarning", file];
      const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
      let output = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
      let errors = "";
      child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
      const status = await new Promise((done) => child.on("close", done));
      expect({ status, errors, output }).toEqual({ status: 0, errors: "", output: prints });
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  60_000,
);

test("the tutorial has five steps, each a program that runs", () => {
  expect(snippets.filter(({ page, runs }) => runs && page === "docs/getting-started.md")).toHaveLength(5);
  expect(pages).toContain("docs/getting-started.md");
});
