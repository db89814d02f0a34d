import { globSync, readFileSync } from "node:fs";
import { HOOKS } from "bowline/plugin";
import { describe, expect, test } from "vitest";

/** The methods of the reference, by the part of it that they are in. */
const METHODS: { readonly [section: string]: number } = {
  "Plugin session, newer form": 37,
  "Plugin session, older form": 3,
  "Host services": 37,
  Session: 14,
  Protocol: 23,
};

interface Row {
  readonly section: string;
  readonly reference: string;
  readonly bowline: string;
  readonly proof: string;
}
const rows: readonly Row[] = readFileSync("test/reference-map.md", "utf8")
  .split(/^## /m)
  .slice(1)
  .flatMap((part) => {
    const section = part.slice(0, part.indexOf("\n"));
    const cells = Array.from(part.matchAll(/^\| (`.*?) \| (.*?) \| (.*?) ?\|$/gm));
    return cells.map(([, reference = "", bowline = "", proof = ""]) => ({ section, reference, bowline, proof }));
  });

// ── Proofs ──────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Titles as they stand in the sources, placeholders included: `test("…",` and `test.each(…)("…",`. */
const TITLE =
  /(?:\b(?:test|it)(?:\.\w+)*|\))\(\s*(?:"((?:\\.|[^"\\\n])*)"|'((?:\\.|[^'\\\n])*)'|`((?:\\.|[^`\\])*)`)\s*,/g;
const titles = new Set(
  globSync(["src/**/*.test.ts", "test/**/*.test.ts"]).flatMap((file) =>
    Array.from(readFileSync(file, "utf8").matchAll(TITLE), ([, double, single, template]) =>
      (double ?? single ?? template ?? "").replace(/\\(["'`])/g, "$1"),
    ),
  ),
);

/** What is wrong with a proof; undefined when nothing is. */
function problemOf(proof: string): string | undefined {
  if (!/^"[^"]+"(; "[^"]+")*$/.test(proof)) return `not proved: ${proof || "nothing"}`;
  const missing = Array.from(proof.matchAll(/"([^"]+)"/g), ([, title = ""]) => title).filter(
    (each) => !titles.has(each),
  );
  return missing.length === 0 ? undefined : `no such test: ${missing.join("; ")}`;
}

// ── Names ───────────────────────────────────────────────────────────────────────────────────────────────────────────

const declarations = globSync("api/**/*.d.ts").map((file) => ({
  isDoor: !/^api[\\/]shared/.test(file),
  text: readFileSync(file, "utf8"),
}));
const exported = new Set(
  declarations
    .filter(({ isDoor }) => isDoor)
    .flatMap(({ text }) => Array.from(text.matchAll(/^export \{([^}]*)\}/gm), ([, names = ""]) => names))
    .flatMap((names) => Array.from(names.matchAll(/(\w+)\s*(?:,|$)/g), ([, name = ""]) => name)),
);
const bodies = new Map(
  declarations.flatMap(({ text }) =>
    Array.from(text.matchAll(/^interface (\w+)([^\n]*)\{\n([\s\S]*?)^\}/gm), ([, name = "", heads = "", body = ""]) => [
      name,
      { body, above: Array.from(heads.match(/ extends (.*)$/)?.[1]?.matchAll(/\w+/g) ?? [], ([each]) => each) },
    ]),
  ) as [string, { readonly body: string; readonly above: readonly string[] }][],
);
/** The members of an interface, with those of the interfaces that it extends. */
const interfaces = new Map(
  Array.from(bodies, ([name, { body, above }]) => [
    name,
    [body, ...above.map((each) => bodies.get(each)?.body)].join(""),
  ]),
);

/** The map's words for what has another name in the types. */
const TYPES: { readonly [root: string]: string } = {
  session: "Session",
  runtime: "Runtime",
  turn: "Turn",
  services: "Services",
  protocolSession: "ProtocolSession",
  protocolDriver: "ProtocolDriverSlot",
  codeExecutor: "CodeExecutor",
};

/** The body of a member's type, "" when it is none with members; undefined when there is no such member. */
function memberOf(body: string, name: string): string | undefined {
  const [whole, type = ""] = new RegExp(`^  (?:readonly )?${name}\\??(?=[(<:])(.*)$`, "m").exec(body) ?? [];
  if (whole === undefined) return undefined;
  if (type !== ": {") return interfaces.get(/^: (\w+)/.exec(type)?.[1] ?? "") ?? "";
  const inside = body.slice(body.indexOf(whole) + whole.length + 1);
  return inside.slice(0, inside.search(/^ {2}\}/m)).replace(/^ {2}/gm, "");
}

type Found = "found" | "missing" | "no name";
/** Whether a piece of code, such as `session.tools.apply`, names something that is there. */
function find(code: string): Found {
  const [root = "", ...members] = /^[\w.]+/.exec(code)?.[0].split(".") ?? [];
  const isKnown = root in TYPES || root in HOOKS || exported.has(root);
  if (!isKnown) return "no name";
  let body: string | undefined = interfaces.get(TYPES[root] ?? root) ?? "";
  for (const member of members) body = body === undefined ? undefined : memberOf(body, member);
  return body === undefined ? "missing" : "found";
}

describe("the reference map", () => {
  test("has a row for every public method of the reference, once", () => {
    const methods = rows.filter(({ section }) => section in METHODS);
    const counts = Object.groupBy(methods, ({ section }) => section);
    expect(Object.fromEntries(Object.entries(counts).map(([section, each]) => [section, each?.length]))).toEqual(
      METHODS,
    );
    const names = methods.map(({ section, reference }) => `${section}: ${reference}`);
    expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
  });

  test("names a test for every row, and that test is there", () => {
    const problems = rows.flatMap(({ section, reference, proof }) => {
      const problem = problemOf(proof);
      return problem === undefined ? [] : [`${section}: ${reference}: ${problem}`];
    });
    expect(problems).toEqual([]);
  });

  test("names what is exported, with members that are there", () => {
    const problems = rows.flatMap(({ section, reference, bowline }) => {
      const codes = Array.from(bowline.matchAll(/`([^`]+)`/g), ([, code = ""]) => code);
      const missing = codes.filter((code, index) => {
        const found = find(code);
        return found === "missing" || (found === "no name" && index === 0);
      });
      return codes.length > 0 && missing.length === 0
        ? []
        : [`${section}: ${reference}: ${missing.join(", ") || "nothing named"}`];
    });
    expect(problems).toEqual([]);
  });

  test("would notice what is not there", () => {
    expect(["session.tools.apply", "services.complete.text", "createRuntime"].map(find)).toEqual(
      Array(3).fill("found"),
    );
    expect(["session.tools.aply", "services.graf", "Session.nothing"].map(find)).toEqual(Array(3).fill("missing"));
    expect(["createRumtime", "store.corrupt"].map(find)).toEqual(["no name", "no name"]);
    expect(problemOf('"the reference map would notice nothing"')).toContain("no such test");
    expect(problemOf("")).toContain("not proved");
    expect(problemOf('"would notice what is not there"; TODO(jobs)')).toContain("not proved");
    expect(problemOf('"would notice what is not there"')).toBeUndefined();
  });
});
