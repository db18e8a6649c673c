import { decodeBase64url } from '@bonded/contract'
import { same } from './merkle.ts'
import { concat, sha256 } from './phone-signature.ts'
import type { ReceiptKeySet } from './verify-receipt.ts'

/** A signed statement of the log: how many entries it has, and the root of its tree. */
export interface Checkpoint {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}

const HASH_BYTES = 32
const KEY_ID_BYTES = 4
const SIZE = /^(0|[1-9]\d{0,14})$/

/**
 * Reads a checkpoint (c2sp.org/tlog-checkpoint) that a key of the set has signed under the name of
 * the log. Signatures of others, such as witnesses, are ignored.
 *
 * @returns undefined if no key of the set has signed it
 */
export async function openCheckpoint(
  note: string,
  jwks: ReceiptKeySet,
): Promise<Checkpoint | undefined> {
  const [origin = '', size = '', root = '', ...rest] = (await openNote(note, jwks)) ?? []
  const hash = decodeBase64(root)
  if (rest.length > 0 || !SIZE.test(size) || hash?.length !== HASH_BYTES) return undefined
  return { origin, size: Number(size), root: hash }
}

/**
 * Reads a note (c2sp.org/signed-note) that a key of the set has signed under the name in its first
 * line.
 *
 * @returns its lines, or undefined if no key of the set has signed it
 */
export async function openNote(
  note: string,
  { keys }: ReceiptKeySet,
): Promise<readonly string[] | undefined> {
  const end = note.lastIndexOf('\n\n') + 1
  const text = note.slice(0, end)
  const [origin = '', ...rest] = text.slice(0, -1).split('\n')
  for (const line of note.slice(end + 1).split('\n')) {
    const [dash, name, encoded = ''] = line.split(' ')
    const signature = dash === '—' && name === origin ? decodeBase64(encoded) : undefined
    if (signature !== undefined && (await isSigned({ text, origin, signature, keys })))
      return [origin, ...rest]
  }
  return undefined
}

async function isSigned(of: {
  readonly text: string
  readonly origin: string
  readonly signature: Uint8Array<ArrayBuffer>
  readonly keys: ReceiptKeySet['keys']
}): Promise<boolean> {
  const { text, origin, signature, keys } = of
  for (const { x, crv } of keys) {
    const publicKey = crv === 'Ed25519' ? decodeBase64url(x ?? '') : undefined
    if (publicKey === undefined) continue
    // The name, a newline, the type of the signature, and the key (c2sp.org/signed-note).
    const name = new TextEncoder().encode(`${origin}\n\u0001`)
    const keyId = (await sha256(concat(name, publicKey))).subarray(0, KEY_ID_BYTES)
    if (!same(keyId, signature.subarray(0, KEY_ID_BYTES))) continue
    const key = await crypto.subtle.importKey('raw', publicKey, 'Ed25519', false, ['verify'])
    const bytes = new TextEncoder().encode(text)
    return crypto.subtle.verify('Ed25519', key, signature.subarray(KEY_ID_BYTES), bytes)
  }
  return false
}

/** The bytes of canonical padded base64, or undefined. */
export function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (text.length % 4 !== 0 || !/^[0-9A-Za-z+/]*={0,2}$/.test(text)) return undefined
  return decodeBase64url(text.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, ''))
}
