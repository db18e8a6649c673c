import { type AppAttest, encodeBase64url, type ReceiptClaims } from '@bonded/contract'
import { iso, isoOrNull } from './iso.ts'
import { LOG_DELAY_SECONDS, logOrigin } from './receipt-log.ts'
import type { Device, Instant, Session } from './session.ts'
import { type Tenant, titlesOf } from './tenant.ts'
import { hasMoved, type Move, MOVES } from '../protocol/states.ts'

/**
 * How long after a bond its receipt is made. Most sessions are completed by then, and need only the
 * receipt of their completion.
 */
export const RECEIPT_DELAY_MS = 5_000
/** How long a receipt can be fetched, by default. */
export const RECEIPT_RETENTION_DAYS = 30
export const RECEIPT_RETENTION_MS = RECEIPT_RETENTION_DAYS * 24 * 60 * 60_000

/** What the phone signed, as a session stores it and its receipt shows it. */
export type BondProof = ReceiptClaims['phone']
/** The state of a session that a receipt proves. */
export type ReceiptState = ReceiptClaims['state']

/** The proof of an assertion that was verified. */
export function bondProof(
  { format, publicKey }: Device,
  { payload, assertion }: { readonly payload: string; readonly assertion: AppAttest },
): BondProof {
  const { authenticator_data, signature, client_data_json } = assertion
  return {
    format,
    public_key: encodeBase64url(publicKey),
    payload,
    authenticator_data,
    signature,
    ...(client_data_json === undefined ? {} : { client_data_json }),
  }
}

/** When the receipt of a session is due after a move: null if it needs none. */
export function receiptDueAt(
  { bondProof, receiptDueAt: before }: Pick<Session, 'bondProof' | 'receiptDueAt'>,
  move: Move,
  now: Instant,
): Instant | null {
  if (bondProof === null) return null
  if (move.to === MOVES.bond.to) return now + RECEIPT_DELAY_MS
  return move.to === MOVES.complete.to ? now : before
}

/** A session of which a receipt can be made. */
export type ReceiptSession = Session & {
  readonly bondProof: BondProof
  readonly bondedAt: Instant
  readonly verification: NonNullable<Session['verification']>
}

/**
 * The session, if it has an approval that a receipt can prove. Not if it was killed since, or its
 * phone was removed or blocked before the completion.
 */
export function receiptSession(session: Session): ReceiptSession | undefined {
  const { bondedAt, bondProof, verification } = session
  if (
    hasMoved(session, MOVES.kill) ||
    bondedAt === null ||
    bondProof === null ||
    verification === null
  )
    return undefined
  return { ...session, bondedAt, bondProof, verification }
}

/** What a receipt of this session says. */
export function receiptState(session: Session): ReceiptState {
  return hasMoved(session, MOVES.complete) ? MOVES.complete.to : MOVES.bond.to
}

/** The content of a receipt. */
export function receiptClaims(
  session: ReceiptSession,
  by: {
    readonly tenant: Tenant
    readonly issuer: string
    readonly logEpoch: string
    readonly id: string
    readonly now: Instant
    /** The tenant's pseudonym for the phone. */
    readonly deviceRef: string | undefined
  },
): ReceiptClaims {
  const { tenant, issuer, logEpoch, id, now, deviceRef } = by
  const state = receiptState(session)
  // A late report is in no receipt: the session was never completed.
  const completed = state === MOVES.complete.to ? session : { completedAt: null, outcome: null }
  return {
    iss: issuer,
    aud: session.tenantId,
    iat: Math.floor(now / 1_000),
    jti: id,
    environment: tenant.environment,
    state,
    session_id: session.id,
    workflow: session.workflow,
    action: session.action,
    context: session.context,
    tenant_name: tenant.name,
    ...titlesOf(tenant, session),
    requesting_origin: session.requestingOrigin,
    subject_ref: session.subjectRef,
    ...(deviceRef === undefined ? {} : { device_ref: deviceRef }),
    verification: session.verification,
    device_format: session.bondProof.format,
    created_at: iso(session.createdAt),
    bonded_at: iso(session.bondedAt),
    completed_at: isoOrNull(completed.completedAt),
    outcome: completed.outcome,
    log_origin: logOrigin(issuer, logEpoch),
    log_delay_seconds: LOG_DELAY_SECONDS,
    phone: session.bondProof,
  }
}
