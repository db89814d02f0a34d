import { CatalogOverlay, NewSessionRequest, PluginOptions } from "../../kernel/session-requests.js";
/** Whose session it is, and how it can be found. Both never change, and children and forks inherit both. */
interface SessionMarks {
  /**
   * The user or tenant that the session belongs to: at most 256 bytes. An existing session of another owner throws
   * `session.owner`.
   */
  readonly owner?: string | undefined;
  /** At most 16 tags of 64 bytes. Ignored for an existing session. */
  readonly tags?: readonly string[] | undefined;
}
interface AppSessionRequest extends NewSessionRequest, SessionMarks {}
interface ForkOptions {
  /** The last node that the fork has. Default: the head. */
  readonly at?: string | undefined;
  /** Instead of `at`: the first node that the fork does not have. Before the very first one, it begins empty. */
  readonly before?: string | undefined;
  readonly id?: string | undefined;
  /** A name for people to read. */
  readonly label?: string | undefined;
  /** Edits of its catalog, in place of those of its origin. */
  readonly overlay?: readonly CatalogOverlay[] | undefined;
  /** Options of plugins, in place of those that the fork takes over. JSON, and no secrets. */
  readonly plugins?: readonly PluginOptions[] | undefined;
}
export { AppSessionRequest, ForkOptions, SessionMarks };
