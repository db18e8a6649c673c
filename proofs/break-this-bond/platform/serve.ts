import type { Endpoint } from '@bonded/contract'
import type { Result } from '@bonded/core/domain/rejection'
import type { Call } from '@bonded/server/http/serve'

/** An endpoint and the service's handler of its calls. */
export interface Handled {
  readonly endpoint: Endpoint
  readonly handle: (
    call: Omit<Call<Endpoint>, 'caller' | 'headers' | 'query'> & {
      readonly caller: object
      readonly headers: object
      readonly query: object
    },
  ) =>
    | Result<readonly [string, unknown] | null>
    | Promise<Result<readonly [string, unknown] | null>>
}

/**
 * Replaces, in the bundle, the module that serves the endpoints over HTTP, so that the routes are
 * those of the service.
 */
export function serve(endpoint: Handled['endpoint'], handle: Handled['handle']): Handled {
  return { endpoint, handle }
}
