import { type Checkpoint, decodeBase64, openCheckpoint } from './checkpoint.ts'
import { type ClosedLog, closedBetween } from './closed-log.ts'
import { isConsistent, leafHash, rootOfInclusion, same } from './merkle.ts'
import { sha256 } from './phone-signature.ts'
import type { ReceiptKeySet } from './verify-receipt.ts'

/** Why the log does not prove a receipt, or is not the log of an earlier checkpoint. */
export type LogRejectReason =
  | 'proof_malformed'
  | 'checkpoint_unsigned'
  | 'log_mismatch'
  | 'not_included'
  | 'log_rewritten'
  | 'log_closed'

/** The result of {@link verifyConsistency}. */
export type LogVerdict =
  | { readonly decision: 'accept'; readonly checkpoint: Checkpoint }
  | {
      readonly decision: 'reject'
      readonly reason: LogRejectReason
      /** The log that was closed without some of the older entries, with `log_closed`. */
      readonly closed?: ClosedLog
    }

/**
 * Verifies that a receipt is in the log that the checkpoint of its proof covers.
 *
 * @param proof a c2sp.org/tlog-proof, as the service returns it with the receipt
 */
export async function verifyInclusion(of: {
  readonly receipt: string
  readonly proof: string
  readonly origin: string
  readonly jwks: ReceiptKeySet
}): Promise<LogVerdict> {
  const { receipt, proof, origin, jwks } = of
  const end = proof.indexOf('\n\n')
  const [version, ...lines] = proof.slice(0, end).split('\n')
  const [indexLine = '', ...hashes] = lines.filter((line) => !line.startsWith('extra '))
  const index = /^index (0|[1-9]\d{0,14})$/.exec(indexLine)?.[1]
  const path = hashes.flatMap((line) => decodeBase64(line) ?? [])
  const isWhole = path.length === hashes.length && path.every(({ length }) => length === 32)
  if (end < 0 || version !== 'c2sp.org/tlog-proof@v1' || index === undefined || !isWhole)
    return reject('proof_malformed')
  const checkpoint = await openCheckpoint(proof.slice(end + 2), jwks)
  if (checkpoint === undefined) return reject('checkpoint_unsigned')
  // A log that was closed is continued by another one of the same service.
  if (serviceLog(checkpoint.origin) !== serviceLog(origin)) return reject('log_mismatch')
  const leaf = await leafHash(await sha256(new TextEncoder().encode(receipt)))
  const { size } = checkpoint
  const root = await rootOfInclusion({ leaf, index: Number(index), size, path })
  return root !== undefined && same(root, checkpoint.root)
    ? { decision: 'accept', checkpoint }
    : reject('not_included')
}

/** The name of the first log of a service, whose later ones have an epoch behind it. */
function serviceLog(origin: string): string {
  return origin.replace(/(\/receipts\/log)\/[\w-]{22}$/, '$1')
}

/**
 * Verifies that the log of a newer checkpoint begins with all entries of an older one, so that
 * nothing was edited, dropped, reordered, or inserted since.
 *
 * @param given.proof the hashes from `/receipts/log/consistency/<older size>/<newer size>`
 * @param given.closed the response of `/receipts/log/closed`, where the checkpoints are of two logs
 * @example (await verifyConsistency({ older: '', newer: '', proof: '', jwks })).decision // 'reject'
 */
export async function verifyConsistency(given: {
  readonly older: string
  readonly newer: string
  readonly proof: string
  readonly jwks: ReceiptKeySet
  readonly closed?: string | undefined
}): Promise<LogVerdict> {
  const older = await openCheckpoint(given.older, given.jwks)
  const newer = await openCheckpoint(given.newer, given.jwks)
  if (older === undefined || newer === undefined) return reject('checkpoint_unsigned')
  const logs = [older.origin, newer.origin] as const
  const path = await closedBetween(logs, given.closed ?? '', given.jwks)
  if (path === undefined) return reject('log_mismatch')
  const closed = path.find(({ entries }) => entries < older.size)
  if (closed !== undefined) return { decision: 'reject', reason: 'log_closed', closed }
  const lines = given.proof.split('\n').filter((line) => line !== '')
  const proof = lines.flatMap((line) => decodeBase64(line) ?? [])
  if (proof.length !== lines.length) return reject('proof_malformed')
  return (await isConsistent({ older, newer, proof }))
    ? { decision: 'accept', checkpoint: newer }
    : reject('log_rewritten')
}

function reject(reason: LogRejectReason): LogVerdict {
  return { decision: 'reject', reason }
}
