import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type FetchLike, isSafeOrigin, originOf } from '../src/index.ts'
import { jumpingClock } from './clocks.ts'
import { harness } from './harness.ts'

test('uses plain http on this machine only', () => {
  for (const origin of [
    'https://bond.example',
    'https://bond.example:8443',
    'http://localhost:8787',
    'http://127.0.0.1',
    'http://[::1]:1',
  ])
    assert.ok(isSafeOrigin(origin), origin)
  for (const origin of [
    'http://bond.example',
    'http://localhost.evil.example',
    'http://localhost@evil.example',
    'https://user@bond.example',
    'ftp://localhost',
    'https://a;sandbox',
    'https://a,b',
    '',
  ])
    assert.ok(!isSafeOrigin(origin), origin)
})

test('a payload of the app’s scheme means the configured origin, a link its own', () => {
  assert.equal(originOf({ origin: undefined }, 'http://bonded:8787'), 'http://bonded:8787')
  assert.equal(
    originOf({ origin: 'http://bonded:8787' }, 'http://bonded:8787'),
    'http://bonded:8787',
  )
  assert.equal(
    originOf({ origin: 'https://other.example' }, 'https://bond.example'),
    'https://other.example',
  )
  assert.throws(() => originOf({ origin: undefined }, undefined), {
    code: 'origin_not_usable',
    reason: 'origin_missing',
  })
  assert.throws(() => originOf({ origin: 'http://other.example' }, undefined), {
    code: 'origin_not_usable',
    reason: 'origin_insecure',
  })
})

test('a link of another origin is not followed with this origin’s token', async () => {
  const { service, phone } = harness()
  const link = service.link.replace('bond.example', 'evil.example')
  await assert.rejects(phone.claim(link), { code: 'origin_not_usable', reason: 'origin_other' })
  assert.equal(service.requests.length, 0)
})

test('does not sign for a service that relays a session of another service', async () => {
  const { service, phone } = harness()
  service.change({ api_base_url: 'https://real.example' })
  await assert.rejects(phone.claim(service.payload), {
    code: 'origin_not_usable',
    reason: 'api_base_url',
  })
})

test('does not act on a response outside the contract', async () => {
  for (const [change, reason] of [
    [{ state: 'approved' }, 'state'],
    [{ context: { display: 'Amount' } }, 'context'],
    [{ context: { display: [], small_print: 'And a fee of € 900.00' } }, 'context'],
    [{ context: { display: [{ label: 'Fee', value: '€ 1', per: 'day' }] } }, 'context'],
    // The unknown member is in the last of several pairs.
    [
      {
        context: {
          display: [1, 2, 3].map((n) =>
            n < 3 ? { label: `${n}`, value: '1' } : { label: '3', value: '1', per: 'day' },
          ),
        },
      },
      'context',
    ],
    [{ context: { display: [], constructor: 'And a fee' } }, 'context'],
    // The phone of this test does not say that it shows texts.
    [{ context: { display: [], text: 'And a fee of € 900.00' } }, 'context'],
    [{ nonce: 'another' }, 'nonce'],
    [{ expires_at: 'soon' }, 'expires_at'],
    [{ step_up: { required: [1] } }, 'step_up'],
  ] as const) {
    const { service } = harness()
    const text = async () => JSON.stringify({ ...service.session, ...change })
    const lying: FetchLike = async (url, request) =>
      url.endsWith('/claim')
        ? { status: 200, headers: { get: () => null }, text }
        : service.fetch(url, request)
    const { phone } = harness({ clock: jumpingClock(), fetch: lying })
    await assert.rejects(
      phone.claim(service.payload),
      { code: 'answer_unreadable', reason },
      reason,
    )
  }
})

test('rejects a text that is not a handoff', async () => {
  const { phone } = harness()
  for (const text of ['', 'https://bond.example', 'pulse://bond?session_id=x&nonce=y'])
    await assert.rejects(phone.claim(text), { code: 'handoff_unreadable' })
})
