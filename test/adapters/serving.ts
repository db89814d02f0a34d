/** The server of `server.ts` in a process, for tests that kill it. */
import { spawn } from "node:child_process";
import { builtArgv } from "../kit/built.ts";
import { stopAtEnd } from "../kit/programs.ts";
import { within } from "../kit/reading.ts";

export interface Running {
  readonly url: string;
  kill(): Promise<void>;
}

export async function started(path: string, port: number, script?: string): Promise<Running> {
  const program = new URL("server.ts", import.meta.url).pathname;
  const args = [
    ...(await builtArgv()),
    "--disable-warning=ExperimentalWarning",
    program,
    path,
    String(port),
    script ?? [],
  ].flat();
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const exit = new Promise<void>((resolve) => child.once("exit", () => resolve()));
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await exit;
  };
  stopAtEnd(kill);
  await within(new Promise((resolve) => child.stdout?.once("data", resolve)), 20_000);
  return { url: `http://127.0.0.1:${port}`, kill };
}
