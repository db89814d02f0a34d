import { EventEmitter } from "node:events";
import { command } from "./command.ts";
import { EXIT, type Io } from "./io.ts";
import { explain } from "./print.ts";

/** The command in this process: its streams, its signals, its end. */
export async function program(args: readonly string[], version: string): Promise<void> {
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
  for (const output of [stdout, stderr]) {
    // Whoever read our output has gone: there is nobody left to tell.
    output.on("error", (error: NodeJS.ErrnoException) => {
      process.exit(error.code === "EPIPE" ? EXIT.ok : EXIT.failed);
    });
  }
  const code = await command(args, { stdin, stdout, stderr, env, version, interrupts });
  // An open stdin, or a turn that was left, would keep the process; what was written goes out first.
  stdout.write("", () => stderr.write("", () => process.exit(code)));
}
