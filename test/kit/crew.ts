/** Processes that all do the same work, and are killed and replaced. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

export class Crew {
  readonly #program: URL;
  readonly #orders: object;
  readonly #execArgv: readonly string[];
  readonly #all: ChildProcess[] = [];

  /** Each runs the program, and is given the orders as JSON. */
  constructor(program: URL, orders: object, execArgv: readonly string[]) {
    this.#program = program;
    this.#orders = orders;
    this.#execArgv = execArgv;
  }

  hire(): void {
    this.#all.push(this.#begin());
  }

  #begin(): ChildProcess {
    const program = [fileURLToPath(this.#program), JSON.stringify(this.#orders)];
    const given = [...this.#execArgv, "--disable-warning=ExperimentalWarning", ...program];
    return spawn(process.execPath, given, { stdio: ["ignore", "ignore", "inherit"] });
  }

  async replace(place: number): Promise<void> {
    const child = this.#all[place];
    if (child !== undefined) await killed(child);
    this.#all[place] = this.#begin();
  }

  async dismiss(): Promise<void> {
    await Promise.all(this.#all.splice(0).map(killed));
  }
}

async function killed(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) throw new Error("A worker ended by itself.");
  child.kill("SIGKILL");
  await once(child, "exit");
}
