/** All fields are optional. A field that is undefined counts as omitted. */
type Optional<T> = { readonly [K in keyof T]?: T[K] | undefined; };
export { Optional };
