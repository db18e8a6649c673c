import { Buffer } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import type { Service } from '@bonded/core/operations/service'
import { Rejected } from '../response/rejected.ts'
import { limitPage } from './page-limits.ts'

/** Where verifiers fetch the keys of receipts. */
export const RECEIPT_KEYS_PATH = '/.well-known/jwks.json'
/** Shorter than a new key needs to be listed on every node before it signs. */
const MAX_AGE_SECONDS = 300

/** Serves the public keys of receipts as a JSON Web Key Set (RFC 7517), retired ones too. */
export function serveReceiptKeys(app: FastifyInstance, service: Service): void {
  const { receiptSigner } = service
  const body = receiptSigner && Buffer.from(JSON.stringify({ keys: receiptSigner.publicKeys }))
  app.get(RECEIPT_KEYS_PATH, limitPage(service, 'app_links'), async (_request, reply) => {
    if (body === undefined) throw new Rejected({ reason: 'page_not_found' })
    return reply
      .type('application/jwk-set+json')
      .header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`)
      .send(body)
  })
}
