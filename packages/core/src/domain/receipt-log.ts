import { decodeBase64url } from '@bonded/contract'
import type { Sha256 } from './merkle.ts'

/** How many receipts one transaction appends. */
export const LOG_BATCH = 500
/** How long after a receipt was made its entry is in the log, at most: what a receipt promises. */
export const LOG_DELAY_SECONDS = 60
/** How long the entries of the log can be fetched, by default: ten years. */
export const LOG_RETENTION_DAYS = 3_650
export const LOG_RETENTION_MS = LOG_RETENTION_DAYS * 24 * 60 * 60_000
/** How often the witnesses are asked, at most. A round ends before the next one begins. */
export const COSIGN_ROUND_MS = 10_000
/** How often they are asked about a checkpoint that does not change. */
export const COSIGN_REFRESH_MS = 60 * 60_000
/** The path of the log, below the public origin. */
export const LOG_PATH = '/receipts/log'
/** The type of an Ed25519 signature (c2sp.org/signed-note). */
const ED25519 = Uint8Array.of(1)
const KEY_ID_BYTES = 4

/**
 * The name of a log, which its checkpoints begin with (c2sp.org/tlog-checkpoint). The first log of
 * a service has no epoch. Each one that begins after a loss of entries has a new one.
 */
export function logOrigin(publicOrigin: string, epoch = ''): string {
  const first = `${publicOrigin.replace(/^https?:\/\//, '')}${LOG_PATH}`
  return epoch === '' ? first : `${first}/${epoch}`
}

/** The text of a checkpoint, which the log signs. */
export function checkpointText(of: {
  readonly origin: string
  readonly size: number
  readonly root: Uint8Array
}): string {
  return `${of.origin}\n${of.size}\n${base64(of.root)}\n`
}

/** What a checkpoint says. Undefined for a text that is none. Its signature is not verified. */
export function checkpointFacts(
  note: string,
): { readonly origin: string; readonly size: number; readonly root: string } | undefined {
  const [origin = '', size = '', root = ''] = note.split('\n')
  return /^\d{1,15}$/.test(size) && root !== '' ? { origin, size: Number(size), root } : undefined
}

/** Why a log was closed and another one began. */
export type ClosingReason = 'restore' | 'failover' | 'operator'

/** The statement, signed by the new log, that it continues the first entries of a closed one. */
export function closingText(of: {
  readonly origin: string
  readonly closed: string
  readonly size: number
  readonly root: string
  readonly at: string
  readonly reason: ClosingReason
}): string {
  const { origin, closed, size, root, at, reason } = of
  return `${origin}\ncloses ${closed}\n${size}\n${root}\n${at}\n${reason}\n`
}

/** The line of a signature below a note (c2sp.org/signed-note). */
export function noteSignature(
  sha256: Sha256,
  by: {
    readonly origin: string
    readonly key: { readonly x: string }
    readonly signature: Uint8Array
  },
): string {
  const { origin, key, signature } = by
  const publicKey = decodeBase64url(key.x) ?? new Uint8Array()
  const keyId = sha256(new TextEncoder().encode(`${origin}\n`), ED25519, publicKey)
  const line = new Uint8Array(KEY_ID_BYTES + signature.length)
  line.set(keyId.subarray(0, KEY_ID_BYTES))
  line.set(signature, KEY_ID_BYTES)
  return `— ${origin} ${base64(line)}\n`
}

/** A proof of inclusion with its checkpoint (c2sp.org/tlog-proof). */
export function proofText(of: {
  readonly index: number
  readonly path: readonly Uint8Array[]
  readonly checkpoint: string
}): string {
  const lines = ['c2sp.org/tlog-proof@v1', `index ${of.index}`, ...of.path.map(base64)]
  return `${lines.join('\n')}\n\n${of.checkpoint}`
}

export function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
}
