import { canonicalJson, type QuorumRule, type ReceiptClaims } from '@bonded/contract'
import { requireOptions } from '../required.ts'
import {
  type ReceiptRejectReason,
  type ReceiptToVerify,
  type ReceiptVerdict,
  verifyEntry,
  verifySignatures,
} from './verify-receipt.ts'

/** What the receipts of a quorum must be for. */
export interface QuorumToVerify extends Pick<ReceiptToVerify, 'jwks' | 'issuer'> {
  /** How many people had to approve at least, by your own rules. */
  readonly minimum: number
  readonly tenantId: string
  readonly workflow: string
  /** The `context.digest` of the create, computed again from your record of the action. */
  readonly digest: string
}

/** A receipt of the service, with its proof. */
export type QuorumReceipt = Pick<ReceiptToVerify, 'receipt' | 'proof'>

/** Why receipts prove no approval of several people (protocol 16). */
export type QuorumReceiptsRejectReason =
  | ReceiptRejectReason
  | 'workflow_mismatch'
  | 'quorum_mismatch'
  | 'digest_mismatch'
  | 'needed_too_low'
  | 'not_completed'
  | 'user_repeated'
  | 'too_few_receipts'
  | 'too_far_apart'

type Accepted = Extract<ReceiptVerdict, { decision: 'accept' }>

/** The result of {@link verifyQuorum}. */
export type QuorumReceiptsVerdict =
  | {
      readonly decision: 'accept'
      readonly rule: QuorumRule
      /** The claims and the checkpoint of each receipt, in the order of the receipts. */
      readonly receipts: readonly Pick<Accepted, 'claims' | 'checkpoint'>[]
    }
  | { readonly decision: 'reject'; readonly reason: QuorumReceiptsRejectReason }

/** A request in an inbox waits a day at most, and all requests of a quorum are created at once. */
export const LONGEST_WINDOW_MS = 86_400_000

/**
 * Verifies offline that several people approved the same action together: each receipt as
 * `verifyReceipt` does, and that enough users with keys of their own signed one rule and one text.
 * Pass the receipts of the completed sessions.
 *
 * @throws {GateError} `invalid_configuration` for an option that is missing
 * @example
 * const ours = { tenantId: 'ten_…', workflow: 'wire', digest: 'zq…', minimum: 2 }
 * ;(await verifyQuorum([], { jwks: { keys: [] }, ...ours })).decision // 'reject'
 */
export async function verifyQuorum(
  receipts: readonly QuorumReceipt[],
  expected: QuorumToVerify,
): Promise<QuorumReceiptsVerdict> {
  requireOptions('verifyQuorum', { receipts }, { receipts: ['map'] })
  const texts = { tenantId: 'a text', workflow: 'a text', digest: 'a text' } as const
  requireOptions('verifyQuorum', expected, texts)
  const accepted: Accepted[] = []
  for (const each of receipts) {
    const given = { ...expected, receipt: each.receipt, proof: each.proof }
    const signed = await verifySignatures(given)
    const verdict = signed.decision === 'accept' ? await verifyEntry(given, signed) : signed
    if (verdict.decision === 'reject') return verdict
    accepted.push(verdict)
  }
  const all = accepted.map(({ claims }) => claims)
  const reason = faultOf(all, expected)
  const rule = all[0]?.context?.quorum
  if (reason !== undefined || rule === undefined)
    return { decision: 'reject', reason: reason ?? 'too_few_receipts' }
  return { decision: 'accept', rule, receipts: accepted }
}

function faultOf(
  all: readonly ReceiptClaims[],
  { minimum, workflow, digest }: QuorumToVerify,
): QuorumReceiptsRejectReason | undefined {
  const [first] = all
  if (first === undefined) return 'too_few_receipts'
  if (all.some((each) => each.workflow !== workflow)) return 'workflow_mismatch'
  const { quorum: rule, digest: approved } = first.context ?? {}
  // The rule is a part of the text that each phone has signed.
  if (rule === undefined || new Set(all.map(approvedText)).size > 1) return 'quorum_mismatch'
  if (approved !== digest) return 'digest_mismatch'
  // Negated, so that a minimum that is not a number rejects.
  if (!(rule.needed >= Math.max(2, minimum))) return 'needed_too_low'
  if (all.some(({ state, outcome }) => state !== 'completed' || outcome !== 'accepted'))
    return 'not_completed'
  const users = all.flatMap(({ subject_ref: ref }) => ref ?? [])
  const keys = all.map(({ phone }) => phone.public_key)
  if (Math.min(new Set(users).size, new Set(keys).size) < all.length) return 'user_repeated'
  if (all.length < rule.needed) return 'too_few_receipts'
  const created = Math.min(...all.map(({ created_at }) => Date.parse(created_at)))
  const bonded = Math.max(...all.map(({ bonded_at }) => Date.parse(bonded_at)))
  return bonded - created <= LONGEST_WINDOW_MS ? undefined : 'too_far_apart'
}

/** What a phone has signed for the action, beside what is its own. */
const approvedText = ({ iss, action, context }: ReceiptClaims): string =>
  canonicalJson([iss, action, context])
