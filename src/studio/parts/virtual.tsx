// A list that draws only the rows in sight, for lists of any length.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { useRows } from "./rows.ts";

export interface VirtualListProps<T> {
  readonly label: string;
  /** Undefined while the first page is loaded. */
  readonly items: readonly T[] | undefined;
  /** Nothing is loading now: the page shows why. */
  readonly hasFailed?: boolean;
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
  const { label, items, height, keyOf } = props;
  const isLoading = items === undefined && props.hasFailed !== true;
  const box = useRef<HTMLDivElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const latest = useRef(props);
  latest.current = props;
  const keys = useMemo(() => (items ?? []).map(keyOf), [items]);
  const { rows, total, measure } = useRows({ box, list, keys, estimate: () => height, ahead: AHEAD });
  const last = rows.at(-1)?.index ?? -1;
  useEffect(() => {
    if (items !== undefined && last >= items.length - 1 - AHEAD) latest.current.onEnd?.();
  }, [last, items]);
  return (
    <div class="list" ref={box}>
      {isLoading
        ? Array.from({ length: PLACEHOLDERS }, (_, n) => (
            <div class="row placeholder" key={n} style={{ height: `${height}px` }}>
              <span />
            </div>
          ))
        : null}
      <ul class="list-all" ref={list} aria-label={label} aria-busy={isLoading} style={{ height: `${total}px` }}>
        {rows.map(({ index, key, start }) => (
          <li
            key={key}
            class="list-row"
            data-index={index}
            aria-setsize={keys.length}
            aria-posinset={index + 1}
            ref={props.isMeasured === true ? measure : null}
            style={{ transform: `translateY(${start}px)`, ...(props.isMeasured ? {} : { height: `${height}px` }) }}
          >
            {props.row((items as readonly T[])[index] as T, index)}
          </li>
        ))}
      </ul>
    </div>
  );
}
