// The files of the studio, as the package has them.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { builtPackage } from "../kit/built.ts";

const folder = await builtPackage();
const FILES = ["dist/studio/studio.css", "dist/studio/studio.js"];

test("E6 the studio has at most 90 KB in all, compressed", () => {
  const sizes = FILES.map((file) => gzipSync(readFileSync(join(folder, file)), { level: 9 }).byteLength);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThanOrEqual(90 * 1_024);
});

test("E6 the published package contains the studio", () => {
  const listed = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  const [packed] = JSON.parse(listed) as readonly { readonly files: readonly { readonly path: string }[] }[];
  expect(packed?.files.map(({ path }) => path).filter((path) => path.startsWith("dist/studio/"))).toEqual(FILES);
});

test("E6 the studio loads nothing from elsewhere: it has no address of another server", () => {
  const addresses = FILES.flatMap(
    (file) => readFileSync(join(folder, file), "utf8").match(/\bhttps?:\/\/[^\s"'`)]+/g) ?? [],
  );
  const names =
    /^http:\/\/www\.w3\.org\/(?:2000\/svg|1999\/xhtml|1998\/Math\/MathML|1999\/xlink)$|^https:\/\/github\.com\/markedjs\/marked\.$/; // Names, which nothing loads.
  expect(addresses.filter((address) => !names.test(address))).toEqual([]);
});

test("E6 no two styles of pages name the same class, because all styles are on each page", () => {
  const pages = { session: ["session", "talk"], turn: ["turn", "timeline", "waits"], turns: ["turns"], work: ["work"] };
  const owners = new Map<string, Set<string>>();
  for (const [page, files] of Object.entries(pages))
    for (const file of files)
      for (const [, name] of readFileSync(`src/studio/style/${file}.css`, "utf8").matchAll(/^\.([a-z][\w-]*)/gm))
        owners.set(name as string, (owners.get(name as string) ?? new Set()).add(page));
  const shared = [...owners]
    .filter(([, files]) => files.size > 1)
    .map(([name, files]) => `${name}: ${[...files].join()}`);
  expect(shared).toEqual([]);
});
