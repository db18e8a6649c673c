import assert from 'node:assert/strict'

/** Members of replies whose values must not stand in any log line. */
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
/** Forms of credentials, whoever made them. */
const SECRET_FORMS = /sk_beta_[0-9A-Za-z]{10}_|\bdt_[0-9A-Za-z]{10}_|\bbcs_|\bbwt_|nonce=/

/** Remembers every secret that a test was given, to look for it where it must not be. */
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
    for (const line of lines) {
      assert.doesNotMatch(line, SECRET_FORMS)
      for (const secret of this.#known)
        assert.ok(!line.includes(secret), `a secret stands in the log: ${line}`)
    }
  }
}
