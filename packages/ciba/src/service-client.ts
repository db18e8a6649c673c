import {
  exchange,
  isRetryableStatus,
  parseMembers,
  type Route,
  READ_RECEIPT,
  requestPath,
  type Secret,
  textOf,
} from '@bonded/contract'
import { GateError } from '@bonded/integrator'
import { RECEIPT_KEYS_PATH } from '@bonded/server/http/pages/receipt-keys'

const TIMEOUT_MS = 5_000

/** The calls that a backend of approvals does not make. */
export class ServiceClient {
  readonly #origin: string
  readonly #credential: Secret
  #makesReceipts = false

  constructor(origin: string, credential: Secret) {
    this.#origin = origin
    this.#credential = credential
  }

  /** Fails where the service makes no receipts, of which every token names one. */
  async requireReceipts(): Promise<void> {
    if (this.#makesReceipts) return
    const init = { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) } as const
    const { status } = await fetch(this.#origin + RECEIPT_KEYS_PATH, init).catch(
      (cause: unknown) => {
        throw new GateError('service_unavailable', 'The service did not answer.', { cause })
      },
    )
    if (status === 404)
      throw new GateError('forbidden', 'Set BONDED_RECEIPT_KEYS: the service makes no receipts.')
    this.#makesReceipts = status === 200
  }

  /** The receipt of an approved session: a compact JWS. */
  async receipt(id: string): Promise<string> {
    const text = await this.#call(READ_RECEIPT, requestPath(READ_RECEIPT, { session_id: id }))
    const receipt = parseMembers(text)?.['receipt']
    if (typeof receipt === 'string') return receipt
    throw new GateError('unexpected_answer', 'The service’s answer has no receipt.')
  }

  async #call(route: Route, path: string): Promise<string> {
    const result = await exchange({
      route,
      url: this.#origin + path,
      fetch,
      bearer: this.#credential.reveal(),
      init: { redirect: 'manual', signal: AbortSignal.timeout(TIMEOUT_MS) } as const,
    })
    if (result.kind === 'accepted') return result.text
    if (result.kind === 'no_response')
      throw new GateError('service_unavailable', 'The service did not answer.', result)
    const { status, error } = result
    const reason = textOf(error, 'reason')
    const unavailable = isRetryableStatus(status)
    const code = unavailable ? 'service_unavailable' : status === 404 ? 'not_found' : 'forbidden'
    throw new GateError(code, `The service answered ${status}, ${reason ?? 'without a reason'}.`, {
      reason,
    })
  }
}
