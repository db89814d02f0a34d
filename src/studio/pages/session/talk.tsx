// The list of a conversation: only what is in sight is drawn, its end is followed while one is there, and it keeps its
// place when older items come.
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Button } from "../../parts/basics.tsx";
import { useRows } from "../../parts/rows.ts";
import type { Item } from "./items.ts";

const AHEAD = 6;
/** So many pixels before the end still count as the end. */
const NEAR = 80;
/** So many items before the beginning, older ones are loaded. */
const EARLY = 20;
const ESTIMATES: { readonly [kind: string]: number } = { user: 64, assistant: 110, end: 36 };
const ESTIMATE = 44;
/** Below the last item. */
const SPACE = 16;

export interface TalkProps {
  readonly items: readonly Item[];
  /** The items that do not change with each word that streams. */
  readonly base: readonly Item[];
  readonly isBusy: boolean;
  readonly row: (item: Item) => ComponentChildren;
  /** What stands before the first item. */
  readonly start: ComponentChildren;
  /** The beginning is near. */
  readonly onStart: () => void;
  /** Changes to go to the end. */
  readonly jumps: number;
  /** A node to begin at, in place of the end. */
  readonly target?: string | undefined;
}

export function Talk(props: TalkProps): JSX.Element {
  const { items, base, jumps } = props;
  const box = useRef<HTMLDivElement>(null);
  const latest = useRef(props);
  latest.current = props;
  // A new array of keys places all rows again, so there is one only when rows came or went.
  const of = `${items.length} ${items[0]?.key} ${items.at(-1)?.key}`;
  const keys = useMemo(() => items.map(({ key }) => key), [of, base]);
  const estimate = (index: number): number => ESTIMATES[latest.current.items[index]?.kind ?? ""] ?? ESTIMATE;
  const list = useRef<HTMLOListElement>(null);
  const options = { box, list, keys, estimate, ahead: AHEAD, followsWithin: NEAR, space: SPACE };
  const { rows, total, measure, isAtEnd, scrollToEnd, scrollToRow } = useRows(options);
  const isEmpty = items.length === 0;
  useLayoutEffect(() => {
    if (!isEmpty) scrollToEnd();
  }, [isEmpty, jumps]);
  // A link to a node: older items are loaded until it is there.
  const sought = useRef(props.target);
  useLayoutEffect(() => {
    if (sought.current === undefined || isEmpty) return;
    const at = indexOf(items, sought.current);
    if (at >= 0) {
      sought.current = undefined;
      scrollToRow(at);
    } else latest.current.onStart();
  }, [items.length]);
  const first = rows[0]?.index ?? 0;
  useEffect(() => {
    if (!isEmpty && first < EARLY) latest.current.onStart();
  }, [first, items.length]);
  return (
    <div class="talk">
      <div class="talk-box" ref={box} tabIndex={0} role="group" aria-label="Conversation">
        {props.start}
        <ol class="talk-all" ref={list} style={{ height: `${total}px` }} aria-busy={props.isBusy}>
          {rows.map(({ index, key, start }) => {
            const item = items[index];
            return (
              item !== undefined && (
                <li
                  key={key}
                  class={isOf(item, props.target) ? "talk-row target" : "talk-row"}
                  data-index={index}
                  aria-setsize={items.length}
                  aria-posinset={index + 1}
                  ref={measure}
                  style={{ transform: `translateY(${start}px)` }}
                >
                  {props.row(item)}
                </li>
              )
            );
          })}
        </ol>
      </div>
      {!isEmpty && !isAtEnd && (
        <div class="talk-jump">
          <Button icon="down" onClick={scrollToEnd}>
            Jump to latest
          </Button>
        </div>
      )}
    </div>
  );
}

const isOf = (item: Item, node: string | undefined): boolean =>
  node !== undefined && "node" in item && item.node === node && item.kind !== "end";

/** The item of a node; or of its turn, if the node itself is not shown. */
function indexOf(items: readonly Item[], node: string): number {
  const at = items.findIndex((item) => isOf(item, node));
  if (at >= 0) return at;
  const turn = node.slice(0, node.lastIndexOf("."));
  return items.findIndex(({ key }) => key.startsWith(turn));
}
