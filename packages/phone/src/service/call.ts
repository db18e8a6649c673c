import {
  exchange,
  type Members,
  parseStrictJson,
  type PathParameters,
  type Query,
  requestPath,
  type RequestParts,
  type Route,
  textOf,
} from '@bonded/contract'
import type { PhoneDevice } from '../device.ts'
import { isLost, isRejection, PhoneError } from '../errors.ts'
import { currentToken } from '../keys/current-token.ts'
import type { AbortSignalLike, FetchLike, PhoneClock, PhoneStore } from '../ports.ts'
import { withRetry } from './retry.ts'

/** The dependencies of a call to the service. */
export interface CallDependencies {
  readonly origin: string
  readonly fetch: FetchLike
  readonly clock: PhoneClock
  readonly store: PhoneStore
}

/** One call of an endpoint. */
export interface Call<R extends Route, T> {
  readonly parameters: PathParameters<R>
  readonly query?: Query
  readonly headers?: Record<string, string>
  /** The device whose token authenticates the call. */
  readonly device?: PhoneDevice
  /**
   * Makes the body: once where the endpoint's retry rule repeats the request, so that a repetition
   * sends the same bytes. Where the rule is `rebuild`, also after each attempt that the service may
   * have used up.
   */
  readonly body?: () => object | Promise<object>
  /** Reads the body of a success. */
  readonly read: (body: unknown) => T
  /**
   * Finds the result of an earlier attempt whose response was lost, after the service rejected a
   * later one. Undefined when the rejection is the result.
   */
  readonly afterLostResponse?: (rejection: PhoneError) => Promise<T | undefined>
  /** In the body. The service has counted the request before a passport waits for its turn. */
  readonly passport?: object | undefined
  /** False: a single attempt. */
  readonly retry?: false
  readonly signal?: AbortSignalLike | undefined
}

/**
 * Calls an endpoint and repeats the request by the endpoint's retry rule.
 *
 * @throws {PhoneError} `unreachable`, `refused`, `answer_unreadable`, `cancelled`, and what `body`
 * throws
 */
export async function call<const R extends Route, T>(
  phone: CallDependencies,
  route: R,
  options: Call<R, T>,
): Promise<T> {
  const { body, passport, afterLostResponse } = options
  let text: string | undefined
  let attempts = 0
  const attempt = async () => {
    text ??= JSON.stringify(await body?.())
    attempts++
    try {
      return options.read(await send(phone, route, options, text))
    } catch (error) {
      // Of a request that was turned away, nothing is used up, and a new one could prompt again.
      const isUsedUp = isLost(error) && (passport || !isRejection(error, 'overloaded'))
      if (route.retry === 'rebuild' && isUsedUp) text = undefined
      throw error
    }
  }
  try {
    return await (options.retry === false
      ? attempt()
      : withRetry(attempt, { clock: phone.clock, signal: options.signal }))
  } catch (error) {
    const isRejectedRepeat = attempts > 1 && error instanceof PhoneError && error.code === 'refused'
    const found = isRejectedRepeat ? await afterLostResponse?.(error) : undefined
    if (found === undefined) throw error
    return found
  }
}

/** Sends one request and parses the body of its success; undefined for 204. */
async function send<R extends Route>(
  phone: CallDependencies,
  route: R,
  { parameters, query, headers, device, signal }: Call<R, unknown>,
  body: string | undefined,
): Promise<unknown> {
  if (signal?.aborted) throw new PhoneError('cancelled')
  const token = device && (await currentToken(phone, device))
  const response = await exchange({
    route,
    url: phone.origin + requestPath(route, parameters, query),
    fetch: (url, request: RequestParts & { redirect: 'error'; signal?: AbortSignalLike }) =>
      phone.fetch(url, request),
    bearer: token?.reveal(),
    ...(headers && { headers }),
    body,
    // A token must not follow a redirect.
    init: { redirect: 'error' as const, ...(signal ? { signal } : {}) },
  })
  if (response.kind === 'no_response')
    // An aborted signal is how most fetches end.
    throw new PhoneError(signal?.aborted === true ? 'cancelled' : 'unreachable', {
      cause: response.cause,
    })
  if (response.kind === 'rejected') throw rejectionOf(response)
  if (route.status === 204) return undefined
  const parsed = parseStrictJson(response.text)
  if ('value' in parsed) return parsed.value
  throw new PhoneError('answer_unreadable', { reason: parsed.problem, status: route.status })
}

/** The names of what a claim lacks, by the member that would say that the phone has it. */
const LACKING: Readonly<Record<string, string>> = {
  browser_key: 'browser_key_required',
  shows: 'text_not_shown',
}

/**
 * The reason of a rejection. A claim that lacks a member is rejected with a reason that older apps
 * know too; here it has the name of what is missing (protocol 5, 14).
 */
function reasonOf(error: Members): string {
  const reason = textOf(error, 'reason') ?? textOf(error, 'code') ?? 'unexplained'
  if (reason !== 'key_format_not_accepted') return reason
  return LACKING[textOf(error, 'param') ?? ''] ?? reason
}

function rejectionOf(response: {
  readonly status: number
  readonly error: Members
  readonly retryAfterMs: number | undefined
}): PhoneError {
  const { status, error, retryAfterMs } = response
  if (status < 300) return new PhoneError('answer_unreadable', { reason: 'status', status })
  const request_id = textOf(error, 'requestId')
  const server_time = textOf(error, 'server_time')
  return new PhoneError('refused', {
    reason: reasonOf(error),
    status,
    ...(request_id === undefined ? {} : { request_id }),
    ...(server_time === undefined || Number.isNaN(Date.parse(server_time)) ? {} : { server_time }),
    ...(retryAfterMs === undefined ? {} : { retry_after_ms: retryAfterMs }),
  })
}
