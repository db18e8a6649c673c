import type { GateClock, RandomBytes } from '../clock.ts'
import { GateError } from '../errors.ts'
import type { Secret } from '../secret.ts'
import type { FetchLike } from './fetch-like.ts'
import { parseObject, refusedAnswer } from './refused-answer.ts'
import { nextTryMs, TOTAL_MS, TRY_TIMEOUT_MS } from './retry.ts'

/** Everything a call to the service needs. */
export interface Service {
  /** Ends in /api/v1, without a slash after it. */
  readonly baseUrl: string
  readonly serverCredential: Secret
  readonly fetch: FetchLike
  readonly clock: GateClock
  readonly random: RandomBytes
}

/** One request. It must be one that the service takes twice without doing it twice. */
export interface ServiceRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: object
}

type Answer = Record<string, unknown>

/**
 * Calls the service, and again while that can help: no answer, half an answer, 429 and 5xx.
 *
 * @throws {GateError} the last refusal
 */
export async function call(service: Service, request: ServiceRequest): Promise<Answer> {
  const startedMs = service.clock.now()
  for (let triesMade = 1; ; triesMade++) {
    const leftMs = TOTAL_MS - (service.clock.now() - startedMs)
    const answer = await tryOnce(service, request, Math.min(TRY_TIMEOUT_MS, Math.max(1, leftMs)))
    if (!(answer instanceof GateError)) return answer
    if (!answer.retryable) throw answer
    const waitMs = nextTryMs({
      triesMade,
      elapsedMs: service.clock.now() - startedMs,
      chance: chance(service.random),
      retryAfterMs: answer.retryAfterMs,
    })
    if (waitMs === undefined) throw answer
    await service.clock.sleep(waitMs)
  }
}

async function tryOnce(
  service: Service,
  request: ServiceRequest,
  timeoutMs: number,
): Promise<Answer | GateError> {
  const { method, path, headers, body } = request
  try {
    const answer = await service.fetch(service.baseUrl + path, {
      method,
      headers: {
        authorization: `Bearer ${service.serverCredential.reveal()}`,
        accept: 'application/json',
        ...(body && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
      // The credential never follows a redirect to another host.
      redirect: 'manual',
      signal: service.clock.timeout(timeoutMs),
    })
    const text = await answer.text()
    if (answer.status < 200 || answer.status > 299)
      return refusedAnswer(answer, text, service.clock.now())
    // A success that is not an object was cut off or was not written by the service; the truth is asked for again.
    return (
      parseObject(text) ??
      new GateError('service_unavailable', 'The service’s answer could not be read.')
    )
  } catch (cause) {
    return new GateError('service_unavailable', 'The service did not answer.', { cause })
  }
}

/** From 0 up to but not including 1. */
function chance(random: RandomBytes): number {
  const [a = 0, b = 0, c = 0] = random(3)
  return ((a << 16) | (b << 8) | c) / 2 ** 24
}
