import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withoutCredentials } from '../../src/domain/redaction.ts'

const redact = (body: string) => {
  const result = withoutCredentials({ status: 500, body })
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
  ]) {
    assert.ok(!redact(body)?.includes(secret), `${body} → ${redact(body)}`)
    assert.match(redact(body) ?? '', /\[redacted\]/)
  }
})

test('keeps the rest of a response, and errors', () => {
  const body = '{"error":"order 17 not found","code":404}'
  assert.equal(redact(body), body)
  assert.deepEqual(withoutCredentials({ error: 'timed_out' }), { error: 'timed_out' })
})

test('reads the longest response in time, whatever it contains', () => {
  for (const part of ['token', 'a', '-_', 'eyJa', 'secret:', '"']) redact(part.repeat(1_024))
})
