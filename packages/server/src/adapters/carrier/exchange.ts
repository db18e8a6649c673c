import { parseStrictJson } from '@bonded/contract'
import { type CarrierResponse, learned, unknown } from './carrier-response.ts'
import type { Deadline } from './deadline.ts'

/** An API response has a few hundred bytes, a discovery document a few thousand. */
const MAX_RESPONSE_BYTES = 65_536

export interface Call {
  readonly url: string
  readonly form?: URLSearchParams
  readonly json?: object
  readonly headers?: Readonly<Record<string, string>>
}

/** An HTTP response: the status, and the members of the body if it is a JSON object. */
export interface Reply {
  readonly status: number
  readonly members: Readonly<Record<string, unknown>> | undefined
}

/**
 * Makes one HTTP call. It follows no redirect, reads at most `MAX_RESPONSE_BYTES`, and ends at the
 * deadline. Throttling and server errors are `unknown`.
 */
export async function exchange(call: Call, deadline: Deadline): Promise<CarrierResponse<Reply>> {
  const body = call.form ?? (call.json && JSON.stringify(call.json))
  try {
    const response = await fetch(call.url, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        accept: 'application/json',
        ...(call.json ? { 'content-type': 'application/json' } : {}),
        ...call.headers,
      },
      ...(body === undefined ? {} : { body }),
      redirect: 'manual',
      signal: deadline.signal,
    })
    const text = await readAtMost(response, MAX_RESPONSE_BYTES)
    if (text === undefined) return unknown('malformed_answer')
    const { status } = response
    if (status === 429) return { ...unknown('rate_limited'), ...retryAfter(response) }
    return status >= 500 ? unknown('server_error') : learned({ status, members: membersOf(text) })
  } catch {
    return unknown(deadline.signal.aborted ? 'timeout' : 'unreachable')
  }
}

async function readAtMost(response: Response, limit: number): Promise<string | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > limit) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

function membersOf(text: string): Reply['members'] {
  const parsed = parseStrictJson(text)
  if (!('value' in parsed)) return undefined
  const { value } = parsed
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : undefined
}

/**
 * Parses `Retry-After` in seconds. The date form is ignored, because it needs synchronized clocks.
 */
function retryAfter({ headers }: Response): { readonly retryAfterMs?: number } {
  const text = headers.get('retry-after') ?? ''
  return /^\d{1,6}$/.test(text) ? { retryAfterMs: Number(text) * 1000 } : {}
}
