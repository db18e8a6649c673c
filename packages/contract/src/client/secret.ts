const REDACTED = '[secret]'

/**
 * A secret that cannot print itself: it reads `[secret]` in a log line, a template, JSON and an
 * inspection. Only `reveal` returns the value, so a search for that word finds every use.
 *
 * @example JSON.stringify({ device_token: new Secret('dt_…') }) // '{"device_token":"[secret]"}'
 */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The value itself. Every call of this is a place to check in a review. */
  reveal(): string {
    return this.#value
  }

  toString(): string {
    return REDACTED
  }

  toJSON(): string {
    return REDACTED
  }

  // The registered symbol, so that this file needs no Node types.
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return REDACTED
  }
}
