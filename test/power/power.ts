// Cuts the power of a recorded process many times over, and tells what became of it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Durability } from "bowline/stores/sqlite";
import type { Cut } from "./cuts.ts";
import type { Image } from "./disk.ts";
import { judge, type Lost, type Verdict, wholeOf } from "./judge.ts";
import { compileShim, lay, type Recording, record } from "./record.ts";

export interface Row {
  readonly durability: Durability;
  images: number;
  opened: number;
  /** Images in which something acknowledged was missing, or ran again. */
  readonly lost: { -readonly [K in keyof Lost]: number };
  repeated: number;
  readonly violations: string[];
}

/** Where processes are recorded and images tried. `problem` says why the shim could not be made. */
export class Bench implements Disposable {
  readonly #folder = mkdtempSync(join(tmpdir(), "bowline-power-"));
  readonly #compiled = compileShim(this.#folder);
  #recordings = 0;

  constructor() {
    if (this.problem !== undefined) this[Symbol.dispose](); // Where all tests are skipped, none is cleaned up after.
  }

  get problem(): string | undefined {
    return "problem" in this.#compiled ? this.#compiled.problem : undefined;
  }

  record(durability: Durability, options: { readonly isDeaf?: boolean; readonly on?: Image } = {}): Promise<Recording> {
    const { on, ...rest } = options;
    if ("problem" in this.#compiled) throw new Error(this.#compiled.problem);
    return record(this.#compiled.shim, join(this.#folder, `${++this.#recordings}`), { durability, ...rest }, on);
  }

  /** Tries images of a recording, one after the other as they are asked for. */
  async *tried(recording: Recording, durability: Durability, images: Iterable<Cut>): AsyncGenerator<Verdict> {
    const folder = join(this.#folder, "image");
    const whole = await wholeOf(recording.left, folder);
    for (const cut of images) {
      const verdict = await judge(cut, durability, whole, folder);
      yield { ...verdict, wrong: verdict.wrong.map((problem) => told(cut, problem)) };
    }
  }

  [Symbol.dispose](): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

let kept = 0;
/** A recording is never the same again, so with POWER_KEEP the images of violations are kept in that folder. */
function told({ at, luck, image }: Cut, problem: string): string {
  const { POWER_KEEP: folder } = process.env;
  const place = folder === undefined ? "" : ` (${lay(image, join(folder, `${++kept}`))})`;
  return `after step ${at}, ${luck}: ${problem}${place}`;
}

/** Adds verdicts up to a row of the table. */
export async function counted(durability: Durability, ...tries: readonly AsyncIterable<Verdict>[]): Promise<Row> {
  const row: Row = {
    durability,
    images: 0,
    opened: 0,
    lost: { inputs: 0, commits: 0, events: 0 },
    repeated: 0,
    violations: [],
  };
  for (const verdicts of tries)
    for await (const { isOpened, lost, repeated, wrong } of verdicts) {
      row.images += 1;
      row.opened += isOpened ? 1 : 0;
      row.repeated += repeated > 0 ? 1 : 0;
      for (const kind of ["inputs", "commits", "events"] as const) row.lost[kind] += lost[kind] > 0 ? 1 : 0;
      row.violations.push(...wrong);
    }
  return row;
}

/** A table; the columns after `opened` count images in which something acknowledged was lost, or ran again. */
export function table(rows: readonly Row[]): string {
  const lines = [
    ["durability", "images", "opened", "lost inputs", "lost commits", "lost events", "ran again", "violations"],
    ...rows.map(({ durability, images, opened, lost, repeated, violations }) =>
      [durability, images, opened, lost.inputs, lost.commits, lost.events, repeated, violations.length].map(String),
    ),
  ];
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  const aligned = lines.map((line) =>
    line.map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!))).join("  "),
  );
  return ["power cut:", ...aligned, ...rows.flatMap(({ violations }) => violations.slice(0, 10))].join("\n");
}
