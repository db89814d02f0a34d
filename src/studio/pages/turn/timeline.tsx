// The timeline of a turn: a row for each effect and attempt, its bar on a common axis, and the details of one of them.
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { clock, count, duration, shown } from "../../format.ts";
import { Button, Empty } from "../../parts/basics.tsx";
import { useKeys } from "../../parts/keys.tsx";
import { VirtualList } from "../../parts/virtual.tsx";
import { route, setQuery } from "../../router.ts";
import type { TurnTimeline } from "../../types.ts";
import { Details } from "./details.tsx";
import {
  endOf,
  type Keyed,
  keyed,
  kindOf,
  nameOf,
  noteOf,
  type Row,
  roundsOf,
  rowsOf,
  toneOf,
  wholeOf,
  whyResumed,
} from "./rows.ts";
import { type Scale, scaleOf } from "./scale.ts";

const ROW = 28;
const ZOOMS = [1, 2, 4, 8, 16, 32, 64] as const;
/** A tick with its text needs so many pixels, and a break with its length. */
const TICK = 110;
const BREAK = 76;
const WORK: readonly string[] = ["model", "tool", "cell", "hooks", "event"];

export function Timeline({ timeline, isRunning }: { readonly timeline: TurnTimeline; readonly isRunning: boolean }) {
  const [closed, setClosed] = useState<ReadonlySet<number>>(new Set());
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set());
  const [isBroken, setBroken] = useState(true);
  const [zoom, setZoom] = useState(1);
  const box = useRef<HTMLDivElement>(null);
  // What a dead process left unfinished ends at the last event.
  const now = isRunning ? Date.now() : timeline.endedAt;
  const all = useMemo(() => keyed(timeline.items), [timeline]);
  const rounds = useMemo(() => roundsOf(all, now), [all, now]);
  const width = useWidth(box);
  const breakWidth = isBroken ? BREAK / width : undefined;
  const scale = useMemo(() => scaleOfItems(timeline, now, breakWidth), [timeline, now, breakWidth]);
  const rows = rowsOf(rounds, closed, opened);
  const pixels = width * zoom;
  const ticks = useMemo(() => scale.ticks(Math.max(2, Math.floor(pixels / TICK))), [scale, pixels]);
  const selected = route.value.query.at;
  const one = all.find(({ key }) => key === selected);
  const marks = useMemo(() => marksIn(all, timeline.isExact), [all]);

  const move = (step: number): void => {
    const at = rows.findIndex(({ key }) => key === selected);
    for (let next = at + step; next >= 0 && next < rows.length; next += step) {
      const row = rows[next]!;
      if (row.kind !== "item") continue;
      setQuery({ at: row.key });
      return show(box.current, next, scale.place(row.one.item.startedAt));
    }
  };
  const zoomBy = (step: number): void => {
    const list = box.current?.querySelector(".list");
    const next = ZOOMS[Math.min(ZOOMS.length - 1, Math.max(0, ZOOMS.indexOf(zoom as never) + step))] as number;
    if (list === null || list === undefined) return;
    // What stays in sight: the selected effect, else that of the first row.
    const row = rows[Math.ceil(list.scrollTop / ROW)];
    const item =
      one?.item ?? (row?.kind === "item" ? row.one.item : row?.kind === "round" ? row.round.items[0]?.item : undefined);
    setZoom(next);
    if (item !== undefined) requestAnimationFrame(() => reveal(list, scale.place(item.startedAt)));
  };
  useKeys([
    { keys: "j", name: "Next effect", run: () => move(1) },
    { keys: "k", name: "Previous effect", run: () => move(-1) },
    { keys: "+", name: "Zoom in", run: () => zoomBy(1) },
    { keys: "-", name: "Zoom out", run: () => zoomBy(-1) },
    { keys: "0", name: "Fit the whole turn", run: () => setZoom(1) },
    { keys: "Escape", name: "Close the details", run: () => setQuery({ at: "" }) },
  ]);
  if (all.length === 0) return <Empty title="Nothing has happened yet." />;
  const isAllClosed = rounds.every(({ round }) => closed.has(round));
  return (
    <div class={one === undefined ? "split" : "split open"}>
      <section class="tl" ref={box} aria-label="Timeline" style={{ "--zoom": zoom }}>
        <div class="tl-tools">
          <Button kind="quiet" onClick={() => setClosed(new Set(isAllClosed ? [] : rounds.map(({ round }) => round)))}>
            {isAllClosed ? "Open rounds" : "Close rounds"}
          </Button>
          <Toggle isOn={isBroken} onClick={() => setBroken(!isBroken)}>
            Shorten idle times
          </Toggle>
          <span class="tl-zoom">
            <Button kind="quiet" label="Zoom out" isDisabled={zoom === 1} onClick={() => zoomBy(-1)}>
              −
            </Button>
            <span class="number dim">{zoom}×</span>
            <Button kind="quiet" label="Zoom in" isDisabled={zoom === ZOOMS.at(-1)} onClick={() => zoomBy(1)}>
              +
            </Button>
            <Button kind="quiet" isDisabled={zoom === 1} onClick={() => setZoom(1)}>
              Fit
            </Button>
          </span>
        </div>
        <div
          class="tl-body"
          onScrollCapture={({ target, currentTarget }) =>
            currentTarget.style.setProperty("--left", `${-(target as HTMLElement).scrollLeft}px`)
          }
        >
          <Axis scale={scale} ticks={ticks} width={pixels} marks={marks} />
          <VirtualList
            label="Effects of the turn"
            items={rows}
            keyOf={({ key }) => key}
            height={ROW}
            row={(row) => (
              <RowView
                row={row}
                scale={scale}
                now={now}
                isRunning={isRunning}
                width={pixels}
                marks={marks}
                selected={selected}
                onRound={(round) => setClosed(toggled(closed, round))}
                onHooks={(round) => setOpened(toggled(opened, round))}
              />
            )}
          />
        </div>
        <Legend />
      </section>
      {one !== undefined && <Details key={one.key} one={one} all={all} onClose={() => setQuery({ at: "" })} />}
    </div>
  );
}

/** The moments at which the whole turn was cut, with the word for each. */
interface Mark {
  readonly key: string;
  readonly at: number;
  readonly why: "crash" | "fault" | "wait" | "cancelled";
}

function marksIn(all: readonly Keyed[], isExact: boolean): readonly Mark[] {
  return all.flatMap(({ key, item }): readonly Mark[] => {
    if (item.kind === "cancelled") return [{ key, at: item.startedAt, why: "cancelled" }];
    if (item.kind !== "resumed") return [];
    return [{ key, at: item.startedAt, why: isExact ? whyResumed(item, all) : item.isFault ? "fault" : "wait" }];
  });
}
const AFTER: { readonly [why: string]: string } = {
  crash: "after a crash",
  fault: "after a fault of its store",
  wait: "after a wait",
};

const toggled = (set: ReadonlySet<number>, value: number): ReadonlySet<number> => {
  const next = new Set(set);
  if (!next.delete(value)) next.add(value);
  return next;
};

function scaleOfItems(timeline: TurnTimeline, now: number, breakWidth: number | undefined): Scale {
  const spans = timeline.items.map((item) => ({ item, from: item.startedAt, to: endOf(item, now) }));
  const times = spans.flatMap(({ from, to }) => [from, to]);
  const work = spans.filter(({ item }) => WORK.includes(item.kind));
  return scaleOf(wholeOf(timeline, now), work, times, breakWidth);
}

/** The width of the axis at a zoom of 1. */
function useWidth(box: { readonly current: HTMLElement | null }): number {
  const [width, setWidth] = useState(800);
  useEffect(() => {
    const axis = box.current?.querySelector(".tl-axis");
    if (axis === null || axis === undefined) return;
    const observer = new ResizeObserver(() => setWidth(axis.clientWidth));
    observer.observe(axis);
    return () => observer.disconnect();
  }, []);
  return width;
}

/** Scrolls to a place on the axis unless it is in sight. */
function reveal(list: Element, place: number): void {
  const label = list.querySelector(".tl-label")?.clientWidth ?? 0;
  const seen = list.clientWidth - label;
  const left = place * (list.scrollWidth - label);
  if (left < list.scrollLeft || left > list.scrollLeft + seen * 0.9) list.scrollLeft = left - seen / 4;
}

/** Scrolls to a row, which is drawn only in sight, and gives it the focus. */
function show(box: HTMLElement | null, index: number, place: number): void {
  const list = box?.querySelector<HTMLElement>(".list");
  if (list === null || list === undefined) return;
  const top = index * ROW;
  if (top < list.scrollTop) list.scrollTop = top;
  else if (top + ROW > list.scrollTop + list.clientHeight) list.scrollTop = top + ROW - list.clientHeight;
  reveal(list, place);
  requestAnimationFrame(() =>
    list.querySelector<HTMLElement>(`[data-index="${index}"] .tl-row`)?.focus({ preventScroll: true }),
  );
}

function Toggle(props: { readonly isOn: boolean; readonly onClick: () => void; readonly children: string }) {
  return (
    <button type="button" class="toggle quiet" aria-pressed={props.isOn} onClick={props.onClick}>
      {props.children}
    </button>
  );
}

// ── The axis ────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Ticks above the rows, their lines behind the rows, and over the rows what concerns all of them: breaks, and the moments of a resume or a cancel. */
function Axis(props: {
  readonly scale: Scale;
  readonly ticks: ReturnType<Scale["ticks"]>;
  readonly width: number;
  readonly marks: readonly Mark[];
}): JSX.Element {
  const { scale, ticks, width, marks } = props;
  // The length of a break stands above it, so no other text does.
  const isFree = (at: number, text: string): boolean =>
    text.startsWith("+") ? !scale.breaks.some((each) => at < each.at && at > each.at - TICK / 1.5 / width) : true;
  return (
    <>
      <div class="tl-axis" aria-hidden="true">
        <div class="tl-inner">
          {ticks.map(
            ({ at, text }, nth) =>
              isFree(at, text) &&
              at < 1 - TICK / 2 / width && (
                <span key={nth} class="tl-tick" style={{ left: percent(at) }}>
                  {text}
                </span>
              ),
          )}
        </div>
      </div>
      <div class="tl-over lines" aria-hidden="true">
        <div class="tl-inner">
          {ticks.map(({ at }, nth) => (
            <i key={nth} class="tl-line" style={{ left: percent(at) }} />
          ))}
        </div>
      </div>
      <div class="tl-over" aria-hidden="true">
        <div class="tl-inner">
          {scale.breaks.map(({ at, width: part, from, to }) => (
            <span key={from} class="tl-break" style={{ left: percent(at), width: percent(part) }}>
              {part * width >= BREAK * 0.8 && <em>{duration(to - from)}</em>}
            </span>
          ))}
          {marks.map(({ key, at, why }) => (
            <i key={key} class={`tl-mark ${why}`} style={{ left: percent(scale.place(at)) }} />
          ))}
        </div>
      </div>
    </>
  );
}

const percent = (part: number): string => `${(part * 100).toFixed(3)}%`;

const KINDS: readonly (readonly [string, string])[] = [
  ["model", "Model call; darker from the first token on"],
  ["tool", "Tool call"],
  ["cell", "Code"],
  ["hook", "Hooks"],
  ["wait", "Wait"],
];
const Legend = (): JSX.Element => (
  <ul class="tl-legend">
    {KINDS.map(([kind, name]) => (
      <li key={kind}>
        <i class={`tl-dot k-${kind}`} />
        {name}
      </li>
    ))}
    <li>
      <i class="tl-dot bad" />
      Failed
    </li>
  </ul>
);

// ── Rows ────────────────────────────────────────────────────────────────────────────────────────────────────────────

interface RowProps {
  readonly scale: Scale;
  readonly now: number;
  readonly isRunning: boolean;
  /** Of the axis, in pixels. */
  readonly width: number;
  readonly marks: readonly Mark[];
  readonly selected: string | undefined;
  readonly onRound: (round: number) => void;
  readonly onHooks: (round: number) => void;
}

function RowView({ row, ...props }: RowProps & { readonly row: Row }): JSX.Element {
  const { scale, now } = props;
  if (row.kind === "item") return <ItemRow one={row.one} {...props} />;
  const items = row.kind === "round" ? row.round.items : row.all;
  const round = row.kind === "round" ? row.round.round : items[0]!.item.round;
  return (
    <button
      type="button"
      class={`tl-row ${row.kind}`}
      data-row
      aria-expanded={row.isOpen}
      onClick={() => (row.kind === "round" ? props.onRound(round) : props.onHooks(round))}
    >
      <span class="tl-label">
        <span class="tl-fold" aria-hidden="true">
          ▸
        </span>
        {row.kind === "round" ? (
          <>
            <strong>Round {round}</strong>
            <span class="tl-note">
              {duration(row.round.to - row.round.from)}
              {row.round.tokens > 0 && ` · ${count(row.round.tokens)} tokens`}
            </span>
          </>
        ) : (
          <span class="tl-note">
            {row.isOpen ? "Hide" : ""} {items.length} quiet hook{items.length === 1 ? "" : "s"}
          </span>
        )}
      </span>
      <span class="tl-track">
        {(row.kind === "hooks" || !row.isOpen) &&
          items.map(({ key, item }) => {
            const from = scale.place(item.startedAt);
            const width = scale.place(endOf(item, now)) - from;
            return (
              <i
                key={key}
                class={`tl-bar thin k-${kindOf(item)} ${toneOf(item)}`}
                style={{ left: percent(from), width: percent(width) }}
              />
            );
          })}
      </span>
    </button>
  );
}

function ItemRow({
  one,
  scale,
  now,
  isRunning,
  width: pixels,
  marks,
  selected,
}: RowProps & { readonly one: Keyed }): JSX.Element {
  const { key, item, depth } = one;
  const mark = marks.find((each) => each.key === key);
  const isMark = mark !== undefined;
  const from = scale.place(item.startedAt);
  const end = item.endedAt ?? now;
  const width = scale.place(end) - from;
  const isOpen = item.endedAt === undefined;
  const first = item.kind === "model" && item.firstMs !== undefined ? item.startedAt + item.firstMs : undefined;
  const again = item.kind === "model" && item.waitedMs !== undefined ? scale.place(end + item.waitedMs) : undefined;
  const text = isOpen
    ? isRunning
      ? `${duration(end - item.startedAt)} …`
      : "unfinished"
    : duration(end - item.startedAt);
  const edge = again ?? from + width;
  const note = [AFTER[mark?.why ?? ""] ?? "", noteOf(item)].filter((each) => each !== "").join(" · ");
  const tone = mark?.why === "crash" ? "bad" : toneOf(item);
  return (
    <button
      type="button"
      class={`tl-row ${key === selected ? "selected" : ""}`}
      data-row
      aria-pressed={key === selected}
      onClick={() => setQuery({ at: key === selected ? "" : key })}
    >
      <span class="tl-label" style={{ "--depth": depth }} title={shown(note)}>
        <i class={`tl-dot k-${kindOf(item)} ${tone}`} />
        <bdi class="tl-name">{shown(nameOf(item))}</bdi>
        {note !== "" && <bdi class={`tl-note ${tone}`}>{shown(note)}</bdi>}
      </span>
      <span class="tl-track">
        {!isMark && (
          <i
            class={`tl-bar k-${kindOf(item)} ${toneOf(item)} ${isOpen ? "open" : ""}`}
            style={{ left: percent(from), width: percent(width) }}
          >
            {first !== undefined && width > 0 && (
              <i class="tl-first" style={{ width: percent((scale.place(first) - from) / width) }} />
            )}
          </i>
        )}
        {again !== undefined && (
          <i class="tl-bar k-wait" style={{ left: percent(from + width), width: percent(again - from - width) }} />
        )}
        <span class="tl-time" style={edge > 1 - TICK / pixels ? { right: percent(1 - from) } : { left: percent(edge) }}>
          {isMark ? clock(item.startedAt) : text}
        </span>
      </span>
    </button>
  );
}
