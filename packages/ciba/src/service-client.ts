import {
  escapeHidden,
  exchange,
  GET_SESSION,
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
/** The service responds to a read after this time at the latest. */
const WAIT_MS = 25_000
/** The user can still answer. */
const WAITING: ReadonlySet<unknown> = new Set(['pending', 'step_up_required'])

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

  /** Resolves when the user has answered, or can answer no more. */
  async untilAnswered(id: string, stop: AbortSignal): Promise<void> {
    const path = requestPath(GET_SESSION, { session_id: id })
    try {
      for (let after = 0; ; ) {
        const signal = AbortSignal.any([stop, AbortSignal.timeout(WAIT_MS + TIMEOUT_MS)])
        const query = `?wait_ms=${WAIT_MS}&after=${after}`
        const { state, seq } =
          parseMembers(await this.#call(GET_SESSION, path + query, signal)) ?? {}
        if (typeof seq !== 'number')
          throw new GateError('unexpected_answer', 'The service’s answer is no session.')
        if (!WAITING.has(state)) return
        after = seq
      }
    } catch (error) {
      // The service has deleted the session, which has ended long before.
      if (!(error instanceof GateError && error.code === 'not_found')) throw error
    }
  }

  async #call(
    route: Route,
    path: string,
    signal: AbortSignal = AbortSignal.timeout(TIMEOUT_MS),
  ): Promise<string> {
    const result = await exchange({
      route,
      url: this.#origin + path,
      fetch,
      bearer: this.#credential.reveal(),
      init: { redirect: 'manual', signal } as const,
    })
    if (result.kind === 'accepted') return result.text
    if (result.kind === 'no_response')
      throw new GateError('service_unavailable', 'The service did not answer.', result)
    const { status, error } = result
    const given = textOf(error, 'reason')
    const reason = given && escapeHidden(given)
    const unavailable = isRetryableStatus(status)
    const code = unavailable ? 'service_unavailable' : status === 404 ? 'not_found' : 'forbidden'
    throw new GateError(code, `The service answered ${status}, ${reason ?? 'without a reason'}.`, {
      reason,
    })
  }
}
