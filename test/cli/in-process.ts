import { EventEmitter } from "node:events";
import { PassThrough, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { command } from "../../src/cli/command.ts";
import type { Io } from "../../src/cli/io.ts";
import { folder } from "./program.ts";

/** The whole program but for its process, in a new folder unless one is given. */
export async function inProcess(
  args: readonly string[],
  input = "",
  { cwd = folder(), env = {} }: { readonly cwd?: string; readonly env?: Io["env"] } = {},
) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const io: Io = {
    stdin: Readable.from([input]),
    stdout,
    stderr,
    env,
    cwd,
    version: "0.0.0",
    interrupts: new EventEmitter(),
  };
  const code = await command(args, io);
  stdout.end();
  stderr.end();
  return { code, stdout: await text(stdout), stderr: await text(stderr) };
}
