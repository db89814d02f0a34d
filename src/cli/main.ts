#!/usr/bin/env node
import { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import { command } from "./command.ts";
import { EXIT, type Io } from "./io.ts";
import { explain } from "./print.ts";

const { stdin, stdout, stderr, env } = process;
const interrupts: Io["interrupts"] = new EventEmitter();

process.on("SIGINT", () => {
  if (!interrupts.emit("interrupt")) process.exit(EXIT.interrupted);
});
for (const event of ["uncaughtException", "unhandledRejection"] as const) {
  process.on(event, (error: unknown) => {
    stderr.write(`${explain(error, env)}\n`);
    process.exit(EXIT.failed);
  });
}
// Whoever read our output has gone: there is nobody left to tell.
for (const output of [stdout, stderr]) {
  output.on("error", (error: NodeJS.ErrnoException) => {
    process.exit(error.code === "EPIPE" ? EXIT.ok : EXIT.failed);
  });
}

const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
  version: string;
};
const code = await command(process.argv.slice(2), { stdin, stdout, stderr, env, version, interrupts });
// An open stdin, or a turn that was left, would keep the process; what was written goes out first.
stdout.write("", () => stderr.write("", () => process.exit(code)));
