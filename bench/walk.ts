// `node bench/walk.ts <dist|src> <input> [durable]` prints the functions on the path of such a turn, as JSON.
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { calledDuring } from "./coverage.ts";
import type { Passed } from "./path.ts";
import * as script from "./script.ts";
import { openerFrom, type Tree } from "./sides.ts";

const WARM_UPS = 30;
const TURNS = 10;

const [tree = "", input = "", durable] = process.argv.slice(2);

const open = await openerFrom(tree as Tree);
const dir = mkdtempSync(join(tmpdir(), "bowline-bench-"));
const agent = await open({ script, durable: durable === "durable", dir });
const called = await calledDuring(WARM_UPS, TURNS, async (index) => void (await agent.turn(`s${index}`, input)));
await agent.close();
rmSync(dir, { recursive: true });

const root = new URL(`../${tree}/`, import.meta.url).href;
const path = called
  .filter(({ url, name, calls }) => url.startsWith(root) && calls >= TURNS && !isLeftOut(name))
  .map(({ url, name, offset, calls }): Passed => {
    const line = readFileSync(fileURLToPath(url), "utf8").slice(0, offset).split("\n").length;
    return { file: `${tree}/${url.slice(root.length)}`, line, name: name || "(anonymous)", calls: calls / TURNS };
  });
console.log(JSON.stringify(path));

/**
 * Leaves field initialisers out: whether fields are set by a function of their own is decided by the build, not by the
 * author.
 */
function isLeftOut(name: string): boolean {
  return tree === "src" && name === "<instance_members_initializer>";
}
