import type { Secret } from '@bonded/contract'
import { entryOf, keyOf, macOf, revealed } from './signature.ts'

/** A delivery to sign. */
export interface UnsignedWebhook {
  readonly id: string
  readonly sentAtMs: number
  readonly body: string | Uint8Array
}

/**
 * Returns the headers of a signed delivery, for the tests of your endpoint.
 *
 * @throws {GateError} `invalid_configuration` for a malformed secret
 * @example (await signWebhook({ id: 'evt_1', sentAtMs: 0, body: '{}' }, new Secret('whsec_…')))['webhook-id'] // 'evt_1'
 */
export async function signWebhook({ id, sentAtMs, body }: UnsignedWebhook, secret: Secret) {
  const timestamp = String(Math.floor(sentAtMs / 1_000))
  const mac = await macOf(await keyOf(revealed(secret)), { id, timestamp, body })
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': entryOf(mac) }
}
