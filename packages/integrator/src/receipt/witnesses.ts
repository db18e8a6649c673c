import { GateError } from '../errors.ts'
import { requireOptions } from '../required.ts'
import { decodeBase64 } from './checkpoint.ts'
import { same } from './merkle.ts'
import { concat, sha256 } from './phone-signature.ts'
import {
  type QuorumReceipt,
  type QuorumReceiptsVerdict,
  type QuorumToVerify,
  verifyQuorum,
} from './verify-quorum.ts'
import { type ReceiptToVerify, type ReceiptVerdict, verifyReceipt } from './verify-receipt.ts'

/** The witnesses whose cosignatures count. */
export interface WitnessPolicy {
  /** Their verifier keys (c2sp.org/signed-note), such as `witness.example/w1+5d0ab3c1+BP…`. */
  readonly witnesses: readonly string[]
  /** How many of them must have cosigned. Default: all. */
  readonly required?: number | undefined
}

/** The result of {@link verifyWitnesses}: the names of the witnesses that have cosigned. */
export type WitnessVerdict =
  | { readonly decision: 'accept'; readonly cosigners: readonly string[] }
  | {
      readonly decision: 'reject'
      readonly reason: 'cosignatures_missing'
      readonly cosigners: readonly string[]
    }

/** The result of {@link verifyWitnessedReceipt}. */
export type WitnessedVerdict = ReceiptVerdict | Extract<WitnessVerdict, { decision: 'reject' }>

/** The result of {@link verifyWitnessedQuorum}. */
export type WitnessedQuorumVerdict =
  | QuorumReceiptsVerdict
  | Extract<WitnessVerdict, { decision: 'reject' }>

/** The type of an Ed25519 cosignature (c2sp.org/tlog-cosignature). */
const COSIGNATURE = 4
const KEY_ID_BYTES = 4
const SIGNATURE_AT = KEY_ID_BYTES + 8
const COSIGNATURE_BYTES = SIGNATURE_AT + 64
/** A verifier accepts 16 signatures of a note; more cost time only. */
const MAX_LINES = 64
const VERIFIER_KEY = /^([^\s+]+)\+([0-9a-f]{8})\+([\w+/=-]+)$/

/**
 * Verifies a receipt as `verifyReceipt` does, and that enough witnesses have cosigned the
 * checkpoint of its proof. A receipt without a proof is rejected.
 *
 * @throws {GateError} `invalid_configuration` for a verifier key or a number that is not one
 * @example
 * const witnesses = ['w.example+00df7ba9+BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA']
 * const given = { receipt: 'eyJ…', jwks: { keys: [] }, witnesses }
 * ;(await verifyWitnessedReceipt(given)).decision // 'reject'
 */
export async function verifyWitnessedReceipt(
  given: ReceiptToVerify & WitnessPolicy,
): Promise<WitnessedVerdict> {
  const verdict = await verifyReceipt(given)
  if (verdict.decision === 'reject') return verdict
  const witnessed = await verifyWitnesses(checkpointIn(given), given)
  return witnessed.decision === 'accept' ? verdict : witnessed
}

/**
 * Verifies receipts as `verifyQuorum` does, and that enough witnesses have cosigned the checkpoint
 * of each proof.
 *
 * @throws {GateError} `invalid_configuration` for an option that is missing, or a verifier key
 * @example
 * const witnesses = ['w.example+00df7ba9+BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA']
 * const ours = { tenantId: 'ten_…', workflow: 'wire', digest: 'zq…', minimum: 2 }
 * const given = { jwks: { keys: [] }, ...ours, witnesses }
 * ;(await verifyWitnessedQuorum([], given)).decision // 'reject'
 */
export async function verifyWitnessedQuorum(
  receipts: readonly QuorumReceipt[],
  expected: QuorumToVerify & WitnessPolicy,
): Promise<WitnessedQuorumVerdict> {
  const verdict = await verifyQuorum(receipts, expected)
  if (verdict.decision === 'reject') return verdict
  for (const each of receipts) {
    const witnessed = await verifyWitnesses(checkpointIn(each), expected)
    if (witnessed.decision === 'reject') return witnessed
  }
  return verdict
}

const checkpointIn = ({ proof }: QuorumReceipt): string =>
  proof?.slice(proof.indexOf('\n\n') + 2) ?? ''

/**
 * Verifies that enough witnesses have cosigned a checkpoint. Whose checkpoint it is, and that the
 * log has signed it, is for `verifyReceipt` and `verifyConsistency`.
 *
 * @throws {GateError} `invalid_configuration` for a verifier key or a number that is not one
 * @example
 * const witnesses = ['w.example+00df7ba9+BAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA']
 * ;(await verifyWitnesses('', { witnesses })).decision // 'reject'
 */
export async function verifyWitnesses(
  checkpoint: string,
  { witnesses, required = witnesses?.length }: WitnessPolicy,
): Promise<WitnessVerdict> {
  requireOptions('verifyWitnesses', { witnesses }, { witnesses: ['map'] })
  const known = await Promise.all(witnesses.map(readVerifierKey))
  const keys = new Set(known.map(({ publicKey }) => String(publicKey)))
  if (!(required >= 1 && required <= witnesses.length && keys.size === witnesses.length))
    throw new GateError(
      'invalid_configuration',
      'The number of required witnesses is not between 1 and the number of different keys.',
    )
  const end = checkpoint.lastIndexOf('\n\n') + 1
  const text = checkpoint.slice(0, end)
  const lines = checkpoint
    .slice(end + 1, -1)
    .split('\n')
    .slice(0, MAX_LINES)
  const cosigners: string[] = []
  for (const witness of known) {
    const signed = await Promise.all(lines.map((line) => isCosignature(line, { text, witness })))
    if (signed.includes(true)) cosigners.push(witness.name)
  }
  return cosigners.length >= required
    ? { decision: 'accept', cosigners }
    : { decision: 'reject', reason: 'cosignatures_missing', cosigners }
}

interface Known {
  readonly name: string
  readonly keyId: Uint8Array
  readonly publicKey: Uint8Array<ArrayBuffer>
}

async function readVerifierKey(text: string): Promise<Known> {
  const [, name = '', id, encoded = ''] = VERIFIER_KEY.exec(text) ?? []
  const typed = decodeBase64(encoded)
  const hash = await sha256(
    concat(new TextEncoder().encode(`${name}\n`), typed ?? new Uint8Array()),
  )
  const keyId = hash.subarray(0, KEY_ID_BYTES)
  const hex = [...keyId].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  if (typed?.length !== 33 || typed[0] !== COSIGNATURE || hex !== id)
    throw new GateError('invalid_configuration', `${text} is not the verifier key of a witness.`)
  return { name, keyId, publicKey: typed.slice(1) }
}

async function isCosignature(
  line: string,
  { text, witness }: { readonly text: string; readonly witness: Known },
): Promise<boolean> {
  const [dash, name, encoded = '', ...rest] = line.split(' ')
  if (dash !== '—' || name !== witness.name || rest.length > 0) return false
  const bytes = decodeBase64(encoded)
  if (bytes?.length !== COSIGNATURE_BYTES) return false
  if (!same(bytes.subarray(0, KEY_ID_BYTES), witness.keyId)) return false
  const time = new DataView(bytes.buffer).getBigUint64(KEY_ID_BYTES)
  const message = new TextEncoder().encode(`cosignature/v1\ntime ${time}\n${text}`)
  const key = await crypto.subtle.importKey('raw', witness.publicKey, 'Ed25519', false, ['verify'])
  return crypto.subtle.verify('Ed25519', key, bytes.subarray(SIGNATURE_AT), message)
}
