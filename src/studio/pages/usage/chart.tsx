// Bars over time, stacked by model. They are shapes of the page, so they follow the theme and the size of its letters.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Text } from "../../parts/basics.tsx";
import { setQuery } from "../../router.ts";
import { type Measure, piled, type Stacked, ticksOf } from "./data.ts";
import { stepQuery, stepText, tickText, valueText } from "./tables.tsx";

const HEIGHT = 240;
/** Around the bars: room for values at the left and times below. */
const [TOP, RIGHT, BOTTOM, LEFT] = [8, 4, 24, 52];
const BAR_MAX = 64;
/** Room for one day or hour under the bars. */
const DAY_PX = 64;
const HOUR_PX = 128;
const DAY_MS = 86_400_000;

export function Chart(props: {
  readonly data: Stacked;
  readonly measure: Measure;
  readonly name: string;
  readonly stepMs: number;
}): JSX.Element {
  const { data, measure, name, stepMs } = props;
  const { steps, series } = data;
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  const [at, setAt] = useState<number>();
  useEffect(() => {
    const element = box.current as HTMLDivElement;
    const resized = new ResizeObserver(() => setWidth(element.clientWidth));
    resized.observe(element);
    return () => resized.disconnect();
  }, []);
  const each = Math.max(0, width - LEFT - RIGHT) / steps.length;
  const drawn = useMemo(
    () => width > 0 && <Drawn data={data} measure={measure} stepMs={stepMs} width={width} />,
    [JSON.stringify(data), measure, stepMs, width],
  );
  const point = ({ clientX, currentTarget }: PointerEvent): void => {
    const x = clientX - (currentTarget as Element).getBoundingClientRect().left - LEFT;
    const nth = Math.floor(x / each);
    setAt(nth >= 0 && nth < steps.length ? nth : undefined);
  };
  const time = at === undefined ? undefined : steps[at];
  return (
    <div>
      <div class="chart" ref={box}>
        <svg
          width={width}
          height={HEIGHT}
          role="img"
          aria-label={`${name} over time. The table below has the same numbers.`}
          onPointerMove={point}
          onPointerLeave={() => setAt(undefined)}
          onPointerUp={() => time !== undefined && setQuery(stepQuery(time, stepMs))}
        >
          {at !== undefined && time !== undefined && (
            <rect class="pointed" x={LEFT + at * each} y={TOP} width={each} height={HEIGHT - TOP - BOTTOM} />
          )}
          {drawn}
        </svg>
      </div>
      <p class="chart-at" aria-hidden="true">
        {at === undefined || time === undefined ? (
          <span class="dim">Point at a bar for its numbers. A click shows its time only.</span>
        ) : (
          <>
            <strong>{stepText(time, stepMs)}</strong>
            {series.every(({ values }) => values[at] === 0) && <span class="dim">No turn ended.</span>}
            {series.map(
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

interface DrawnProps {
  readonly data: Stacked;
  readonly measure: Measure;
  readonly stepMs: number;
  readonly width: number;
}

/** All that does not change when the pointer moves. */
function Drawn({ data: { steps, series }, measure, stepMs, width }: DrawnProps): JSX.Element {
  const piles = piled(series);
  const most = Math.max(0, ...(piles.at(-1) ?? []));
  const ticks = ticksOf(most, measure !== "cost");
  const top = Math.max(most, ticks.at(-1) ?? 1);
  const inner = HEIGHT - TOP - BOTTOM;
  const y = (value: number): number => TOP + inner * (1 - value / top);
  const each = Math.max(0, width - LEFT - RIGHT) / steps.length;
  const bar = Math.min(BAR_MAX, each * 0.75);
  const middle = (nth: number): number => LEFT + (nth + 0.5) * each;
  const every = Math.ceil((stepMs < DAY_MS ? HOUR_PX : DAY_PX) / each);
  return (
    <>
      {ticks.map((value) => (
        <g key={value}>
          <line x1={LEFT} x2={width - RIGHT} y1={y(value)} y2={y(value)} />
          <text x={LEFT - 8} y={y(value)} dy="0.32em" text-anchor="end">
            {tickText(value, measure)}
          </text>
        </g>
      ))}
      {steps.map(
        (time, nth) =>
          nth % every === Math.floor(Math.min(every, steps.length) / 2) && (
            <text key={time} x={middle(nth)} y={HEIGHT - 6} text-anchor="middle">
              {stepText(time, stepMs)}
            </text>
          ),
      )}
      {series.map(({ model, colour, values }, nth) => (
        <g key={model} style={{ fill: `var(--kind-${colour})` }}>
          {values.map((value, step) => {
            const end = piles[nth]?.[step] ?? 0;
            const height = (inner * value) / top;
            return (
              value > 0 && (
                // A gap of a pixel separates what is thick enough.
                <rect
                  key={steps[step]}
                  x={middle(step) - bar / 2}
                  y={y(end)}
                  width={bar}
                  height={height > 3 ? height - 1 : height}
                />
              )
            );
          })}
        </g>
      ))}
    </>
  );
}
