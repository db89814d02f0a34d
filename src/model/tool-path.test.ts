import { expect, test } from "vitest";
import { calleeOf, isToolPath, type ToolPaths, toolPaths } from "./tool-path.ts";

const named = (...names: readonly string[]) => names.map((name) => ({ name }));
const pathsOf = (paths: ToolPaths, ...names: readonly string[]) => names.map((name) => paths.pathOf(name));

test("P7: a tool is called at its own path, and by its name all the same", () => {
  const paths = toolPaths([{ name: "read_file", path: "files.read" }]);
  expect(paths.pathOf("read_file")).toBe("files.read");
  expect(paths.nameOf("files.read")).toBe("read_file");
  expect(paths.nameOf("read_file")).toBe("read_file");
  expect(paths.nameOf("files.write")).toBe(undefined);
  expect(paths.modules).toEqual(new Map([["files", new Set(["read"])]]));
});

test.each([
  ["mcp__github__list_issues", "github.list_issues"],
  ["mcp__github__repo__get", "github.repo__get"],
  ["mcp__a_b__c", "a_b.c"],
  ["mcp__github__delete", "github.delete"],
  // The rest cannot be written as module and operation.
  ["mcp__my-server__list", "mcp__my-server__list"],
  ["mcp__github__get-issue", "mcp__github__get-issue"],
  ["mcp__github__then", "mcp__github__then"],
  ["mcp__print__page", "mcp__print__page"],
  ["mcp__1password__get", "mcp__1password__get"],
  ["mcp__tools__search", "mcp__tools__search"],
  ["mcp__github", "mcp__github"],
])("P7: %s is called at %s, though no other tool is beside it", (name, path) => {
  expect(toolPaths(named(name)).pathOf(name)).toBe(path);
  expect(toolPaths(named(name)).nameOf(path)).toBe(name);
});

test("P7: a prefix is a module once two tools share it", () => {
  expect(pathsOf(toolPaths(named("jobs_list", "weather")), "jobs_list", "weather")).toEqual(["jobs_list", "weather"]);
  const paths = toolPaths(named("jobs_list", "jobs_stop_all", "weather"));
  expect(pathsOf(paths, "jobs_list", "jobs_stop_all", "weather")).toEqual(["jobs.list", "jobs.stop_all", "weather"]);
  expect([...paths.modules.keys()]).toEqual(["jobs"]);
});

test("P7: a prefix is not shared by tools that have a path, or that it could not call", () => {
  const others = [
    { name: "jobs_stop", path: "work.stop" },
    ...named("jobs_", "jobs_toJSON", "jobs_get-all", "mcp__jobs__x"),
  ];
  expect(toolPaths([...named("jobs_list"), ...others]).pathOf("jobs_list")).toBe("jobs_list");
});

test("P7: of two tools with one path the first has it, and the other is called by its name", () => {
  const paths = toolPaths([
    { name: "read_file", path: "files.read" },
    { name: "read_blob", path: "files.read" },
    ...named("mcp__files__read", "files_read", "files_write"),
  ]);
  expect(paths.nameOf("files.read")).toBe("read_file");
  expect(pathsOf(paths, "read_blob", "mcp__files__read", "files_read", "files_write")).toEqual([
    "read_blob",
    "mcp__files__read",
    "files_read",
    "files.write",
  ]);
});

test("P7: a tool's own path stands over one that follows from a name, wherever it is in the list", () => {
  const paths = toolPaths([...named("files_read", "files_write"), { name: "cat", path: "files.read" }]);
  expect(paths.nameOf("files.read")).toBe("cat");
  expect(paths.pathOf("files_read")).toBe("files_read");
});

test("P7: a module that is taken is none", () => {
  const tools = [{ name: "out", path: "print.line" }, ...named("mcp__print__page", "print_a", "print_b", "mcp__a__b")];
  const paths = toolPaths(tools, new Set(["print"]));
  expect(pathsOf(paths, ...tools.map(({ name }) => name))).toEqual([
    "out",
    "mcp__print__page",
    "print_a",
    "print_b",
    "a.b",
  ]);
  expect(paths.nameOf("print.line")).toBe(undefined);
  expect([...paths.modules.keys()]).toEqual(["a"]);
});

test("P7: `tools` is never a module, as its operations would be names of tools", () => {
  const paths = toolPaths([...named("search", "tools_search", "tools_list"), { name: "open", path: "tools.open" }]);
  expect(paths.modules.size).toBe(0);
  expect(calleeOf(paths.pathOf("search"))).toBe("tools.search");
  expect(calleeOf(paths.pathOf("tools_search"))).toBe("tools.tools_search");
});

test("P7: names of the language's own objects are names like others", () => {
  const names = ["constructor", "toString", "hasOwnProperty", "a_toLocaleString", "a_b"];
  const paths = toolPaths(named(...names));
  expect(pathsOf(paths, ...names)).toEqual(["constructor", "toString", "hasOwnProperty", "a.toLocaleString", "a.b"]);
  for (const name of ["__proto__", "valueOf", "a.constructor"]) expect(paths.nameOf(name), name).toBe(undefined);
});

test("P7: each of a thousand tools has a separate path that leads back to it", () => {
  const tools = Array.from({ length: 1_000 }, (_, index) => {
    const own = index % 3 === 0 ? { path: `m${index % 7}.op${index}` } : {};
    return { name: index % 3 === 1 ? `mcp__s${index % 10}__t${index}` : `g${index % 20}_t${index}`, ...own };
  });
  const paths = toolPaths(tools);
  expect(new Set(tools.map(({ name }) => paths.pathOf(name))).size).toBe(1_000);
  expect(tools.filter(({ name }) => paths.nameOf(paths.pathOf(name)) !== name)).toEqual([]);
  expect(tools.filter(({ name }) => !paths.pathOf(name).includes("."))).toEqual([]);
});

test.each([
  "files.read",
  "a.b",
  "Files2.read_all",
  "files._private",
  "files.delete",
  "files.new",
  `${"m".repeat(63)}.${"o".repeat(64)}`,
])("P7: %s can be a path", (path) => expect(isToolPath(path)).toBe(true));
test.each([
  "files",
  "files.",
  ".read",
  "files.read.all",
  "files read",
  "_files.read",
  "$files.read",
  "1files.read",
  "files.1",
  "files.get-all",
  "class.read",
  "files.then",
  "files.constructor",
  "files.toJSON",
  "files.toString",
  "files.valueOf",
  "files.prototype",
  "files.__proto__",
  "__proto__.read",
  "tools.read",
  "print.line",
  "Map.of",
  "files.re\nad",
  "files.read\n",
  `${"m".repeat(64)}.${"o".repeat(64)}`,
  "",
  undefined,
  null,
  7,
  ["files.read"],
])("P7: %j can be none", (path) => expect(isToolPath(path)).toBe(false));

test.each([
  ["files.read", "files.read"],
  ["weather", "tools.weather"],
  ["get-weather", 'tools["get-weather"]'],
  ["2do", 'tools["2do"]'],
  ["delete", "tools.delete"],
  ["then", 'tools["then"]'],
])("P7: a call at %s is written %s", (path, callee) => expect(calleeOf(path)).toBe(callee));

test("P7: what the language has by a name is not taken away by a module", () => {
  const names = ["parseInt_a", "parseInt_b", "Uint8Array_a", "Uint8Array_b", "toString_a", "toString_b"];
  expect(pathsOf(toolPaths(named(...names)), ...names)).toEqual(names);
});
