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

const TIMEOUT_MS = 5_000

/** The calls that a backend of approvals does not make. */
export class ServiceClient {
  readonly #origin: string
  readonly #credential: Secret

  constructor(origin: string, credential: Secret) {
    this.#origin = origin
    this.#credential = credential
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
