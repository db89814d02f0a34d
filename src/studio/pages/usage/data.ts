// The rows of a report as stacked series: a value for each step of time and model.
import { tokensOf } from "../../format.ts";
import type { UsageReport } from "../../types.ts";

export const MEASURES = ["cost", "tokens", "turns"] as const;
export type Measure = (typeof MEASURES)[number];
type Row = UsageReport["rows"][number];

/** As many models have a separate colour. The others are joined. */
export const COLOURS = ["model", "tool", "hook", "wait", "cell", "other"] as const;
export const OTHERS = "Other models";

export interface Series {
  readonly model: string;
  readonly colour: (typeof COLOURS)[number];
  /** One for each step. */
  readonly values: readonly number[];
  readonly turns: number;
  readonly failed: number;
  readonly tokens: number;
  /** Undefined if a price is unknown. */
  readonly cost: number | undefined;
}

export interface Stacked {
  /** The beginning of each step, also of steps without turns. */
  readonly steps: readonly number[];
  /** The largest first. */
  readonly series: readonly Series[];
}

const amountOf = (row: Row, measure: Measure): number =>
  measure === "cost" ? (row.cost ?? 0) : measure === "tokens" ? tokensOf(row.usage) : row.turns;

export function stacked({ rows, since, until, stepMs }: UsageReport, measure: Measure): Stacked {
  const steps = stepsOf(rows, since, until, stepMs);
  const place = new Map(steps.map((at, nth) => [at, nth]));
  const totals = new Map<string, number>();
  for (const row of rows) totals.set(row.model, (totals.get(row.model) ?? 0) + amountOf(row, measure));
  const models = [...totals].sort(([a, x], [b, y]) => y - x || a.localeCompare(b)).map(([model]) => model);
  const own = models.length <= COLOURS.length ? models : models.slice(0, COLOURS.length - 1);
  const names = own.length === models.length ? own : [...own, OTHERS];
  const series = names.map((model, nth): Series => {
    const isOthers = own.length < models.length && nth === own.length;
    const its = rows.filter((row) => (isOthers ? !own.includes(row.model) : row.model === model));
    const values: number[] = steps.map(() => 0);
    for (const row of its) {
      const at = place.get(row.at) ?? 0;
      values[at] = (values[at] ?? 0) + amountOf(row, measure);
    }
    const colour = COLOURS[isOthers ? COLOURS.length - 1 : nth] as Series["colour"];
    return { model, colour, values, ...totalOf(its) };
  });
  return { steps, series };
}

/** The most steps that a chart can show. */
const STEPS_MAX = 1_000;

/** The server gives only steps with turns. A chart also has the empty ones, unless the time is too long for it. */
function stepsOf(rows: readonly Row[], since: number, until: number, stepMs: number): readonly number[] {
  const known = rows.map(({ at }) => at);
  if ((until - since) / stepMs > STEPS_MAX) return [...new Set(known)].sort((a, b) => a - b);
  const anchor = known[0] ?? since;
  const first = Math.min(anchor - Math.floor((anchor - since) / stepMs) * stepMs, ...known);
  const steps: number[] = [];
  for (let at = first; at < until || at === first; at += stepMs) steps.push(at);
  return [...new Set([...steps, ...known])].sort((a, b) => a - b);
}

export function totalOf(rows: readonly Row[]): Pick<Series, "turns" | "failed" | "tokens" | "cost"> {
  let [turns, failed, tokens] = [0, 0, 0];
  let cost: number | undefined = 0;
  for (const row of rows) {
    turns += row.turns;
    failed += row.failed;
    tokens += tokensOf(row.usage);
    cost = row.cost === undefined || cost === undefined ? undefined : cost + row.cost;
  }
  return { turns, failed, tokens, cost };
}

/** Series as a chart draws them: each value on top of those before it. */
export function piled(series: readonly Series[]): number[][] {
  const pile: number[] = [];
  return series.map(({ values }) =>
    values.map((value, nth) => {
      pile[nth] = (pile[nth] ?? 0) + value;
      return pile[nth] as number;
    }),
  );
}

/** Round numbers from zero up to about the largest value. Counts have whole ones. */
export function ticksOf(most: number, isWhole: boolean): readonly number[] {
  if (most <= 0) return [0];
  const rough = most / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const size = [1, 2, 2.5, 5, 10].map((each) => each * unit).find((each) => each >= rough * 0.999) ?? rough;
  const step = isWhole ? Math.max(1, Math.ceil(size)) : size;
  return Array.from({ length: Math.floor(most / step + 0.001) + 1 }, (_, nth) => Number((nth * step).toPrecision(6)));
}
