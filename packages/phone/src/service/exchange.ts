import { parseStrictJson } from '@bonded/contract'
import { PhoneError } from '../errors.ts'
import type { AbortSignalLike, AnswerLike, FetchLike, RequestLike } from '../ports.ts'
import type { Secret } from '../secret.ts'

/** One request to the service. */
export interface Exchange {
  readonly method: RequestLike['method']
  /** Below the origin. */
  readonly path: string
  readonly token?: Secret
  /** The body as bytes to be: a text made once, so that a repetition is identical. */
  readonly body?: string
  readonly signal?: AbortSignalLike | undefined
}

/**
 * Sends one request and gives the parsed body of a 2xx answer; undefined where it has none.
 *
 * @throws {PhoneError} `unreachable`, `refused`, `answer_unreadable`, `cancelled`
 */
export async function exchange(
  at: { origin: string; fetch: FetchLike },
  request: Exchange,
): Promise<unknown> {
  const { method, path, token, body, signal } = request
  if (signal?.aborted) throw new PhoneError('cancelled')
  const headers: Record<string, string> = { accept: 'application/json' }
  if (token !== undefined) headers.authorization = `Bearer ${token.reveal()}`
  if (body !== undefined) headers['content-type'] = 'application/json'

  let answer: AnswerLike
  let text: string
  try {
    const url = `${at.origin}${path}`
    answer = await at.fetch(url, {
      method,
      headers,
      redirect: 'error',
      ...(body === undefined ? {} : { body }),
      ...(signal ? { signal } : {}),
    })
    text = await answer.text()
  } catch (cause) {
    // The signal may have been aborted meanwhile, which is how most fetches end then.
    throw signal?.aborted === true
      ? new PhoneError('cancelled', { cause })
      : new PhoneError('unreachable', { cause })
  }
  const { status } = answer
  if (status < 200 || status > 299) throw refusalOf(answer, text)
  if (status === 204) return undefined
  const parsed = parseStrictJson(text)
  if (!('value' in parsed))
    throw new PhoneError('answer_unreadable', { reason: parsed.problem, status })
  return parsed.value
}

function refusalOf(answer: AnswerLike, text: string): PhoneError {
  const parsed = parseStrictJson(text)
  const error =
    'value' in parsed
      ? (parsed.value as { error?: Record<string, unknown> } | null)?.error
      : undefined
  const member = (name: string) => {
    const value = error?.[name]
    return typeof value === 'string' ? value : undefined
  }
  const reason = member('reason') ?? member('code') ?? 'unexplained'
  const request_id = member('requestId')
  const server_time = member('server_time')
  const retryAfter = answer.headers.get('retry-after')
  return new PhoneError('refused', {
    reason,
    status: answer.status,
    ...(request_id === undefined ? {} : { request_id }),
    ...(server_time !== undefined && !Number.isNaN(Date.parse(server_time)) ? { server_time } : {}),
    ...(retryAfter !== null && /^\d{1,6}$/.test(retryAfter)
      ? { retry_after_ms: Number(retryAfter) * 1_000 }
      : {}),
  })
}
