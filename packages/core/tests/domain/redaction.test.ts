import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutCredentials } from '../../src/domain/redaction.ts'

const redact = (body: string, characters = 80) => {
  const result = withoutCredentials({ status: 500, body }, characters)
  return 'body' in result ? result.body : undefined
}

test('removes credentials from the response of a receiver', () => {
  const secret = 'c2VjcmV0LXNlY3JldA'
  for (const body of [
    `whsec_${secret}`,
    `no key sk_beta_${secret} found`,
    `Authorization: Bearer ${secret}`,
    `authorization = Basic ${secret}`,
    `{"error":"bad","api_key":"${secret}"}`,
    `{"db_password": "${secret} with spaces"}`,
    `{'client-secret': '${secret}'}`,
    `webhook-signature: v1,${secret}`,
    `session_token=${secret}&a=1`,
    `Cookie: a=1; sid=${secret}`,
    `Authorization: Digest user="a", response=${secret}`,
    `eyJhbGciOiJIUzI1NiJ9.${secret}.${secret}`,
    `connect ECONNREFUSED postgres://app:${secret}@db.internal/app`,
    `redis://:${secret}@cache:6379`,
    `pwd=${secret}`,
    `"passphrase": "${secret}"`,
    `AWS_ACCESS_KEY_ID=AKIA${secret}`,
    `unknown key AKIAIOSFODNN7EXAMPLE${secret}`,
    `invalid: 9f86d081884c7d659a2feaa0c55ad015${secret}`,
  ]) {
    assert.ok(!redact(body)?.includes(secret), `${body} → ${redact(body)}`)
    assert.match(redact(body) ?? '', /\[redacted\]/)
  }
})

test('keeps as many characters of a response as the endpoint asks for, in whole ones', () => {
  assert.equal(redact('€'.repeat(100)), '€'.repeat(80))
  assert.equal(redact('😀'.repeat(100)), '😀'.repeat(80))
  assert.equal(redact(`${'ab\n '.repeat(20)} the settings of the receiver`), 'ab\n '.repeat(20))
  assert.equal(redact('€'.repeat(2_000), 1_024), '€'.repeat(1_024))
  assert.equal(redact('broken', 0), '')
  const late = `${'ab\n '.repeat(40)}api_key: hunter2`
  assert.equal(redact(late, 1_024), `${'ab\n '.repeat(40)}api_key: [redacted]`)
})

test('keeps the rest of a response, and errors', () => {
  const body = '{"error":"order 17 not found","code":404}'
  assert.equal(redact(body), body)
  const named = 'no handler for evt_01J9Z3NDEKTSV4RRFFQ69G5FAV'
  assert.equal(redact(named), named)
  assert.deepEqual(withoutCredentials({ error: 'timed_out' }, 80), { error: 'timed_out' })
})

test('reads the longest response in time, whatever it contains', () => {
  for (const part of ['token', 'a', '-_', 'eyJa', 'secret:', '"']) redact(part.repeat(1_024))
})
