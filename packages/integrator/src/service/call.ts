import {
  type ResponseLike,
  API_PATH,
  describeFailure,
  escapeHidden,
  exchange,
  type ExchangeResult,
  isRetryableStatus,
  type Members,
  parseMembers,
  type RequestParts,
  type RetryPolicy,
  type Route,
  type Secret,
  textOf,
  withRetry,
} from '@bonded/contract'
import type { GateClock, RandomBytes } from '../clock.ts'
import { GateError, type GateErrorCode } from '../errors.ts'

/**
 * The part of `fetch` that the gate needs. It must honor `signal`, which ends a hanging attempt.
 */
export type FetchLike = (
  url: string,
  init: RequestParts & { readonly redirect: 'manual'; readonly signal: AbortSignal },
) => Promise<ResponseLike>

/** Everything that a call to the service needs. */
export interface Service {
  /** Ends in /api/v1, without a slash after it. */
  readonly baseUrl: string
  readonly serverCredential: Secret
  readonly fetch: FetchLike
  readonly clock: GateClock
  readonly random: RandomBytes
}

/** One request to an endpoint whose retry rule is `repeat`. */
export interface ServiceRequest {
  readonly route: Route & { readonly retry: 'repeat' }
  /** The path with its parameters, from `requestPath`. */
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: object
}

/**
 * Four attempts outlast the restart of one node behind a load balancer. The user waits at the form
 * meanwhile and would reload it after more than 8 s.
 */
export const RETRY_POLICY: RetryPolicy = {
  maxAttempts: 4,
  backoff: { firstMs: 200, factor: 2, longestMs: 2_000, jitter: 1 },
  totalMs: 8_000,
}
/** Leaves time for a second attempt when the first one hangs. */
export const ATTEMPT_TIMEOUT_MS = 3_000
const NO_HEADER =
  'is empty, or has a line break or another character that no header may have. Pass it as you got it.'

/**
 * Calls the service. Retries while that can help: after no response, a truncated response, 429 and
 * 5xx.
 *
 * @throws {GateError} the error of the last attempt
 */
export async function call(service: Service, request: ServiceRequest): Promise<Members> {
  const { clock, random } = service
  const leftMs = (elapsedMs: number) => Math.max(1, (RETRY_POLICY.totalMs ?? 0) - elapsedMs)
  return withRetry((_attempt, elapsedMs) => send(service, request, leftMs(elapsedMs)), {
    policy: RETRY_POLICY,
    now: () => clock.now(),
    sleep: (ms) => clock.sleep(ms),
    random: () => fraction(random),
    retryable: (error) => (error instanceof GateError && error.retryable ? error : undefined),
  })
}

async function send(service: Service, request: ServiceRequest, leftMs: number): Promise<Members> {
  const { route, path, headers, body } = request
  const url = service.baseUrl + path.slice(API_PATH.length)
  // fetch removes a line break at an end, and fails for another one like for an outage.
  for (const [name, value] of Object.entries(headers ?? {}))
    if (!/^[!-~]+$/.test(value)) throw new GateError('invalid_request', `${name} ${NO_HEADER}`)
  const response = await exchange({
    route,
    url,
    fetch: service.fetch,
    bearer: service.serverCredential.reveal(),
    ...(headers && { headers }),
    ...(body && { body: JSON.stringify(body) }),
    init: {
      // The credential never follows a redirect to another host.
      redirect: 'manual',
      signal: service.clock.timeout(Math.min(ATTEMPT_TIMEOUT_MS, leftMs)),
    } as const,
    nowMs: service.clock.now(),
  })
  if (response.kind === 'no_response') throw noResponse(url, response.cause)
  if (response.kind === 'rejected') throw rejectionOf(response, url, request.body)
  const members = parseMembers(response.text)
  if (members !== undefined) return members
  // A truncated success, or one that the service did not write: a retry returns the actual result.
  const message = `The service’s answer could not be read: its ${response.text.length} characters are not whole JSON.`
  throw new GateError('service_unavailable', message, { address: url })
}

/** The error for a call without an answer: an error that is logged alone says where and why. */
export function noResponse(address: string, cause: unknown): GateError {
  const message = `The service at ${new URL(address).origin} did not answer: ${describeFailure(cause)}.`
  return new GateError('service_unavailable', message, { address, cause })
}

/** The error for a rejection. The status decides; the body only explains, and a proxy has none. */
export function rejectionOf(
  { status, error, retryAfterMs }: Extract<ExchangeResult, { kind: 'rejected' }>,
  address: string,
  body?: object,
): GateError {
  const text = (name: string) => {
    const given = textOf(error, name)
    return given === undefined ? undefined : escapeHidden(given)
  }
  const message = text('message') ?? `The service answered ${status}.`
  const param = text('param')
  const sent = param === undefined ? '' : describeSent(param, body)
  return new GateError(codeOf(status, textOf(error, 'code')), message + sent, {
    reason: text('reason'),
    param,
    docUrl: resolve(textOf(error, 'doc_url'), address),
    requestId: text('requestId'),
    retryAfterMs,
    reportedAt: text('reported_at'),
    address,
  })
}

/**
 * What the request has where the service rejects it: the service has one message for a value of
 * another type, an empty one, and one that is too long. Never the value, which is a user's.
 */
function describeSent(param: string, body: unknown): string {
  let sent = body
  for (const name of param.split('.'))
    sent = Object(sent) === sent ? (sent as Members)[name] : undefined
  if (Array.isArray(sent)) return ` ${param} is a list.`
  if (sent === '') return ` ${param} is empty.`
  if (typeof sent === 'string')
    return ` ${param} is a text of ${Array.from(sent).length} characters.`
  const isValue = typeof sent === 'number' || typeof sent === 'boolean'
  return isValue ? ` ${param} is of the type ${typeof sent}.` : ''
}

/** The absolute address of the page that the service names. */
function resolve(reference: string | undefined, address: string): string | undefined {
  return reference !== undefined && URL.canParse(reference, address)
    ? new URL(reference, address).href
    : undefined
}

function codeOf(status: number, code: string | undefined): GateErrorCode {
  if (isRetryableStatus(status)) return status === 429 ? 'rate_limited' : 'service_unavailable'
  // Without an error of the service, the response came from elsewhere: a wrong base URL responds
  // with 404.
  if (code === undefined) return 'unexpected_answer'
  if (status === 401) return 'unauthorized'
  if (status === 403) return 'forbidden'
  if (status === 404 && code === 'not_found') return 'not_found'
  return status >= 400 ? 'invalid_request' : 'unexpected_answer'
}

/** A number from 0 up to but not including 1. */
function fraction(random: RandomBytes): number {
  const [a = 0, b = 0, c = 0] = random(3)
  return ((a << 16) | (b << 8) | c) / 2 ** 24
}
