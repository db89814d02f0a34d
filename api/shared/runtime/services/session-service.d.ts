/**
 * Which plugins reach jobs and monitors of sessions other than their own and its descendants, by the ids of the plugins.
 * `app` stands for the tools of the app.
 */
interface SessionAccess {
  /** Plugins that reach all sessions of their tree: the root of their session and all its descendants. Default: none. */
  readonly tree?: readonly string[] | undefined;
  /** Plugins that reach every session. Default: none. */
  readonly all?: readonly string[] | undefined;
}
export { SessionAccess };
