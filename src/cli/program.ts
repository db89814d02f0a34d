import { EventEmitter } from "node:events";
import { userInfo } from "node:os";
import { command } from "./command.ts";
import { EXIT, type Io } from "./io.ts";
import { AppProcess } from "./reload.ts";
import { explain } from "./text.ts";

/** Marks a process that a keeper started (`keeper.ts`). */
const KEPT = "BOWLINE_KEPT";

/** Runs the command in this process, with its streams and signals, and ends the process. */
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
  stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE") process.exit(EXIT.ok); // The reader of the pipe has closed it, as `head` does.
    stderr.write(`${explain(error, env)}\n`);
    process.exit(EXIT.failed);
  });
  stderr.on("error", () => {});
  const start = () => {
    const { fork } = process.getBuiltinModule("node:child_process"); // Loaded on first use: only an app that reloads needs it.
    return fork(process.argv[1] as string, args, { env: { ...env, [KEPT]: "1" } });
  };
  const kept = env[KEPT] === "1" && process.send !== undefined ? new AppProcess() : undefined;
  const about = { env, cwd: process.cwd(), version, user: loginName() };
  const io: Io = { stdin, stdout, stderr, ...about, interrupts, start, kept };
  const code = await command(args, io);
  // First flushes all output. Then ends the process, because an open stdin or an unfinished turn would keep it running.
  stdout.write("", () => stderr.write("", () => setImmediate(() => process.exit(code))));
}

/** Undefined if the user has no entry, as in many containers. */
function loginName(): string | undefined {
  try {
    return userInfo().username || undefined;
  } catch {
    return undefined;
  }
}
