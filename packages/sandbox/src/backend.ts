import { OperatorError } from '@bonded/core/operations/admin/operator-error'

/** The name in the guides, and in the examples of a backend. */
const CREDENTIAL = 'BONDED_SERVER_CREDENTIAL'

/** A request of a backend, or of a page with a token of its own. */
export interface Call {
  readonly method?: 'GET' | 'POST' | 'DELETE'
  readonly token?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

/** Calls a path below `/api/v1` and returns the body of the response. */
export type Backend = <T>(path: string, call?: Call) => Promise<T>

/**
 * The server credential in the environment.
 *
 * @throws {OperatorError} without one
 */
export function readCredential(): string {
  const credential = process.env[CREDENTIAL]
  if (credential !== undefined && credential !== '') return credential
  throw new OperatorError(`Set ${CREDENTIAL} to a server credential of the tenant`, {
    code: 'invalid',
  })
}

/** A backend of a tenant. Its calls throw an {@link OperatorError} if the service rejects them. */
export function createBackend(origin: string, credential: string): Backend {
  return async <T>(path: string, call: Call = {}) => {
    const { method = 'POST', token = credential, headers, body } = call
    const response = await fetch(`${origin}/api/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    }).catch((cause: unknown) => {
      throw new OperatorError(`The service does not answer at ${origin}`, {
        code: 'unreachable',
        cause,
      })
    })
    const text = await response.text()
    const answer = text === '' ? {} : (JSON.parse(text) as { error?: { message: string } })
    if (!response.ok)
      throw new OperatorError(`The service rejected ${path}: ${answer.error?.message ?? ''}`)
    return answer as T
  }
}
