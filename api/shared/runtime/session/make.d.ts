import { CatalogOverlay, NewSessionRequest, PluginOptions } from "../../kernel/session-requests.js";
/** The owner and the tags of a session. Both never change, and children and forks inherit both. */
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
  /** The last node that the fork shares. Default: the head. */
  readonly at?: string | undefined;
  /**
   * Instead of `at`: the first node that the fork does not share. Before the first node of all, the fork begins empty.
   */
  readonly before?: string | undefined;
  readonly id?: string | undefined;
  /** A name for people to read. */
  readonly label?: string | undefined;
  /** Edits of its catalog. They replace those of its origin. */
  readonly overlay?: readonly CatalogOverlay[] | undefined;
  /** Options of plugins. They replace those that the fork copies. They must be JSON without secrets. */
  readonly plugins?: readonly PluginOptions[] | undefined;
}
export { AppSessionRequest, ForkOptions, SessionMarks };
