import { encodeBase64url, RECEIPT_TYPE } from '@bonded/contract'
import { commitmentOf } from '../../domain/browser-proof.ts'
import { deviceRefOf } from '../../domain/device-ref.ts'
import {
  receiptClaims,
  type ReceiptSession,
  receiptSession,
  receiptState,
} from '../../domain/receipts.ts'
import type { Session } from '../../domain/session.ts'
import type { Signer } from '../../ports/signer.ts'
import type { StoredReceipt } from '../../ports/tables/receipt-table.ts'
import { type Batch, BATCH_SESSIONS } from '../maintenance/batch.ts'
import type { Service } from '../service.ts'

/** A node that dies meanwhile leaves its receipts to the next claim. */
const CLAIM_MS = 60_000

/**
 * Makes the receipts that are due. A signer that fails for one of them delays that one alone: the
 * service tries again until the session is purged.
 */
export async function makeReceipts(service: Service): Promise<Batch> {
  const { receiptSigner, store, clock } = service
  if (receiptSigner === undefined) return { done: 0, more: false }
  const due = await store.write((tables) => {
    const now = clock.now()
    const claim = { now, until: now + CLAIM_MS, limit: BATCH_SESSIONS }
    return tables.sessions.claimReceipts(claim)
  })
  const made = await Promise.allSettled(due.map((session) => settle(service, session)))
  const failures = made.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []))
  // When all of them fail, the key is out of reach: the next round is soon enough.
  const more = due.length === BATCH_SESSIONS && failures.length < due.length
  return { done: due.length - failures.length, more, failures }
}

/** Makes the receipt of a session, unless it has none by now. */
async function settle(service: Service, session: Session): Promise<void> {
  const proved = receiptSession(session)
  if (proved === undefined)
    await service.store.write((tables) => tables.sessions.receiptMade(session))
  else await makeReceipt(service, service.receiptSigner as Signer, proved)
}

/**
 * Signs and stores a receipt. Of two that are made at once, the first one remains.
 *
 * @returns the stored one; undefined if the session was erased meanwhile
 */
export async function makeReceipt(
  { store, clock, random, settings, keys }: Service,
  signer: Signer,
  session: ReceiptSession,
): Promise<StoredReceipt | undefined> {
  const { tenant, epoch } = await store.read(function* ({ tenants, receiptLog }) {
    const { epoch: current } = yield* receiptLog.head()
    return { tenant: yield* tenants.find(session.tenantId), epoch: current }
  })
  if (tenant === undefined) throw new Error(`session ${session.id} has no tenant`)
  const { subjectRef, deviceId } = session
  const claims = receiptClaims(session, {
    tenant,
    deviceRef:
      subjectRef === null || deviceId === null
        ? undefined
        : deviceRefOf((text) => keys.sha256(text), { subjectRef, deviceId }),
    issuer: settings.publicOrigin,
    logEpoch: epoch,
    id: encodeBase64url(random.id()),
    now: clock.now(),
  })
  const jws = await signJws(signer, { typ: RECEIPT_TYPE, claims })
  const made: StoredReceipt = {
    sessionId: session.id,
    state: receiptState(session),
    tenantId: session.tenantId,
    workflow: session.workflow,
    action: session.action,
    browserCommitment: commitmentOf(session) ?? null,
    jws,
    madeAt: clock.now(),
    logIndex: null,
  }
  return store.write(function* (tables) {
    // Locks the session. An erasure deletes its receipts after it, and may have emptied it.
    if ((yield* tables.sessions.find(session.id))?.bondProof == null) return undefined
    yield* tables.receipts.add(made)
    yield* tables.sessions.receiptMade(session)
    return yield* tables.receipts.find(session.id)
  })
}

/** Signs claims as a compact JWS (RFC 7515). */
async function signJws(
  signer: Signer,
  { typ, claims }: { readonly typ: string; readonly claims: object },
): Promise<string> {
  const { kid } = signer.publicKeys[0]
  const input = `${part({ alg: 'EdDSA', kid, typ })}.${part(claims)}`
  const signature = await signer.sign(new TextEncoder().encode(input))
  return `${input}.${encodeBase64url(signature)}`
}

function part(value: object): string {
  return encodeBase64url(new TextEncoder().encode(JSON.stringify(value)))
}
