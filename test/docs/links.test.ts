import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { posix } from "node:path";
import { expect, test } from "vitest";

const { files } = JSON.parse(readFileSync("package.json", "utf8")) as { files: readonly string[] };

/** `dist` is left out: it need not be built here, and no page may link into it. */
const shipped = ["package.json", ...files.filter((file) => file !== "dist")];
const isShipped = (path: string): boolean => shipped.some((each) => path === each || path.startsWith(`${each}/`));
const pages = globSync(shipped.flatMap((each) => (statSync(each).isDirectory() ? `${each}/**/*.md` : each)))
  .map((file) => file.replaceAll("\\", "/"))
  .filter((file) => file.endsWith(".md"))
  .sort();

const withoutCode = (text: string): string => text.replace(/^```[\s\S]*?^```$/gm, "").replace(/`[^`\n]*`/g, "`");

interface Link {
  readonly page: string;
  readonly to: string;
}
const links = pages.flatMap((page): readonly Link[] =>
  Array.from(withoutCode(readFileSync(page, "utf8")).matchAll(/\]\(([^)\s]+)\)/g), ([, to = ""]) => ({ page, to })),
);

/** The anchors of a page: its headings, in lower case, with hyphens for spaces and without other signs. */
function anchorsOf(page: string): ReadonlySet<string> {
  const text = readFileSync(page, "utf8").replace(/^```[\s\S]*?^```$/gm, "");
  const anchors = new Set<string>();
  for (const [, heading = ""] of text.matchAll(/^#+ (.*)$/gm)) {
    const plain = heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, "")
      .replaceAll(" ", "-");
    let anchor = plain;
    for (let again = 1; anchors.has(anchor); again++) anchor = `${plain}-${again}`;
    anchors.add(anchor);
  }
  return anchors;
}

function problemOf({ page, to }: Link): string | undefined {
  if (/^[a-z]+:/.test(to)) return undefined;
  const [path = "", anchor] = to.split("#");
  const file = path === "" ? page : posix.join(posix.dirname(page), path);
  if (!existsSync(file)) return "there is no such file";
  if (!isShipped(file)) return "it is not in the package";
  if (anchor !== undefined && !anchorsOf(file).has(anchor)) return "the page has no such heading";
  return undefined;
}

test("every link of the README and the docs leads somewhere inside the npm package, to a heading that is there", () => {
  expect(pages).toContain("README.md");
  expect(links.length).toBeGreaterThan(70);
  const dead = links.flatMap((link) => {
    const problem = problemOf(link);
    return problem === undefined ? [] : [`${link.page}: ${link.to}: ${problem}`];
  });
  expect(dead).toEqual([]);
});

test("every page of the docs can be reached from the README", () => {
  const seen = new Set(["README.md"]);
  for (const page of seen)
    for (const { to } of links.filter((link) => link.page === page)) {
      const file = posix.join(posix.dirname(page), to.split("#")[0] ?? "");
      if (pages.includes(file)) seen.add(file);
    }
  expect(pages.filter((page) => page.startsWith("docs/") && !seen.has(page))).toEqual([]);
});
