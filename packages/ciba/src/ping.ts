import { describeFailure, isRetryableStatus } from '@bonded/contract'
import type { Provider } from 'oidc-provider'
import type { Logger } from 'pino'
import type { Notice } from './sqlite-rows.ts'

/**
 * Returns a function that tells a client in ping mode to get its answer, and returns false where it
 * has to be repeated. It decides nothing: the gate is applied when the client asks for its token.
 */
export function notifierOf(provider: Provider, log: Logger) {
  return async ({ approval: session, content }: Notice): Promise<boolean> => {
    const found = { ignoreExpiration: true }
    const id = String(content['auth_req_id'])
    const request = await provider.BackchannelAuthenticationRequest.find(id, found)
    // A client that polled has its answer, and one that knows when its request expires needs none.
    if (request === undefined || request.consumed !== undefined || request.isExpired) return true
    const client = await provider.Client.find(String(request.clientId))
    // The operator can have removed the client, or have changed its mode.
    if (client?.backchannelTokenDeliveryMode !== 'ping') return true
    const of = { client: client.clientId, session }
    try {
      await client.backchannelPing(request)
      log.info(of, 'notified a client')
      return true
    } catch (failure) {
      const { response } = failure as { readonly response?: Response }
      const isRepeated = response === undefined || isRetryableStatus(response.status)
      const detail = { ...of, repeated: isRepeated, detail: describeFailure(failure) }
      log.warn(detail, 'a client was not notified')
      return !isRepeated
    }
  }
}
