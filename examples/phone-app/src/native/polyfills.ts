/**
 * Parts of ECMAScript 2024 that the phone library uses and that Hermes may lack. Each is installed
 * only where it is missing.
 */
export function installPolyfills(): void {
  if (String.prototype.isWellFormed === undefined)
    define(String.prototype, 'isWellFormed', function (this: string): boolean {
      // With the flag u, a surrogate matches only where it has no partner.
      return !/[\uD800-\uDFFF]/u.test(this)
    })
  if (Array.prototype.toSorted === undefined)
    define(Array.prototype, 'toSorted', function <
      T,
    >(this: readonly T[], compare?: (a: T, b: T) => number): T[] {
      return [...this].sort(compare)
    })
  if (Promise.withResolvers === undefined)
    define(Promise, 'withResolvers', function <T>(): PromiseWithResolvers<T> {
      let resolve: PromiseWithResolvers<T>['resolve'] = () => {}
      let reject: PromiseWithResolvers<T>['reject'] = () => {}
      const promise = new Promise<T>((fulfill, fail) => {
        resolve = fulfill
        reject = fail
      })
      return { promise, resolve, reject }
    })
}

/** As the engine would define it: not enumerable. */
function define(owner: object, name: string, value: (...args: never[]) => unknown): void {
  Object.defineProperty(owner, name, { value, writable: true, configurable: true })
}
