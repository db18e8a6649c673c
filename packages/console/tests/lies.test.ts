import assert from 'node:assert/strict'
import { test } from 'node:test'
import { consoleHarness, MINUTE } from './harness.ts'
import { type Lie, lyingProvider } from './lying-provider.ts'

test('rejects each false answer of a provider, and records those with a token', async (t) => {
  const made: Awaited<ReturnType<typeof lyingProvider>>[] = []
  const { h, visitor, entries, advance, lines } = await consoleHarness(t, async () => {
    made.push(await lyingProvider())
    return made[0] as (typeof made)[0]
  })
  const [{ state, issuer }] = made as [(typeof made)[0]]
  let mallory = visitor()
  const attempt = async (lie: Lie, given: { state?: string; iss?: string; fresh?: true } = {}) => {
    mallory = visitor()
    const begun = await mallory.step(given.fresh ? '/sign-in?fresh' : '/sign-in')
    const asked = new URL(String(begun.headers['location'])).searchParams
    state.lie = lie
    state.nonce = asked.get('nonce') ?? ''
    const answer = new URLSearchParams({
      code: 'c',
      state: given.state ?? asked.get('state') ?? '',
      ...(given.iss && { iss: given.iss }),
    })
    const page = await mallory.step(`/callback?${answer.toString()}`)
    return { status: page.status, isIn: (await mallory.step('/')).status === 200 }
  }
  const now = () => Math.floor(Date.now() / 1_000)
  assert.deepEqual(await attempt({}), { status: 303, isIn: true })
  const lies: readonly Lie[] = [
    { claims: { nonce: 'another' } },
    { claims: { nonce: undefined } },
    { claims: { aud: 'another client' } },
    { claims: { aud: ['console', 'another'], azp: 'another' } },
    { claims: { iss: 'https://evil.example' } },
    { claims: { exp: now() - 60 } },
    { claims: { exp: undefined } },
    { claims: { iat: undefined } },
    { claims: { sub: 'a\nb' } },
    { claims: { sub: undefined } },
    { alg: 'none' },
    { alg: 'HS256' },
    { otherKey: true },
  ]
  for (const lie of lies)
    assert.deepEqual(await attempt(lie), { status: 403, isIn: false }, JSON.stringify(lie))
  // The provider withdraws the key, a moment after the console has used it.
  const keys = state.keys
  state.keys = []
  assert.deepEqual(await attempt({}), { status: 403, isIn: false })
  state.keys = keys
  const rejected = (await entries()).filter(({ result }) => result === 'token_rejected')
  assert.equal(rejected.length, lies.length + 1)
  // Anyone can send a callback, so one without a token is not recorded.
  assert.deepEqual(await attempt({}, { state: 'another' }), { status: 403, isIn: false })
  assert.deepEqual(await attempt({}, { iss: 'https://evil.example' }), { status: 403, isIn: false })
  assert.equal(
    (await entries()).filter(({ result }) => result !== 'success').length,
    rejected.length,
  )
  // It was asked for a new sign-in, and returns one of an hour ago, or does not say.
  for (const auth_time of [now() - 3_600, undefined])
    assert.deepEqual(await attempt({ claims: { auth_time } }, { fresh: true }), {
      status: 403,
      isIn: false,
    })
  assert.deepEqual(await attempt({ claims: { groups: 'admins' } }, { fresh: true }), {
    status: 303,
    isIn: true,
  })
  // Who is in by an old sign-in, or one without a time, proves it again before an action.
  const action = `/tenants/${h.shop.tenant.id}/suspend`
  for (const [auth_time, status] of [
    [now(), 200],
    [now() - 3_600, 303],
    [undefined, 303],
  ] as const) {
    assert.equal((await attempt({ claims: { groups: 'admins', auth_time } })).isIn, true)
    assert.equal((await mallory.step(action)).status, status, String(auth_time))
  }
  for (const groups of [undefined, null, {}, [['admins']], 'admins,viewers'])
    assert.equal((await attempt({ claims: { groups } })).status, 403)
  advance(6 * MINUTE)
  assert.equal((await attempt({})).isIn, true)
  assert.doesNotMatch(lines.join(''), /"?access_token|eyJ/)
  assert.ok(issuer.startsWith('http://127.0.0.1:'))
})
