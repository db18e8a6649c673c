import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../tests/random.ts'
import { describeFailure, escapeHidden, outsideText } from '../src/index.ts'

/** Texts with a secret, and the part of them that no log may have. */
const SECRETS = [
  ['connect to postgres://app:hunter2@db.example:5432/bank failed', 'hunter2'],
  ['redis://:hun/ter@2@cache.example/0', 'ter@2'],
  ['Authorization: Bearer hunter2', 'hunter2'],
  ['sent authorization: Basic aHVudGVyMg==', 'aHVudGVyMg'],
  ['{"client_secret": "hunter 2", "scope": "openid"}', 'hunter 2'],
  ['{"access_token":"hunter2"}', 'hunter2'],
  ['POST /token?grant_type=x&client_secret=hunter2&scope=openid', 'hunter2'],
  ['/callback?code=hunter2&iss=https://login.example', 'hunter2'],
  ['host=db password=hunter2 user=app', 'hunter2'],
  ['password: hunter2', 'hunter2'],
  ['Cookie: sid=hunter2', 'hunter2'],
  ['cookie: theme=dark; session=hunter2', 'hunter2'],
  ['{"client_secret":"a\\"hunter2"}', 'hunter2'],
  ['{ client_secret: hunter2 }', 'hunter2'],
  ['Bearer authHunter2', 'Hunter2'],
  ['jwt eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJodW50ZXIyIn0.c2lnbmF0dXJl', 'eyJzdWIi'],
  [`sk_beta_${'k'.repeat(10)}_hunter2hunter2`, 'hunter2'],
  ['whsec_aHVudGVyMg==', 'aHVudGVyMg'],
  ['-----BEGIN PRIVATE KEY-----\nhunter2\n-----END PRIVATE KEY-----', 'hunter2'],
] as const

for (const [text, secret] of SECRETS)
  test(`removes the secret of: ${text.slice(0, 40).replaceAll('\n', ' ')}`, () => {
    const wrapped = new AggregateError([new Error('a', { cause: text })], text)
    for (const line of [outsideText(text), describeFailure(wrapped)]) {
      assert.ok(!line.includes(secret), line)
      assert.match(line, /\[secret\]/)
    }
  })

test('removes a secret wherever a long text has it', () => {
  fc.assert(
    fc.property(fc.constantFrom(...SECRETS), fc.nat(2_100), ([text, secret], before) => {
      const line = outsideText(`${'x '.repeat(before)}${text}`)
      assert.ok(!line.includes(secret), line)
    }),
  )
})

test('leaves what only looks like a secret', () => {
  for (const text of [
    'connect ECONNREFUSED https://bonds.example:8443/api?mail=a@b.example',
    'Bearer realm="bank", error="invalid_token"',
    'Basic authentication is required',
    'password authentication failed for user "app"',
    'error code: 401',
  ])
    assert.equal(outsideText(text), text)
})

test('names every cause, with codes, statuses, and addresses that failed', () => {
  const refused = (address: string) =>
    Object.assign(new Error(`connect ECONNREFUSED ${address}`), { code: 'ECONNREFUSED' })
  const all = new AggregateError([refused('[2001:db8::1]:443'), refused('192.0.2.1:443')], '')
  assert.equal(
    describeFailure(new TypeError('fetch failed', { cause: all })),
    'fetch failed: connect ECONNREFUSED [2001:db8::1]:443: connect ECONNREFUSED 192.0.2.1:443',
  )
  assert.equal(
    describeFailure(Object.assign(new Error('handshake failed'), { code: 'ECONNRESET' })),
    'handshake failed (code ECONNRESET)',
  )
})

test('names the error of another party, its description, and its status, once', () => {
  const body = { error: 'invalid_client', error_description: 'client authentication failed' }
  const failure = Object.assign(new Error('server responded with an error', { cause: body }), {
    ...body,
    code: 'OAUTH_RESPONSE_BODY_ERROR',
    status: 401,
  })
  assert.equal(
    describeFailure(failure),
    'server responded with an error (code OAUTH_RESPONSE_BODY_ERROR, error invalid_client, error_description client authentication failed, status 401)',
  )
})

test('names what was expected and what came, and no other claim', () => {
  const of = (cause: object) => describeFailure(new Error('unexpected claim value', { cause }))
  const claims = {
    iss: 'https://b.example',
    aud: ['a', 'b'],
    nonce: 'n1',
    email: 'ada@bank.example',
  }
  assert.equal(
    of({ expected: 'https://a.example', claims, claim: 'iss' }),
    'unexpected claim value: iss: expected https://a.example, came https://b.example',
  )
  assert.equal(of({ claims, claim: 'aud' }), 'unexpected claim value: aud: came a b')
  assert.equal(of({ claims, claim: 'azp' }), 'unexpected claim value: azp: came none')
  assert.equal(of({ expected: 'n2', claims, claim: 'nonce' }), 'unexpected claim value')
})

test('describes whatever was thrown', () => {
  for (const [thrown, line] of [
    ['a text', 'a text'],
    [undefined, 'an error without a message'],
    [null, 'an error without a message'],
    [7n, '7'],
    [Symbol('s'), 'Symbol(s)'],
    [{}, 'an error without a message'],
    [
      { status: 502, url: 'https://login.example/token' },
      'status 502, url https://login.example/token',
    ],
    [Proxy.revocable({}, {}), 'an error without a message'],
  ] as const)
    assert.equal(describeFailure(thrown), line)
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  assert.equal(describeFailure(revoked.proxy), 'an error without a message')
})

/** Errors as no program should make them: members of any type, getters that throw, and cycles. */
const hostile = fc.letrec((tie) => ({
  error: fc
    .record(
      {
        message: fc.oneof(fc.string({ unit: 'binary', maxLength: 3_000 }), fc.anything()),
        code: fc.anything(),
        error_description: fc.string({ unit: 'binary' }),
        status: fc.anything(),
        claim: fc.anything(),
        claims: fc.anything(),
        expected: fc.anything(),
        cause: fc.oneof({ depthSize: 'medium' }, fc.anything(), tie('error')),
        errors: fc.oneof({ depthSize: 'small' }, fc.anything(), fc.array(tie('error'))),
        throwing: fc.subarray(['message', 'code', 'cause', 'errors', 'name', 'status']),
        isCyclic: fc.boolean(),
      },
      { requiredKeys: [] },
    )
    .map(({ throwing = [], isCyclic, ...members }) => {
      const error: object = Object.assign(new Error(), members)
      if (isCyclic) Object.assign(error, { cause: error })
      for (const name of throwing)
        Object.defineProperty(error, name, {
          get() {
            throw new Error('a getter')
          },
        })
      return error
    }),
})).error

test('describes any error in one bounded line without hidden characters', () => {
  fc.assert(
    fc.property(fc.oneof(hostile, fc.anything()), (failure) => {
      const line = describeFailure(failure)
      assert.ok(line.length > 0 && Array.from(line).length <= 2_000)
      assert.equal(escapeHidden(line), line)
    }),
  )
})

test('cuts and escapes a text of any length', () => {
  assert.equal(outsideText('a'.repeat(201)), `${'a'.repeat(199)}…`)
  assert.equal(outsideText('a'.repeat(200)), 'a'.repeat(200))
  assert.equal(outsideText('one\ntwo\u001b[2J'), 'one\\u{a}two\\u{1b}[2J')
  assert.equal(outsideText('😀'.repeat(201)), `${'😀'.repeat(199)}…`)
})
