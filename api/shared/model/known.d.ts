/** Some of the fields. One that is undefined counts as left out. */
type Optional<T> = { readonly [K in keyof T]?: T[K] | undefined; };
export { Optional };
