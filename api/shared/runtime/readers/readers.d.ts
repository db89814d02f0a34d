interface ObserveOptions {
  /** The cursor of a fact or a view: the stream begins with the facts after it. Default: with the first fact. */
  readonly after?: string | undefined;
  /** Observes all descendants too, in one order. Default: false. */
  readonly tree?: boolean | undefined;
  /** Ends the stream when it aborts. Turns continue. */
  readonly signal?: AbortSignal | undefined;
}
export { ObserveOptions };
