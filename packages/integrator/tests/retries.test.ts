import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GateError } from '../src/index.ts'
import { RETRY_POLICY } from '../src/service/call.ts'
import type { Fault } from './fake-service.ts'
import { BOND, harness } from './harness.ts'

const coded = (code: string) => (error: unknown) =>
  error instanceof GateError && error.code === code

const passing: [string, Fault][] = [
  ['an answer that is lost', 'lost'],
  ['a connection that is refused', 'refused'],
  ['a try that times out', 'hang'],
  ['an answer that is cut off', 'cut'],
  ['a 503', { status: 503 }],
  ['a create that takes effect after operation_timeout', 'timed_out'],
  ['a 500 of the service', { status: 500 }],
  ['a 429', { status: 429 }],
]

for (const [name, fault] of passing) {
  test(`retries ${name}, and creates one session`, async () => {
    const h = harness()
    h.service.fault(fault, fault)
    const { session } = await h.gate.create(BOND)
    assert.equal(h.service.seen.length, 3)
    assert.deepEqual(h.service.ids(), [session.id])
    assert.equal(new Set(h.service.seen.map(({ headers }) => headers['idempotency-key'])).size, 1)
    assert.ok(await h.store.find(session.id))
  })
}

test('creates two sessions for two creates', async () => {
  const h = harness()
  await h.gate.create(BOND)
  await h.gate.create(BOND)
  assert.equal(h.service.ids().length, 2)
})

test('gives up after four attempts', async () => {
  const h = harness()
  h.service.fault(...Array<Fault>(9).fill('refused'))
  await assert.rejects(h.gate.create(BOND), coded('service_unavailable'))
  assert.equal(h.service.seen.length, RETRY_POLICY.maxAttempts)
})

test('waits as long as Retry-After requests, and at most a half longer', async () => {
  const h = harness()
  h.service.fault({ status: 429, headers: { 'retry-after': '3' } })
  await h.gate.create(BOND)
  assert.equal(h.clock.slept.length, 1)
  const [ms = 0] = h.clock.slept
  assert.ok(ms >= 3_000 && ms <= 4_500, `${ms} ms`)
})

test('reports a Retry-After beyond the total time instead of waiting', async () => {
  const h = harness()
  h.service.fault({ status: 429, headers: { 'retry-after': '60' } })
  const failed = h.gate.create(BOND)
  await assert.rejects(
    failed,
    (error) =>
      error instanceof GateError && error.code === 'rate_limited' && error.retryAfterMs === 60_000,
  )
  assert.deepEqual(h.clock.slept, [])
})

const rejections: [string, Fault, string][] = [
  [
    'a redirect',
    { status: 302, headers: { location: 'https://elsewhere.test' } },
    'unexpected_answer',
  ],
  ['a 404 that is not the service’s', { status: 404, body: '<html>' }, 'unexpected_answer'],
  [
    'a workflow that is not enabled',
    {
      status: 403,
      body: JSON.stringify({
        error: { code: 'forbidden', message: 'm', requestId: 'r', reason: 'workflow_not_enabled' },
      }),
    },
    'forbidden',
  ],
  [
    'a wrong credential',
    {
      status: 401,
      body: JSON.stringify({ error: { code: 'unauthorized', message: 'm', requestId: 'r' } }),
    },
    'unauthorized',
  ],
  [
    'a wrong request',
    {
      status: 400,
      body: JSON.stringify({ error: { code: 'invalid_request', message: 'm', requestId: 'r' } }),
    },
    'invalid_request',
  ],
  ['an answer that is no session', { status: 201, body: '{}' }, 'unexpected_answer'],
]

for (const [name, fault, code] of rejections) {
  test(`does not retry ${name}`, async () => {
    const h = harness()
    h.service.fault(fault)
    await assert.rejects(h.gate.create(BOND), coded(code))
    assert.equal(h.service.seen.length, 1)
  })
}

test('the credential never follows a redirect', async () => {
  const h = harness()
  await h.gate.create(BOND)
  assert.equal(h.service.seen[0]?.redirect, 'manual')
})

test('an error carries no hidden character of the answer', async () => {
  const h = harness()
  const text = 'a\u202eb\u001b[2J'
  const members = ['code', 'message', 'requestId', 'reason', 'param', 'doc_url', 'reported_at']
  const error = Object.fromEntries(members.map((name) => [name, text]))
  h.service.fault({ status: 403, body: JSON.stringify({ error }) })
  const failure = await h.gate.create(BOND).catch((thrown: unknown) => thrown as GateError)
  assert.ok(failure instanceof GateError)
  const escaped = String.raw`a\u{202e}b\u{1b}[2J`
  const { message, reason, param, requestId, reportedAt, docUrl } = failure
  assert.deepEqual(
    [message, reason, param, requestId, reportedAt],
    Array.from({ length: 5 }, () => escaped),
  )
  assert.equal(docUrl, 'https://bonded.test/api/v1/a%E2%80%AEb%1B[2J')
})

test('an error carries the reason, its page at the service, and the request id', async () => {
  const h = harness()
  h.service.fault({
    status: 403,
    body: JSON.stringify({
      error: {
        code: 'forbidden',
        message: 'No.',
        requestId: 'req_1',
        reason: 'action_not_enabled',
        doc_url: '/reasons#action_not_enabled',
      },
    }),
  })
  await assert.rejects(h.gate.create(BOND), {
    name: 'GateError',
    reason: 'action_not_enabled',
    docUrl: 'https://bonded.test/reasons#action_not_enabled',
    requestId: 'req_1',
    message: 'No.',
  })
})
