import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { checkSetup } from '../../src/arguments.ts'
import { timeLeft } from '../../src/countdown.ts'
import { COMPLETED_SCREENS, ENDED_SCREENS, UNAVAILABLE_SCREENS } from '../../src/ended-screens.ts'
import { explainBlocked, explainNotFound } from '../../src/session/explain.ts'
import { findSession } from '../../src/session/find.ts'
import { cancelSession, getSession } from '../../src/session/get-session.ts'
import { reportRejection } from '../../src/session/rejection.ts'
import { readPairs } from '../../src/view/pairs.ts'

/* What the widget asks the service and the page's backend, and what it makes of a rejection. */

Object.assign(globalThis, {
  document: { baseURI: 'https://shop.example/' },
  location: { origin: 'https://shop.example' },
})
const ORIGIN = 'https://bond.example'
const ADDRESS = {
  id: `sess_${'0'.repeat(22)}`,
  apiBaseUrl: `${ORIGIN}/`,
  websocketUrl: 'wss://bond.example/sessions/1',
  watchToken: 'bwt_1',
  tenantId: 'ten_1',
}
const SESSION_PATH = `${ORIGIN}/api/v1/sessions/${ADDRESS.id}`

/** Replaces the network and the console. */
function network(context: TestContext, respond: (url: string) => Response | Promise<Response>) {
  const calls: Record<string, unknown>[] = []
  const logged: string[] = []
  context.mock.method(globalThis, 'fetch', async (url: string | URL, init: object) => {
    calls.push({ url: String(url), ...init })
    return respond(String(url))
  })
  context.mock.method(console, 'error', (...given: unknown[]) =>
    logged.push(
      given
        .map((each) => (typeof each === 'object' ? JSON.stringify(each) : String(each)))
        .join(' '),
    ),
  )
  return { calls, logged }
}
const rejecting = (status: number, reason: string, headers = {}) =>
  Response.json({ error: { code: 'c', reason, message: 'm' } }, { status, headers })

test('reads and cancels a session without the state of the page', async (context) => {
  const { calls } = network(context, () => rejecting(404, 'session_not_found'))
  const subject = { address: ADDRESS, publishableKey: 'pk_beta_1' }
  const wait = { ms: 24_999.6, after: 7 }
  assert.deepEqual(await getSession({ ...subject, wait, signal: null }), { kind: 'gone' })
  assert.deepEqual(await getSession({ ...subject, wait: null, signal: null }), { kind: 'gone' })
  assert.deepEqual(await cancelSession(subject), { kind: 'gone' })
  assert.deepEqual(
    calls.map(({ url, method, keepalive }) => [url, method, keepalive]),
    [
      [`${SESSION_PATH}?wait_ms=25000&after=7`, 'GET', false],
      [SESSION_PATH, 'GET', false],
      [`${SESSION_PATH}/cancel`, 'POST', true],
    ],
  )
  for (const { headers, cache, credentials, referrerPolicy } of calls) {
    const sent = new Headers(headers as Record<string, string>)
    assert.equal(sent.get('authorization'), 'Bearer pk_beta_1')
    assert.equal(sent.get('x-bond-watch'), 'bwt_1')
    assert.deepEqual([cache, credentials, referrerPolicy], ['no-store', 'omit', 'no-referrer'])
  }
})

test('tells a response for later from a rejection, and from none', async (context) => {
  let response: () => Response | Promise<Response> = () => new Response()
  network(context, () => response())
  const read = () =>
    getSession({ address: ADDRESS, publishableKey: 'pk_beta_1', wait: null, signal: null })
  for (const [respond, result] of [
    [
      () => rejecting(429, 'rate_limited', { 'retry-after': '3' }),
      { kind: 'later', retryAfterMs: 3_000 },
    ],
    [() => rejecting(503, 'overloaded'), { kind: 'later', retryAfterMs: 0 }],
    [() => rejecting(401, 'credential_invalid'), { kind: 'rejected', reason: 'key_invalid' }],
    [() => Response.json({ id: 'other' }), { kind: 'unreadable' }],
    [() => new Response('<html>'), { kind: 'blocked' }],
    [() => Promise.reject(new TypeError('no network')), { kind: 'blocked' }],
  ] as const) {
    response = respond
    assert.deepEqual(await read(), result)
  }
})

test('names each rejection for the developer of the page', (context) => {
  const { logged } = network(context, () => new Response())
  const key =
    'The service does not know this publishable key, or it is revoked. See `bonded key list`.'
  const scope = 'The scope of this key lacks the workflow or the action of the session.'
  for (const [reason, shown, advice] of [
    ['credential_missing', 'key_invalid', key],
    ['credential_invalid', 'key_invalid', key],
    ['credential_not_accepted', 'key_invalid', key],
    [
      'origin_not_allowed',
      'origin_not_allowed',
      'The tenant of this key lacks this origin. An operator adds it.',
    ],
    [
      'key_of_another_tenant',
      'key_of_another_tenant',
      'The session is of another tenant. Use its keys.',
    ],
    ['workflow_not_enabled', 'key_out_of_scope', scope],
    ['action_not_enabled', 'key_out_of_scope', scope],
    ['a_later_reason', 'service_refused', 'The service rejected a request.'],
  ] as const) {
    const rejection = { kind: 'rejected', status: 403, error: { reason } } as unknown
    assert.equal(reportRejection(rejection as Parameters<typeof reportRejection>[0]), shown)
    const named = shown === 'service_refused' ? reason : shown
    assert.ok(
      logged.pop()?.startsWith(`Pulse: ${named}. ${advice} https://shop.example 403`),
      reason,
    )
  }
})

const SUBJECT = {
  address: ADDRESS,
  publishableKey: 'pk_beta_1',
  purpose: { workflow: 'pay', action: 'submit' },
}

test('asks about the key of a session that is not found', async (context) => {
  let response = () => rejecting(403, 'action_not_enabled')
  const { calls, logged } = network(context, () => response())
  assert.deepEqual(await explainNotFound(SUBJECT), { kind: 'rejected', reason: 'key_out_of_scope' })
  const { searchParams } = new URL(String(calls[0]?.['url']))
  assert.deepEqual(Object.fromEntries(searchParams), {
    workflow: 'pay',
    action: 'submit',
    tenant_id: 'ten_1',
  })
  response = () => rejecting(401, 'credential_invalid')
  assert.deepEqual(await explainNotFound(SUBJECT), { kind: 'rejected', reason: 'key_invalid' })
  for (const respond of [() => rejecting(404, 'origin_not_allowed'), () => Response.json({})]) {
    response = respond
    logged.length = 0
    const reason = 'session_not_found'
    assert.deepEqual(await explainNotFound(SUBJECT), { kind: 'rejected', reason })
    assert.equal(
      logged[0],
      `Pulse: session_not_found. The service does not know this session, or the watch token is wrong. https://shop.example ${ADDRESS.id}`,
    )
  }
})

test('blames the origin only where the service responds without CORS', async (context) => {
  let isAlive = true
  let isReadable = false
  const { calls } = network(context, (url) => {
    if (url.startsWith(SESSION_PATH) ? isReadable : isAlive) return rejecting(404, 'x')
    throw new TypeError('no network')
  })
  const reason = 'origin_not_allowed'
  assert.deepEqual(await explainBlocked(SUBJECT), { kind: 'rejected', reason })
  assert.equal(calls[0]?.['mode'], 'no-cors')
  isReadable = true
  assert.deepEqual(await explainBlocked(SUBJECT), { kind: 'gone' })
  isAlive = false
  assert.deepEqual(await explainBlocked(SUBJECT), { kind: 'blocked' })
})

const VIEW = {
  id: ADDRESS.id,
  api_base_url: ADDRESS.apiBaseUrl,
  websocket_url: ADDRESS.websocketUrl,
  watch_token: 'bwt_1',
  tenant_id: 'ten_1',
  workflow: 'pay',
  action: 'submit',
  context: { display: [{ label: 'Amount', value: '€1.00' }] },
}

test('asks the backend of the page for a session, and says what it did instead', async (context) => {
  let response: () => Response = () => Response.json({ session: VIEW })
  const { calls, logged } = network(context, () => response())
  const options = {
    publishableKey: 'pk_beta_1',
    workflow: 'pay',
    sessionEndpoint: '/bond-session',
    sessionEndpointCredentials: 'include',
  } as const
  const find = (origin = ORIGIN) =>
    findSession(
      checkSetup(options, origin),
      { action: 'submit', session: undefined, context: { amount: 1 }, onRetry: undefined },
      { load: () => undefined } as unknown as Parameters<typeof findSession>[2],
    )
  const found = await find()
  assert.ok(found.kind === 'session')
  assert.deepEqual(found.address, ADDRESS)
  assert.deepEqual([found.confirmed, found.pairs], [false, [['Amount', '€1.00']]])
  const [{ signal, ...call } = {}] = calls
  assert.ok(signal instanceof AbortSignal)
  assert.deepEqual(
    { ...call },
    {
      url: 'https://shop.example/bond-session',
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
      body: '{"workflow":"pay","action":"submit","context":{"amount":1}}',
      credentials: 'include',
      cache: 'no-store',
    },
  )
  const none = 'Pulse: sessionEndpoint returned no session of this request.'
  for (const [respond, reason, message] of [
    [
      () => new Response('', { status: 500 }),
      'session_endpoint_failed',
      'Pulse: sessionEndpoint answered 500.',
    ],
    [() => new Response('<html>'), 'session_endpoint_failed', none],
    [() => Response.json({}), 'session_endpoint_failed', none],
    [() => Response.json({ ...VIEW, action: 'x' }), 'session_mismatch', none],
    [() => Response.json({ ...VIEW, completion_secret: 's' }), 'completion_secret_exposed', none],
    [
      () => {
        throw new TypeError('no network')
      },
      'network',
      none,
    ],
  ] as const) {
    response = respond
    logged.length = 0
    assert.deepEqual(await find(), { kind: 'none', reason })
    assert.ok(logged[0]?.startsWith(message), logged[0])
  }
  response = () => Response.json(VIEW)
  assert.deepEqual(await find('https://a.example'), { kind: 'none', reason: 'script_not_hosted' })
  assert.ok(
    logged
      .at(-1)
      ?.startsWith('Pulse: Load pulse.js from https://bond.example, not from https://a.example.'),
  )
})

test('shows the pairs of a context only where all of them can be shown', () => {
  const display = [
    { label: 'A', value: '1' },
    { label: 'B', value: '2' },
  ]
  assert.deepEqual(readPairs({ display }), [
    ['A', '1'],
    ['B', '2'],
  ])
  for (const context of [undefined, {}, { display: {} }, { display: [...display, { label: 'C' }] }])
    assert.deepEqual(readPairs(context), [])
})

test('counts down in begun seconds', () => {
  for (const [until, text] of [
    [92_500, '1:33'],
    [60_000, '1:00'],
    [59_001, '1:00'],
    [59_000, '0:59'],
    [1, '0:01'],
    [0, '0:00'],
    [-5_000, '0:00'],
    [3_600_000, '60:00'],
  ] as const)
    assert.equal(timeLeft({ until: until + 700, now: 700 }), text)
})

test('has a screen for each way in which a request ends', () => {
  assert.deepEqual(ENDED_SCREENS, {
    user_declined: 'declined',
    user_unexpected: 'unexpected',
    canceled: 'killed',
    not_verified: 'not_verified',
    killed: 'killed',
    suspended: 'not_set_up',
    decided: 'killed',
  })
  assert.deepEqual(COMPLETED_SCREENS, { accepted: 'completed', in_review: 'in_review' })
  assert.deepEqual(UNAVAILABLE_SCREENS, {
    network: 'unreachable',
    container_hidden: 'obstructed',
    canceled: 'killed',
    key_invalid: 'not_set_up',
    origin_not_allowed: 'not_set_up',
    key_of_another_tenant: 'not_set_up',
    key_out_of_scope: 'not_set_up',
    script_not_hosted: 'not_set_up',
    service_refused: 'not_set_up',
    browser_unsupported: 'not_set_up',
    browser_frame_blocked: 'not_set_up',
    confirmed_elsewhere: 'elsewhere',
  })
})
