interface RuntimeObserveOptions {
  /** Only facts of sessions with this owner. */
  readonly owner?: string | undefined;
  /** Only facts of sessions with this tag. */
  readonly tag?: string | undefined;
  /** The cursor of a fact of this feed, or `latest` for new facts only. Default: all facts from the first. */
  readonly after?: string | undefined;
  /** Ends the stream when it aborts. */
  readonly signal?: AbortSignal | undefined;
}
export { RuntimeObserveOptions };
