import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type ResponseLike,
  CREATE_SESSION,
  exchange,
  GET_SESSION,
  type RequestParts,
  textOf,
} from '@bonded/contract'

interface Served {
  readonly status: number
  readonly body?: string
  readonly headers?: Record<string, string>
}

/** A fetch that returns one response, and the requests that it received. */
function serve({ status, body = '', headers = {} }: Served) {
  const requests: RequestParts[] = []
  const fetch = async (_url: string, request: RequestParts): Promise<ResponseLike> => {
    requests.push(request)
    return {
      status,
      headers: { get: (name) => headers[name] ?? null },
      text: async () => body,
    }
  }
  return { fetch, requests }
}

const url = 'https://bonds.test/api/v1/sessions'

test('sends the method of the route, the credential and the body', async () => {
  const { fetch, requests } = serve({ status: 201, body: '{"id":"sess_1"}' })
  const response = await exchange({
    route: CREATE_SESSION,
    url,
    fetch,
    bearer: 'sk_beta_x',
    headers: { 'idempotency-key': 'k' },
    body: '{"workflow":"w"}',
    init: {},
  })
  assert.deepEqual(response, { kind: 'accepted', text: '{"id":"sess_1"}' })
  assert.deepEqual(
    requests.map((request) => ({ ...request })),
    [
      {
        method: 'POST',
        headers: {
          accept: 'application/json',
          'idempotency-key': 'k',
          authorization: 'Bearer sk_beta_x',
          'content-type': 'application/json',
        },
        body: '{"workflow":"w"}',
      },
    ],
  )
})

test('sends neither a body nor its type where there is none', async () => {
  const { fetch, requests } = serve({ status: 200, body: '{}' })
  await exchange({ route: GET_SESSION, url, fetch, init: {} })
  assert.deepEqual({ ...requests[0] }, { method: 'GET', headers: { accept: 'application/json' } })
})

test('ignores members of a polluted Object.prototype', async () => {
  const { fetch, requests } = serve({ status: 200, body: '{}' })
  Object.defineProperty(Object.getPrototypeOf({}), 'body', {
    value: 'polluted',
    configurable: true,
  })
  Object.defineProperty(Object.getPrototypeOf({}), 'bearer', {
    value: 'polluted',
    configurable: true,
  })
  try {
    await exchange({ route: GET_SESSION, url, fetch, init: {} })
  } finally {
    Reflect.deleteProperty(Object.prototype, 'body')
    Reflect.deleteProperty(Object.prototype, 'bearer')
  }
  assert.deepEqual(requests[0]?.headers, { accept: 'application/json' })
  assert.equal(requests[0]?.body, undefined)
})

test('accepts only the success status of the endpoint', async () => {
  for (const status of [200, 202, 204, 302]) {
    const { fetch } = serve({ status, body: '{}' })
    const response = await exchange({ route: CREATE_SESSION, url, fetch, init: {} })
    assert.equal(response.kind, 'rejected', `${status}`)
  }
})

test('returns the error members and the requested wait of a rejection', async () => {
  const error = { code: 'rate_limited', reason: 'rate_limited', message: 'm', requestId: 'req_1' }
  const { fetch } = serve({
    status: 429,
    body: JSON.stringify({ error }),
    headers: { 'retry-after': '4' },
  })
  const response = await exchange({ route: GET_SESSION, url, fetch, init: {} })
  assert.ok(response.kind === 'rejected')
  assert.deepEqual({ ...response.error }, error)
  assert.deepEqual([response.status, response.retryAfterMs], [429, 4_000])
})

test('returns no error members for the page of a proxy', async () => {
  for (const body of ['<html>', '[]', '{"error":"no"}', 'null', '']) {
    const { fetch } = serve({ status: 502, body })
    const response = await exchange({ route: GET_SESSION, url, fetch, init: {} })
    assert.ok(response.kind === 'rejected')
    assert.deepEqual({ ...response.error }, {}, body)
  }
})

test('reports a lost request and a truncated body as no response', async () => {
  const cause = new TypeError('reset')
  const lost = async () => Promise.reject(cause)
  const cut = async () => ({ status: 200, headers: { get: () => null }, text: lost })
  for (const fetch of [lost, cut]) {
    const response = await exchange({ route: GET_SESSION, url, fetch, init: {} })
    assert.deepEqual(response, { kind: 'no_response', cause })
  }
})

test('returns only short text members of an error', () => {
  const error = { reason: 'session_claimed', message: 'x'.repeat(513), code: 7 }
  assert.equal(textOf(error, 'reason'), 'session_claimed')
  assert.equal(textOf(error, 'message'), undefined)
  assert.equal(textOf(error, 'code'), undefined)
  assert.equal(textOf(error, 'requestId'), undefined)
})
