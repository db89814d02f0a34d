// Where the rows of a long list are, of which only those in sight are drawn. Heights are estimates until a row was drawn.

export class RowWindow {
  #keys: readonly string[] = [];
  readonly #heights = new Map<string, number>();
  #estimate: (index: number) => number = () => 0;
  /** The start of each row, and the end of the last one. */
  #starts = new Float64Array(1);
  /** The starts are right up to this row. */
  #known = 0;

  setRows(keys: readonly string[], estimate: (index: number) => number): void {
    this.#estimate = estimate;
    if (keys === this.#keys) return;
    this.#keys = keys;
    this.#starts = new Float64Array(keys.length + 1);
    this.#known = 0;
  }

  /** Notes the real height of a row. Returns false if the row had this height already. */
  setHeight(index: number, height: number): boolean {
    const key = this.#keys[index];
    if (key === undefined || this.#heightOf(index) === height) return false;
    this.#heights.set(key, height);
    this.#known = Math.min(this.#known, index);
    return true;
  }

  get count(): number {
    return this.#keys.length;
  }

  get total(): number {
    return this.startOf(this.#keys.length);
  }

  keyOf(index: number): string | undefined {
    return this.#keys[index];
  }

  indexOf(key: string): number {
    return this.#keys.indexOf(key);
  }

  startOf(index: number): number {
    for (; this.#known < index; this.#known++)
      this.#starts[this.#known + 1] = (this.#starts[this.#known] as number) + this.#heightOf(this.#known);
    return this.#starts[index] as number;
  }

  /** The row at a distance from the start: the first one above the list, and the last one below it. */
  indexAt(offset: number): number {
    let [low, high] = [0, this.#keys.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (this.startOf(middle) <= offset) low = middle;
      else high = middle - 1;
    }
    return Math.max(0, low);
  }

  #heightOf(index: number): number {
    return this.#heights.get(this.#keys[index] as string) ?? this.#estimate(index);
  }
}
