/** A value with its plugin, so that errors and conflicts can name the plugin. */
interface Owned<T> {
  readonly plugin: string;
  readonly value: T;
}
export { Owned };
