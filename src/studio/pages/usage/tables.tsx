// The numbers of the chart as tables: its legend, and all steps for those who cannot see it.
import type { JSX } from "preact";
import { count, money } from "../../format.ts";
import { Link, Text } from "../../parts/basics.tsx";
import type { Measure, Series, Stacked } from "./data.ts";

export const valueText = (value: number, measure: Measure): string =>
  measure === "cost" ? money(value) : count(Math.round(value));

/** Ticks are round numbers, which two decimals of money would round again. */
export const tickText = (value: number, measure: Measure): string =>
  measure === "cost" ? String(Number(value.toPrecision(4))) : count(value).replace(".0k", "k");

/** Days of a report are days of UTC. */
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", timeZone: "UTC" });
const HOUR = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const DAY_MS = 86_400_000;
export const stepText = (at: number, stepMs: number): string => (stepMs >= DAY_MS ? DAY : HOUR).format(at);

/** The query of the page for one step only. */
export const stepQuery = (at: number, stepMs: number) =>
  ({ range: "own", since: String(at), until: String(at + stepMs) }) as const;

export function Legend(props: {
  readonly series: readonly Series[];
  readonly turnsOf: (model: string) => string;
}): JSX.Element {
  const { series, turnsOf } = props;
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Models">
      <table>
        <thead>
          <tr>
            <th>Model</th>
            <th class="number">Turns</th>
            <th class="number wide">Failed</th>
            <th class="number">Tokens</th>
            <th class="number">Cost</th>
          </tr>
        </thead>
        <tbody>
          {series.map(({ model, colour, turns, failed, tokens, cost }) => (
            <tr key={model}>
              <td class="grows">
                <span class="swatch" style={{ background: `var(--kind-${colour})` }} aria-hidden="true" />
                <Text>{model}</Text>
              </td>
              <td class="number">
                <a href={turnsOf(model)} title="Show these turns">
                  {count(turns)}
                </a>
              </td>
              <td class={failed > 0 ? "number wide lost" : "number wide"}>{count(failed)}</td>
              <td class="number">{count(tokens)}</td>
              <td class="number">{money(cost)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Steps without turns are left out. */
export function StepTable(props: {
  readonly data: Stacked;
  readonly measure: Measure;
  readonly stepMs: number;
}): JSX.Element {
  const { data, measure, stepMs } = props;
  const { steps, series } = data;
  return (
    <details>
      <summary>The chart as a table</summary>
      <div class="scroll steps" tabIndex={0} role="group" aria-label="The chart as a table">
        <table>
          <thead>
            <tr>
              <th>Time</th>
              {series.map(({ model }) => (
                <th key={model} class="number">
                  <Text>{model}</Text>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {steps.map(
              (at, nth) =>
                series.some(({ values }) => values[nth] !== 0) && (
                  <tr key={at}>
                    <td>
                      <Link to="usage" query={stepQuery(at, stepMs)} title="Show this time only">
                        {stepText(at, stepMs)}
                      </Link>
                    </td>
                    {series.map(({ model, values }) => (
                      <td key={model} class="number">
                        {valueText(values[nth] ?? 0, measure)}
                      </td>
                    ))}
                  </tr>
                ),
            )}
          </tbody>
        </table>
      </div>
    </details>
  );
}
