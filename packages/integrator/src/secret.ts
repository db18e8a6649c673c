const REDACTED = '[secret]'

/**
 * A secret that cannot print itself: in a log line, a template, JSON or an inspection it reads `[secret]`.
 * A store adapter writes `reveal()` into its column and makes a new one when it reads the row.
 *
 * @example JSON.stringify({ completion_secret: new Secret('bcs_…') }) // '{"completion_secret":"[secret]"}'
 */
export class Secret {
  readonly #value: string

  constructor(value: string) {
    this.#value = value
  }

  /** The secret itself. Every call of this is a place to look at in review. */
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
