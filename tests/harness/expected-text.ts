import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'

/**
 * Compares a text with the one of a file, which was read and agreed on. To write the files anew
 * after an intended change, set `WRITE_EXPECTED=1`, and read the difference.
 */
export function assertText(file: string, text: string): void {
  if (process.env['WRITE_EXPECTED'] === '1') {
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, `${text.trimEnd()}\n`)
  }
  assert.ok(existsSync(file), file)
  assert.equal(`${text.trimEnd()}\n`, readFileSync(file, 'utf8'), file)
}

/** Names what is random: what the scene has named, and all else by the place of its first use. */
export function namer(known: ReadonlyMap<string, string>): (text: string) => string {
  return (text) => {
    const others = new Map<string, string>()
    let named = text
    for (const [value, name] of known) named = named.replaceAll(value, name)
    return named
      .replaceAll(/\b(ten|sess|dev|sub|req|evt|we|quo)_[0-9A-Za-z]{22}\b/g, (id, kind: string) => {
        if (!others.has(id)) others.set(id, `${kind}_${others.size + 1}`)
        return others.get(id) ?? id
      })
      .replaceAll(/\bsk_beta_[0-9A-Za-z]{10}_\w+/g, '(a credential)')
      .replaceAll(/\bpk_beta_[0-9A-Za-z]{22}\b/g, '(a publishable key)')
      .replaceAll(/\bwhsec_[\w+/=-]+/g, '(a secret)')
      .replaceAll(/\bwhpk_[\w+/=-]+/g, '(a public key)')
      .replaceAll(/(?<![\w-])[\w-]{43}(?![\w-])/g, '(43 characters)')
      .replaceAll(/[\w-]{40,}\.[\w-]{40,}\.[\w-]{40,}/g, '(a JWS)')
  }
}
