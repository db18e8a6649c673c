/**
 * A text that must not be seen by accident: it prints as `[secret]` in JSON, in a template, in the console and in
 * an error. Only `reveal` gives it out, so a search for that word finds every place that does.
 *
 * @example JSON.stringify({ device_token: new Secret('dt_…') }) // '{"device_token":"[secret]"}'
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
