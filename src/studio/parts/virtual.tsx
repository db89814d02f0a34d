// A list that draws only the rows in sight, for lists of any length.
import { elementScroll, observeElementOffset, observeElementRect, Virtualizer } from "@tanstack/virtual-core";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";

export interface VirtualListProps<T> {
  readonly label: string;
  /** Undefined while the first page is loaded. */
  readonly items: readonly T[] | undefined;
  readonly keyOf: (item: T) => string;
  /** The height of a row in pixels: exact, or an estimate with `isMeasured`. */
  readonly height: number;
  /** Rows differ in height and are measured. */
  readonly isMeasured?: boolean;
  readonly row: (item: T, index: number) => ComponentChildren;
  /** The end of the list is near: load more. */
  readonly onEnd?: (() => void) | undefined;
}

const PLACEHOLDERS = 8;
const AHEAD = 8;

export function VirtualList<T>(props: VirtualListProps<T>): JSX.Element {
  const { label, items, height } = props;
  const box = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const [, draw] = useState(0);
  const virtual = useRef<Virtualizer<HTMLDivElement, HTMLLIElement>>(undefined);
  virtual.current ??= new Virtualizer(optionsOf(latest, box, () => draw((n) => n + 1)));
  const now = virtual.current;
  now.setOptions(optionsOf(latest, box, () => draw((n) => n + 1)));
  useEffect(() => now._didMount(), []);
  useEffect(() => now._willUpdate());
  const rows = now.getVirtualItems();
  const last = rows.at(-1)?.index ?? -1;
  useEffect(() => {
    if (items !== undefined && last >= items.length - 1 - AHEAD) latest.current.onEnd?.();
  }, [last, items]);
  return (
    <div class="list" ref={box}>
      {items === undefined
        ? Array.from({ length: PLACEHOLDERS }, (_, n) => (
            <div class="row placeholder" key={n} style={{ height: `${height}px` }}>
              <span />
            </div>
          ))
        : null}
      <ul
        class="list-all"
        aria-label={label}
        aria-busy={items === undefined}
        style={{ height: `${now.getTotalSize()}px` }}
      >
        {rows.map(({ index, key, start }) => (
          <li
            key={key}
            class="list-row"
            data-index={index}
            aria-setsize={items?.length ?? -1}
            aria-posinset={index + 1}
            ref={(element) => {
              if (props.isMeasured === true) now.measureElement(element);
            }}
            style={{ transform: `translateY(${start}px)`, ...(props.isMeasured ? {} : { height: `${height}px` }) }}
          >
            {props.row((items as readonly T[])[index] as T, index)}
          </li>
        ))}
      </ul>
    </div>
  );
}

function optionsOf<T>(
  latest: { readonly current: VirtualListProps<T> },
  box: { readonly current: HTMLDivElement | null },
  onChange: () => void,
) {
  const { items = [], height, keyOf } = latest.current;
  return {
    count: items.length,
    getScrollElement: () => box.current,
    estimateSize: () => height,
    getItemKey: (index: number) => keyOf(items[index] as T),
    scrollToFn: elementScroll,
    observeElementRect,
    observeElementOffset,
    overscan: AHEAD,
    onChange,
  };
}
