// `bowline init`: writes a small agent project.
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import type { InitFiles } from "./init-files.ts";
import { EXIT, type Io, type Settings, UsageError } from "./io.ts";
import { messageOf, printable } from "./text.ts";

export async function init(io: Io, _: Settings, words: readonly string[]): Promise<number> {
  const [given = "", ...others] = words;
  if (given === "" || others.length > 0)
    throw new UsageError("init takes one folder.", "For example bowline init my-agent, or a dot for this folder.");
  const folder = resolve(io.cwd, given);
  requireEmpty(folder, given);
  const { initFiles } = await import("./init-files.ts");
  const files = initFiles({ name: nameFor(folder), version: io.version });
  write(folder, files, given);
  const way = relative(io.cwd, folder);
  const lines = [
    `Wrote an agent to ${way === "" ? "this folder" : given}:`,
    ...Object.entries(files).map(([name, { about }]) => `  ${name.padEnd(15)}${about}`),
    "",
    "Next:",
    ...(way === "" ? [] : [`  cd ${/^[\w./-]+$/.test(way) ? way : `'${way.replaceAll("'", `'\\''`)}'`}`]),
    "  npm install",
    "  npm start      prints the address of a chat page. It needs no key: the demo model works offline",
    "  npm test       runs agent.test.ts, without a network",
  ];
  io.stdout.write(`${lines.map(printable).join("\n")}\n`);
  return EXIT.ok;
}

function requireEmpty(folder: string, given: string): void {
  try {
    const [found] = readdirSync(folder).filter((name) => name !== ".git");
    if (found !== undefined)
      throw new UsageError(`The folder ${given} is not empty: it has ${found}.`, "Name a new folder.");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOTDIR") throw new UsageError(`${given} is a file.`, "Name a new folder.");
    if (code !== "ENOENT") throw error;
  }
}

function write(folder: string, files: InitFiles, given: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    for (const [name, { text }] of Object.entries(files)) writeFileSync(join(folder, name), text, { flag: "wx" });
  } catch (error) {
    throw Object.assign(new Error(`The agent cannot be written to ${given}: ${messageOf(error)}.`, { cause: error }), {
      hint: "Name a folder that this user can write.",
    });
  }
}

/** A name that npm accepts. */
function nameFor(folder: string): string {
  const name = basename(folder)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+|[._-]+$/g, "")
    .slice(0, 100);
  return ["", "bowline", "node_modules"].includes(name) ? "my-agent" : name;
}
