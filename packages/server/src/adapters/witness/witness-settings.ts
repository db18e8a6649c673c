import { createHash } from 'node:crypto'

/** A witness as the operator names it. */
export interface WitnessSettings {
  readonly name: string
  /** The first four bytes of the key's hash (c2sp.org/signed-note). */
  readonly keyId: Buffer
  /** The 32 bytes of its Ed25519 key. */
  readonly publicKey: Buffer
  /** Where it takes checkpoints. */
  readonly url: string
  /** Its host and port, as the sender compares them. */
  readonly host: string
}

/** The most witnesses: every verifier of notes accepts so many, with the log's own signature. */
const MAX_WITNESSES = 15
/** The type of an Ed25519 cosignature (c2sp.org/tlog-cosignature). */
const COSIGNATURE = 4
const PUBLIC_KEY_BYTES = 32
/** `<name>+<key id>+<type and key>`: a name has no space and no plus. */
const VERIFIER_KEY = /^(?<name>[\x21-\x2a\x2d-\x7e]{1,255})\+(?<id>[0-9a-f]{8})\+(?<key>[\w+/=-]+)$/

/**
 * Parses witnesses, separated by commas: each a verifier key, a space, and the URL prefix at which
 * it takes checkpoints.
 *
 * @returns undefined if one of them is not in this form, or two of them share a key
 */
export function parseWitnesses(text: string): readonly WitnessSettings[] | undefined {
  const parts = text === '' ? [] : text.split(',').map((part) => part.trim())
  const witnesses = parts.flatMap((part) => parseWitness(part) ?? [])
  const keys = new Set(witnesses.map(({ publicKey }) => publicKey.toString('hex')))
  const isWhole = witnesses.length === parts.length && keys.size === parts.length
  return isWhole && parts.length <= MAX_WITNESSES ? witnesses : undefined
}

function parseWitness(text: string): WitnessSettings | undefined {
  const [verifierKey = '', prefix = '', ...rest] = text.split(/ +/)
  const { name, id = '', key = '' } = VERIFIER_KEY.exec(verifierKey)?.groups ?? {}
  if (name === undefined || rest.length > 0 || !URL.canParse(prefix)) return undefined
  const typed = Buffer.from(key, 'base64')
  const keyId = createHash('sha256').update(`${name}\n`).update(typed).digest().subarray(0, 4)
  const isKey =
    typed.length === 1 + PUBLIC_KEY_BYTES &&
    typed[0] === COSIGNATURE &&
    typed.toString('base64') === key &&
    keyId.toString('hex') === id
  const base = new URL(prefix)
  const isWeb = base.protocol === 'https:' || base.protocol === 'http:'
  const isPlain = base.username + base.password + base.search + base.hash === ''
  if (!isKey || !isWeb || !isPlain) return undefined
  const port = base.port || (base.protocol === 'https:' ? '443' : '80')
  return {
    name,
    keyId,
    publicKey: typed.subarray(1),
    url: `${base.href.replace(/\/$/, '')}/add-checkpoint`,
    host: `${base.hostname}:${port}`,
  }
}
