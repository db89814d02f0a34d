/** Another process on the same file. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const src = (path: string): string => JSON.stringify(new URL(`../../src/${path}`, import.meta.url).href);
const ELSEWHERE = `
import { writeSync } from "node:fs";
import { createRuntime, defineTool } from ${src("index.ts")};
import { sqlite } from ${src("stores/sqlite.ts")};
import { calls, says, scripted } from ${src("providers/scripted.ts")};
const [path, ...args] = process.argv.slice(1);
const say = (...words) => writeSync(1, words.map((each) => typeof each === "string" ? each : JSON.stringify(each)).join(" ") + "\\n");
const heard = new Promise((resolve) => process.stdin.once("data", () => resolve()));
const store = sqlite(path, { durability: "process" });
/** Goes by the name of the model here: a turn ends with the model it began with. */
const plays = (...replies) => ({ ...scripted(...replies), id: "listener" });
`;

export interface Elsewhere {
  /** The next line that it says; undefined when it has ended. */
  next(): Promise<string | undefined>;
  /** Lets it go on from `await heard`. */
  tell(): void;
  kill(): Promise<void>;
  readonly ended: Promise<unknown>;
}

/** A program in a process of its own, on the same file: it has `store`, `say`, `args`, `heard` and the runtime's doors. */
export function elsewhere(program: string, path: string, ...args: readonly string[]): Elsewhere {
  const child = spawn(
    process.execPath,
    [
      "--disable-warning=ExperimentalWarning",
      "--input-type=module",
      "-e",
      `${ELSEWHERE}${program}\nprocess.stdin.destroy();`,
      path,
      ...args,
    ],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const ended = once(child, "close");
  return {
    next: async () => ((await lines.next()) as IteratorResult<string, undefined>).value,
    tell: () => void child.stdin.write("go\n"),
    kill: async () => {
      child.kill("SIGKILL");
      await ended;
    },
    ended,
  };
}
