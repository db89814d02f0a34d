import { CatalogOverlay, PluginOptions } from "../../kernel/services.js";
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
export { ForkOptions };
