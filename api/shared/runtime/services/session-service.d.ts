/**
 * The plugins, by id, that can use jobs and monitors of sessions other than their own and its descendants. `app` stands
 * for the tools of the app.
 */
interface SessionAccess {
  /**
   * Plugins that can use all sessions of their tree: the root of their session and all its descendants. Default: none.
   */
  readonly tree?: readonly string[] | undefined;
  /** Plugins that can use every session. Default: none. */
  readonly all?: readonly string[] | undefined;
}
export { SessionAccess };
