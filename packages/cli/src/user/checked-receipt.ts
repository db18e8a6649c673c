import { verifyReceipt } from '@bonded/integrator'
import type { SessionId } from '@bonded/contract'
import { findReceipt } from '@bonded/core/operations/admin/find-receipt'
import { OperatorError } from '@bonded/core/operations/admin/operator-error'
import type { Service } from '@bonded/core/operations/service'

/** The receipt of a session, verified as a backend would, with the keys of this service. */
export async function checkReceipt(service: Service, sessionId: SessionId) {
  const { receiptSigner, settings } = service
  const { jws, proof } = await findReceipt(service, sessionId)
  if (receiptSigner === undefined)
    throw new OperatorError('The receipt cannot be verified: set BONDED_RECEIPT_KEYS')
  const verdict = await verifyReceipt({
    receipt: jws,
    jwks: { keys: receiptSigner.publicKeys },
    issuer: settings.publicOrigin,
    sessionId,
    proof,
  })
  return { jws, proof, verdict }
}
