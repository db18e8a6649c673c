import assert from 'node:assert/strict'

/** Members of replies whose values must not appear in a log line. */
const SECRET_MEMBERS = new Set([
  'completion_secret',
  'watch_token',
  'device_token',
  'nonce',
  'challenge',
  'server_credential',
  'signature',
  'key_id',
])
/** The forms of all credentials. */
const SECRET_FORMS = /sk_beta_[0-9A-Za-z]{10}_|\bdt_[0-9A-Za-z]{10}_|\bbcs_|\bbwt_|nonce=/

/** Records the secrets in replies and fails if one appears in the log. */
export class Canary {
  readonly #known = new Set<string>()

  learn(value: unknown): void {
    if (typeof value !== 'object' || value === null) return
    for (const [name, member] of Object.entries(value)) {
      if (typeof member === 'string' && SECRET_MEMBERS.has(name) && member.length >= 20)
        this.#known.add(member)
      else this.learn(member)
    }
  }

  search(lines: readonly string[]): void {
    const log = lines.join('')
    assert.doesNotMatch(log, SECRET_FORMS)
    for (const secret of this.#known)
      if (log.includes(secret))
        assert.fail(`The log contains a secret: ${lines.find((line) => line.includes(secret))}`)
  }
}
