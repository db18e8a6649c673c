import { decodeBase64url, type ReceiptClaims, type SessionId } from '@bonded/contract'
import { commitmentOf } from '../../domain/browser-proof.ts'
import { proofText } from '../../domain/receipt-log.ts'
import { receiptSession, receiptState } from '../../domain/receipts.ts'
import { accept, type Result, reject } from '../../domain/rejection.ts'
import type { Session } from '../../domain/session.ts'
import { hasBond } from '../../protocol/states.ts'
import type { Tables } from '../../ports/store.ts'
import type { StoredReceipt } from '../../ports/tables/receipt-table.ts'
import type { Work } from '../../ports/work.ts'
import { findAndExpireKeptSession, isVisible, readAndExpire } from '../session/find-and-expire.ts'
import { makeReceipt } from './make-receipts.ts'
import { inclusionOf } from './receipt-log.ts'
import type { BackendCaller, Service } from '../service.ts'
import { opensCommitment } from '../session/session-view.ts'

interface Found {
  readonly session: Session | undefined
  readonly receipt: StoredReceipt | undefined
}

/** A receipt, and the proof that the log has it. */
export interface ReadReceipt {
  readonly jws: string
  /** Null until a checkpoint covers it. */
  readonly proof: string | null
}

/** Returns the receipt of a session, with its proof. */
export async function readReceipt(
  service: Service,
  caller: BackendCaller,
  wanted: WantedReceipt,
): Promise<Result<ReadReceipt>> {
  const found = await findOrMakeReceipt(service, caller, wanted)
  if (!found.ok) return found
  return accept(await withProof(service, found.value))
}

/** Adds the proof that the log has a stored receipt. */
export async function withProof(
  service: Service,
  { jws, logIndex: index }: StoredReceipt,
): Promise<ReadReceipt> {
  if (index === null) return { jws, proof: null }
  const origin = logOriginIn(jws)
  const proved = await service.store.read((tables) =>
    inclusionOf(service, tables, { index, origin }),
  )
  return { jws, proof: proved === undefined ? null : proofText({ index, ...proved }) }
}

/** The log that a receipt of this service names. */
function logOriginIn(jws: string): string | undefined {
  const payload = decodeBase64url(jws.split('.')[1] ?? '')
  if (payload === undefined) return undefined
  const { log_origin } = JSON.parse(new TextDecoder().decode(payload)) as Partial<ReceiptClaims>
  return log_origin
}

interface WantedReceipt {
  readonly id: SessionId | undefined
  readonly browserSecret: string | undefined
}

/**
 * Returns the receipt of a session that is bonded or completed, and makes it if it is not yet made.
 * A receipt outlives its session.
 */
async function findOrMakeReceipt(
  service: Service,
  caller: BackendCaller,
  { id, browserSecret }: WantedReceipt,
): Promise<Result<StoredReceipt>> {
  const { session, receipt } = await readAndExpire(
    service,
    (tables) => find(service, tables, { id, key: caller.credential }),
    (found) => found.session,
  )
  if (session === undefined && receipt === undefined) return reject('session_not_found')
  const { receiptSigner } = service
  if (receiptSigner === undefined && receipt === undefined) return reject('receipts_disabled')
  const commitment = receipt?.browserCommitment ?? (session && commitmentOf(session))
  if (commitment != null && !opensCommitment(service, commitment, browserSecret))
    return reject('browser_secret_mismatch', { param: 'X-Bond-Browser-Secret' })

  const isCurrent = session === undefined || receipt?.state === receiptState(session)
  if (receipt !== undefined && (isCurrent || receiptSigner === undefined)) return accept(receipt)
  const bonded = session && hasBond(session) ? session : undefined
  const proved = bonded && receiptSession(bonded)
  if (proved !== undefined && receiptSigner !== undefined) {
    const made = await makeReceipt(service, receiptSigner, proved)
    return made === undefined ? reject('session_not_found') : accept(made)
  }
  if (receipt !== undefined) return accept(receipt)
  const lacksProof = bonded?.bondProof === null && bonded.verification !== null
  return reject(lacksProof ? 'bonded_without_receipt' : 'session_not_bonded')
}

function* find(
  service: Service,
  tables: Tables,
  { id, key }: { id: SessionId | undefined; key: BackendCaller['credential'] },
): Work<Found> {
  if (id === undefined) return { session: undefined, receipt: undefined }
  const found = yield* findAndExpireKeptSession(service, tables, { id, key })
  const receipt = yield* tables.receipts.find(id)
  return {
    session: found.ok ? found.value : undefined,
    receipt: receipt && isVisible(receipt, key) ? receipt : undefined,
  }
}
