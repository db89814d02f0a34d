/** An answer knows whose it is. */
interface Owned<T> {
  readonly plugin: string;
  readonly value: T;
}
export { Owned };
