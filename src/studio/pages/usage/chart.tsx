// Bars over time, stacked by model. A canvas does not follow the theme by itself, so a change draws it again.
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { Text } from "../../parts/basics.tsx";
import { themeChanges } from "../../theme.ts";
import { type Measure, piled, type Stacked } from "./data.ts";
import { stepText, valueText } from "./tables.tsx";

const HEIGHT = 240;
const BAR_MAX = 64;
/** Room for one date under the bars. */
const LABEL_PX = 100;

export function Chart(props: {
  readonly data: Stacked;
  readonly measure: Measure;
  readonly name: string;
  readonly stepMs: number;
}): JSX.Element {
  const { data, measure, name, stepMs } = props;
  const box = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<number>();
  const key = JSON.stringify(data);
  useEffect(() => {
    const element = box.current as HTMLDivElement;
    let plot: uPlot | undefined;
    const draw = (): void => {
      plot?.destroy();
      plot = new uPlot(optionsFor(element, props, setAt), dataFor(data, stepMs), element);
    };
    draw();
    themeChanges.addEventListener("change", draw);
    const resized = new ResizeObserver(() => plot?.setSize({ width: element.clientWidth, height: HEIGHT }));
    resized.observe(element);
    return () => {
      themeChanges.removeEventListener("change", draw);
      resized.disconnect();
      plot?.destroy();
    };
  }, [key, measure, stepMs]);
  return (
    <div>
      <div class="chart" ref={box} role="img" aria-label={`${name} over time. The table below has the same numbers.`} />
      <p class="chart-at" aria-hidden="true">
        {at === undefined || data.steps[at] === undefined ? (
          <span class="dim">Point at a bar for its numbers.</span>
        ) : (
          <>
            <strong>{stepText(data.steps[at], stepMs)}</strong>
            {data.series.map(
              ({ model, colour, values }) =>
                values[at] !== 0 && (
                  <span key={model}>
                    <span class="swatch" style={{ background: `var(--kind-${colour})` }} />
                    <Text>{model}</Text> {valueText(values[at] ?? 0, measure)}
                  </span>
                ),
            )}
          </>
        )}
      </p>
    </div>
  );
}

/** Ticks are round numbers, which two decimals of money would round again. */
const tickText = (value: number, measure: Measure): string =>
  measure === "cost" ? String(Number(value.toPrecision(4))) : valueText(value, measure);

/** The highest pile is drawn first, and the lower ones over it. Bars stand in the middle of their step. */
const dataFor = ({ steps, series }: Stacked, stepMs: number): uPlot.AlignedData => [
  steps.map((at) => at + stepMs / 2),
  ...piled(series).reverse(),
];

/** A token as a colour that a canvas takes. */
function colourOf(element: HTMLElement, token: string): string {
  element.style.color = `var(--${token})`;
  const colour = getComputedStyle(element).color;
  element.style.color = "";
  return colour;
}

function optionsFor(
  element: HTMLElement,
  { data: { steps, series }, measure, stepMs }: Parameters<typeof Chart>[0],
  onStep: (nth: number | undefined) => void,
): uPlot.Options {
  const first = steps[0] as number;
  const last = (steps.at(-1) as number) + stepMs;
  const font = `12px ${getComputedStyle(element).fontFamily}`;
  const axis = { font, stroke: colourOf(element, "dim"), grid: { show: false }, ticks: { show: false } };
  const bars = uPlot.paths.bars?.({ size: [0.75, BAR_MAX] });
  return {
    width: element.clientWidth,
    height: HEIGHT,
    ms: 1,
    padding: [8, 8, 0, 0],
    legend: { show: false },
    cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
    scales: {
      x: { time: true, range: [first, last] },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        splits: ({ width }) => {
          const every = Math.ceil(steps.length / Math.max(1, Math.floor((width - 64) / LABEL_PX)));
          return steps.filter((_, nth) => nth % every === 0).map((at) => at + stepMs / 2);
        },
        values: (_, splits) => splits.map((time) => stepText(time - stepMs / 2, stepMs)),
      },
      {
        ...axis,
        size: 56,
        grid: { show: true, stroke: colourOf(element, "line"), width: 1 },
        values: (_, splits) => splits.map((value) => tickText(value, measure)),
      },
    ],
    series: [
      {},
      ...series.toReversed().map(({ model, colour }) => ({
        label: model,
        fill: colourOf(element, `kind-${colour}`),
        stroke: colourOf(element, "raised"),
        width: 1,
        points: { show: false },
        ...(bars && { paths: bars }),
      })),
    ],
    hooks: {
      setCursor: [
        ({ cursor: { left = -1 }, posToVal }) => {
          const nth = left < 0 ? -1 : steps.findLastIndex((time) => time <= posToVal(left, "x"));
          onStep(nth < 0 ? undefined : nth);
        },
      ],
    },
  };
}
