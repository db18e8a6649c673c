/**
 * A text that must not be seen by accident: it prints as `[secret]` wherever it lands, in a log line, an error,
 * JSON or the console. Only `reveal` gives it out, so a search for that word finds every place that does.
 */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  reveal(): string {
    return this.#value
  }

  toString(): string {
    return '[secret]'
  }

  toJSON(): string {
    return '[secret]'
  }

  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return '[secret]'
  }
}
