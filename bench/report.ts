import { median } from "./meters.ts";

export interface Row {
  readonly workload: string;
  readonly unit: string;
  readonly floor: number | null;
  readonly bowline: number;
  /** The ratio to the floor; null where a ratio makes no sense. */
  readonly ratio: number | null;
  readonly about: string;
  /** The smallest and largest ratio of a single round: how noisy the measurement was. */
  readonly spread?: readonly [number, number];
  /** The upper bound: a multiple of the floor or, where there is no ratio, a number of units. */
  readonly goal?: number;
}

/** Compares the sides, given one figure of each for every round. */
export function compared(
  floor: readonly number[],
  bowline: readonly number[],
): Pick<Row, "floor" | "bowline" | "ratio" | "spread"> {
  const ratios = bowline.map((figure, round) => figure / floor[round]!);
  const ratio = median(bowline) / median(floor);
  return { floor: median(floor), bowline: median(bowline), ratio, spread: [Math.min(...ratios), Math.max(...ratios)] };
}

/** The median over rounds of what Bowline adds to the floor. */
export const addedTo = (floor: readonly number[], bowline: readonly number[]): number =>
  median(bowline.map((figure, round) => figure - floor[round]!));

export function asJson({ workload, unit, floor, bowline, ratio }: Row): string {
  const exact = (value: number | null) => (value === null ? null : Number(value.toPrecision(4)));
  return JSON.stringify({ workload, unit, floor: exact(floor), bowline: exact(bowline), ratio: exact(ratio) });
}

export function asTable(rows: readonly Row[]): string {
  const lines = [["", "unit", "floor", "bowline", "ratio", "in rounds", "goal", "", ""], ...rows.map(cells)];
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)));
  return lines
    .map((line) =>
      line
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

function cells({ workload, unit, floor, bowline, ratio, spread, goal, about }: Row): string[] {
  const times = (value: number | null) => (value === null ? "" : `${value.toFixed(value < 1 ? 2 : 1)}x`);
  return [
    workload,
    unit,
    floor === null ? "" : short(floor),
    short(bowline),
    times(ratio),
    spread === undefined ? "" : spread.map(times).join(" to "),
    goal === undefined ? "" : `<= ${goal}${ratio === null ? "" : "x"}`,
    goal === undefined ? "" : (ratio ?? bowline) <= goal ? "met" : "MISSED",
    about,
  ];
}

const short = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3));
