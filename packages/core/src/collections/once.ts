/** Returns a function that computes a value at its first call and returns it at each one. */
export function once<T>(compute: () => T): () => T {
  let computed: { readonly value: T } | undefined
  return () => (computed ??= { value: compute() }).value
}
