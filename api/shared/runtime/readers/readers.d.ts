interface ObserveOptions {
  /** The cursor of a fact, or of a view: facts after it come first. Without one, all of them from the beginning. */
  readonly after?: string | undefined;
  /** Also every session that descends from this one, in one order. */
  readonly tree?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}
export { ObserveOptions };
