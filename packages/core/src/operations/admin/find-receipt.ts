import type { SessionId } from '@bonded/contract'
import { type ReadReceipt, withProof } from '../receipt/read-receipt.ts'
import type { Service } from '../service.ts'
import { OperatorError } from './operator-error.ts'

/** The stored receipt of a session of any tenant, with its proof. It outlives the session. */
export async function findReceipt(service: Service, id: SessionId): Promise<ReadReceipt> {
  const receipt = await service.store.read((tables) => tables.receipts.find(id))
  if (receipt !== undefined) return withProof(service, receipt)
  throw new OperatorError(
    `No receipt of session ${id}. A running service makes it a few seconds after the bond, if receipts are configured`,
    { code: 'not_found' },
  )
}
