// What a process reads before it does anything: counted on the package as it is built, in a process that loads it.
import { execFileSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { builtPackage } from "../kit/built.ts";

const KB = 1_000;
const folder = await builtPackage();
const counter = join(mkdtempSync(join(tmpdir(), "bowline-package-")), "count.mjs");

beforeAll(() => writeFileSync(counter, COUNT));
afterAll(() => rmSync(dirname(counter), { recursive: true }));

/** Writes the files that were loaded, and their sizes, when the process ends. */
const COUNT = `
  import { registerHooks } from "node:module";
  const loaded = [];
  registerHooks({
    load(url, context, next) {
      const found = next(url, context);
      loaded.push({ url, bytes: found.source?.length ?? 0 });
      return found;
    },
  });
  process.on("exit", () => console.log(JSON.stringify(loaded)));
`;

interface Loaded {
  /** The code that is read, builtin modules apart. */
  readonly bytes: number;
  readonly files: readonly string[];
  readonly builtins: readonly string[];
}

const loads = (program: string): Loaded => counted("--input-type=module", "-e", program);
const commandLoads = (...args: readonly string[]): Loaded => counted(join(folder, "dist/cli/main.js"), ...args);

function counted(...program: readonly string[]): Loaded {
  const args = ["--import", pathToFileURL(counter).href, ...program];
  const output = execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  const all = JSON.parse(output.trimEnd().split("\n").at(-1)!) as { readonly url: string; readonly bytes: number }[];
  const own = all.filter(({ url }) => url.startsWith("file:"));
  return {
    bytes: own.reduce((sum, { bytes }) => sum + bytes, 0),
    files: own.map(({ url }) => url.slice(url.lastIndexOf("/") + 1)),
    builtins: all.filter(({ url }) => url.startsWith("node:")).map(({ url }) => url),
  };
}

const session = (then: string): string => `
  import { createRuntime } from "bowline";
  import { says, scripted } from "bowline/providers/scripted";
  import { memory } from "bowline/stores/memory";
  const runtime = await createRuntime({ store: memory(), model: scripted(says("Hello.")) });
  const session = await runtime.session("one");
  ${then}
  await runtime.close();
`;
const TURN = session(`
  const { outcome } = await session.turn("Hi").result();
  if (outcome.kind !== "answered") throw new Error(outcome.kind);
`);
const BACKGROUND = /^(?:rooms|croner|code\b|salvage|quickjs|acorn|ajv)/;

test("an import of the main entry reads less than 110 KB", () => {
  const { bytes, files } = loads(`import "bowline";`);
  expect(bytes).toBeLessThan(110 * KB);
  expect(files.filter((file) => BACKGROUND.test(file) || file.startsWith("defaults"))).toEqual([]);
});

test("a text turn loads no jobs, monitors, triggers, cron, webhooks or code cells, and no host, adapter or reader but its own", () => {
  const { bytes, files, builtins } = loads(TURN);
  expect(files.filter((file) => BACKGROUND.test(file) || /^(?:journal|ai-sdk|live)-/.test(file))).toEqual([]);
  expect(builtins).not.toContain("node:child_process");
  expect(bytes).toBeLessThan(900 * KB);
  expect(files.length).toBeLessThan(50);
});

test("a name that two entries export is one value in both, so that what an author makes with one is recognised by the other", () => {
  const program = `
    const entries = ["bowline", "bowline/plugin", "bowline/protocol", "bowline/provider"];
    const given = (await Promise.all(entries.map((entry) => import(entry)))).map((module) => Object.entries(module));
    const shared = given.flat().filter(([name], nth, all) => all.findIndex(([other]) => other === name) < nth);
    const isOne = ([name, value]) => given.flat().every(([other, its]) => other !== name || its === value);
    console.log(JSON.stringify({
      shared: [...new Set(shared.map(([name]) => name))].sort(),
      different: shared.filter((each) => !isOne(each)).map(([name]) => name),
    }));
  `;
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", program], {
    cwd: folder,
    encoding: "utf8",
  });
  const { shared, different } = JSON.parse(output) as { readonly shared: string[]; readonly different: string[] };
  expect(different).toEqual([]);
  expect(shared).toEqual(
    expect.arrayContaining(["RuntimeError", "ToolError", "definePlugin", "defineTool", "extension", "finish", "point"]),
  );
});

test("the first use of jobs loads them", () => {
  const { files, builtins } = loads(session(`await session.jobs.list();`));
  expect(files.some((file) => file.startsWith("rooms"))).toBe(true);
  expect(builtins).toContain("node:child_process");
});

test.each(["--help", "--version"])("E6 bowline %s reads less than 17 KB, in at most 5 files", (flag) => {
  const { bytes, files, builtins } = commandLoads(flag);
  expect(bytes).toBeLessThan(17 * KB);
  expect(files.length).toBeLessThanOrEqual(5);
  expect(builtins).not.toContain("node:child_process");
});

test("E6 a command loads what it needs: a list of sessions no runtime, and a turn no model but its own", () => {
  const turn = commandLoads("run", "hello");
  expect(
    turn.files.filter((file) => BACKGROUND.test(file) || /^(?:ai-sdk|chat|keeper|doctor|app)-/.test(file)),
  ).toEqual([]);
  const list = commandLoads("sessions");
  expect(
    list.files.filter((file) => /^(?:ai-sdk|demo|chat|keeper|doctor|app|bundled|run|defaults)-/.test(file)),
  ).toEqual([]);
  expect(list.bytes).toBeLessThan(435 * KB);
});

test("J1 code of jobs that fails to load is loaded by the next use, and the runtime closes all the same", () => {
  const program = `
    import { registerHooks } from "node:module";
    let failures = 0;
    registerHooks({
      load(url, context, next) {
        if (!/\\/rooms-[^/]*\\.js$/.test(url) || failures === 2) return next(url, context);
        throw new Error("EMFILE " + ++failures);
      },
    });
    const { createRuntime } = await import("bowline");
    const { says, scripted } = await import("bowline/providers/scripted");
    const { memory } = await import("bowline/stores/memory");
    const closed = [];
    const open = async (name) => {
      const store = memory();
      const close = store.close.bind(store);
      store.close = () => (closed.push(name), close());
      return createRuntime({ store, model: scripted(says("Hello.")) });
    };
    const told = ({ message }) => message;
    const one = await open("one");
    const found = [await one.jobs.list().catch(told)];
    await one.close();
    const two = await open("two");
    found.push(await two.jobs.list().catch(told), await two.jobs.list().catch(told));
    await two.close();
    console.log(JSON.stringify({ found, closed }));
  `;
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", program], {
    cwd: folder,
    encoding: "utf8",
  });
  expect(JSON.parse(output)).toEqual({ found: ["EMFILE 1", "EMFILE 2", []], closed: ["one", "two"] });
});

// ── Without optional packages ───────────────────────────────────────────────────────────────────────────────────────

/** Installs the built package with its dependencies and no peer, as npm does, and returns the app's folder. */
function appWithoutPeers(): string {
  const app = mkdtempSync(join(tmpdir(), "bowline-app-"));
  onTestFinished(() => rmSync(app, { recursive: true }));
  const modules = join(app, "node_modules");
  mkdirSync(join(modules, "bowline"), { recursive: true });
  copyFileSync("package.json", join(modules, "bowline", "package.json"));
  cpSync(join(folder, "dist"), join(modules, "bowline", "dist"), { recursive: true });
  const { dependencies } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly dependencies: object };
  for (const name of Object.keys(dependencies)) {
    mkdirSync(dirname(join(modules, name)), { recursive: true }); // Of a scope
    symlinkSync(resolve("node_modules", name), join(modules, name), "dir");
  }
  return app;
}

test("E7 without the package pg the Postgres store loads, and its first call names the package to install", () => {
  const program = `
    import { createRuntime } from "bowline";
    import { says, scripted } from "bowline/providers/scripted";
    import { postgres } from "bowline/stores/postgres";
    const url = "postgres://localhost/db";
    const told = ({ name, code, message, hint }) => ({ name, code, message, hint });
    const store = postgres(url);
    const found = [await store.ready().catch(told), await store.has("one").catch(told)];
    await store.close();
    found.push(await createRuntime({ store: postgres(url), model: scripted(says("Hi.")) }).catch(told));
    console.log(JSON.stringify(found));
  `;
  const output = execFileSync(process.execPath, ["--input-type=module", "-e", program], {
    cwd: appWithoutPeers(),
    encoding: "utf8",
  });
  const expected = {
    name: "RuntimeError",
    code: "package.unavailable",
    message: "The package pg is not installed.",
    hint: "Install it: npm install pg.",
  };
  expect(JSON.parse(output)).toEqual([expected, expected, expected]);
});
