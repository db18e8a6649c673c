/**
 * What was started, to be ended in the opposite order. The part of AsyncDisposableStack that the
 * service uses: Node 22 does not have that class.
 */
export class StartedParts implements AsyncDisposable {
  #ends: (() => unknown)[] = []

  use<Part extends Disposable | AsyncDisposable>(part: Part): Part {
    this.#ends.push(() =>
      Symbol.asyncDispose in part ? part[Symbol.asyncDispose]() : part[Symbol.dispose](),
    )
    return part
  }

  defer(end: () => void): void {
    this.#ends.push(end)
  }

  /** Hands everything over: from here on the new object ends it. */
  move(): StartedParts {
    const moved = new StartedParts()
    moved.#ends = this.#ends
    this.#ends = []
    return moved
  }

  /** Ends everything, also where one part fails to end. @throws the first failure */
  async [Symbol.asyncDispose](): Promise<void> {
    const failures: unknown[] = []
    for (let end = this.#ends.pop(); end !== undefined; end = this.#ends.pop()) {
      try {
        await end()
      } catch (failure) {
        failures.push(failure)
      }
    }
    if (failures.length > 0) throw failures[0]
  }
}
