/** An answer knows whose it is. */
export interface Owned<T> {
  readonly plugin: string;
  readonly value: T;
}
