// The rows of a long list that are in sight. The list keeps its place when rows before it change their height or more rows
// come before them, and follows its end if it is asked to.
import type { RefObject } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { RowWindow } from "./row-window.ts";

export interface RowsOptions {
  /** The element that scrolls. */
  readonly box: RefObject<HTMLElement | null>;
  /** The element that has the rows, inside of the box. */
  readonly list: RefObject<HTMLElement | null>;
  /** A new array means other rows. */
  readonly keys: readonly string[];
  readonly estimate: (index: number) => number;
  /** How many rows are drawn before and after those in sight. */
  readonly ahead: number;
  /** Stays at the end while it is within so many pixels of the end. Default: keeps its place. */
  readonly followsWithin?: number | undefined;
  /** Pixels below the last row. Default: 0. */
  readonly space?: number | undefined;
}

export interface Rows {
  readonly rows: readonly { readonly index: number; readonly key: string; readonly start: number }[];
  /** The height of all rows. */
  readonly total: number;
  /** For `ref` of each row whose height is not fixed: its `data-index` must be its index. */
  readonly measure: (element: HTMLElement | null) => void;
  readonly isAtEnd: boolean;
  scrollToEnd(): void;
  /** Brings a row into the middle. */
  scrollToRow(index: number): void;
}

/** What stays where it is on the screen: a row, and how far its start is above the edge of the box. */
interface Anchor {
  readonly key: string;
  readonly above: number;
}

export function useRows(options: RowsOptions): Rows {
  const latest = useRef(options);
  latest.current = options;
  const [, draw] = useState(0);
  const scroller = useMemo(
    () =>
      new Scroller(
        () => latest.current,
        () => draw((n) => n + 1),
      ),
    [],
  );
  scroller.rows.setRows(options.keys, options.estimate);
  useLayoutEffect(() => scroller.attach(), []);
  useLayoutEffect(() => scroller.settle());
  return scroller.shown();
}

class Scroller {
  readonly rows = new RowWindow();
  readonly #options: () => RowsOptions;
  readonly #draw: () => void;
  readonly #sizes = new ResizeObserver((entries) => {
    const isBox = entries.some(({ target }) => target === this.#box);
    const isChanged = entries.map(({ target }) => this.#read(target as HTMLElement)).includes(true);
    if (isBox || isChanged) this.#draw();
  });
  #anchor: Anchor | undefined;
  #isAtEnd = true;
  #drawn = "";

  constructor(options: () => RowsOptions, draw: () => void) {
    this.#options = options;
    this.#draw = draw;
  }

  get #box(): HTMLElement | null {
    return this.#options().box.current;
  }

  attach(): () => void {
    const box = this.#box as HTMLElement;
    const scrolled = (): void => {
      this.#note();
      if (this.#range().join() !== this.#drawn) this.#draw();
    };
    box.addEventListener("scroll", scrolled, { passive: true });
    this.#sizes.observe(box);
    this.#draw(); // Now the height of the box is known.
    return () => {
      box.removeEventListener("scroll", scrolled);
      this.#sizes.disconnect();
    };
  }

  /** After each drawing: reads the heights of new rows, and moves the box so that the anchor stays where it is. */
  settle(): void {
    const box = this.#box;
    if (box === null || this.rows.count === 0) return;
    const fresh = this.#options().list.current?.querySelectorAll<HTMLElement>("[data-measured]") ?? [];
    const isChanged = [...fresh].map((element) => this.#read(element)).includes(true);
    if (this.#isAtEnd && this.#options().followsWithin !== undefined) box.scrollTop = box.scrollHeight;
    else if (this.#anchor !== undefined) {
      const index = this.rows.indexOf(this.#anchor.key);
      const top = this.#offset() + this.rows.startOf(index) + this.#anchor.above;
      if (index >= 0 && Math.abs(top - box.scrollTop) >= 1) box.scrollTop = top;
    }
    if (isChanged || this.#range().join() !== this.#drawn) this.#draw();
  }

  shown(): Rows {
    const [first, last] = this.#range();
    this.#drawn = `${first},${last},${this.#isAtEnd}`;
    const { rows } = this;
    const shown = [];
    for (let index = first; index <= last; index++)
      shown.push({ index, key: rows.keyOf(index) as string, start: rows.startOf(index) });
    return {
      rows: shown,
      total: rows.total + (this.#options().space ?? 0),
      measure: this.#measure,
      isAtEnd: this.#isAtEnd,
      scrollToEnd: () => {
        this.#isAtEnd = true;
        const box = this.#box;
        if (box !== null) box.scrollTop = box.scrollHeight;
        this.#draw();
      },
      scrollToRow: (index) => {
        const { clientHeight = 0 } = this.#box ?? {};
        const height = rows.startOf(index + 1) - rows.startOf(index);
        this.#isAtEnd = false;
        this.#anchor = { key: rows.keyOf(index) ?? "", above: Math.min(0, (height - clientHeight) / 2) };
        this.#draw();
      },
    };
  }

  readonly #measure = (element: HTMLElement | null): void => {
    if (element === null || element.dataset.measured !== undefined) return;
    element.dataset.measured = "";
    this.#sizes.observe(element);
  };

  #read(element: HTMLElement): boolean {
    const { index } = element.dataset;
    return index !== undefined && element.isConnected && this.rows.setHeight(Number(index), element.offsetHeight);
  }

  /** Notes the place after a person scrolled. */
  #note(): void {
    const box = this.#box as HTMLElement;
    const { followsWithin = 0 } = this.#options();
    this.#isAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight <= followsWithin;
    const top = box.scrollTop - this.#offset();
    const index = this.rows.indexAt(top);
    const key = this.rows.keyOf(index);
    this.#anchor = key === undefined ? undefined : { key, above: top - this.rows.startOf(index) };
  }

  /** What stands in the box before the list. */
  #offset(): number {
    const box = this.#box;
    const list = this.#options().list.current;
    if (box === null || list === null) return 0;
    return list.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientTop + box.scrollTop;
  }

  #range(): readonly [first: number, last: number, isAtEnd: boolean] {
    const box = this.#box;
    const { ahead } = this.#options();
    const { count } = this.rows;
    if (box === null || count === 0) return [0, -1, this.#isAtEnd];
    const top = box.scrollTop - this.#offset();
    const first = Math.max(0, this.rows.indexAt(top) - ahead);
    const last = Math.min(count - 1, this.rows.indexAt(top + box.clientHeight) + ahead);
    return [first, last, this.#isAtEnd];
  }
}
