import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import {
  assertionPayload,
  canonicalJson,
  credentialChecksum,
  evidenceMacInput,
  evidenceRequestPayload,
  parseHandoff,
} from '../src/index.ts'
import { workedExample } from './worked-example.ts'

const { ids, nonceAt, verified_evidence } = workedExample
const nonce = nonceAt(0)
const sha = (text: string) => createHash('sha256').update(text).digest('base64url')

test('worked example: the hash of a context', () => {
  assert.equal(sha(canonicalJson(workedExample.context)), workedExample.context_hash)
})

test('worked example: the input of the evidence MAC', () => {
  assert.equal(
    evidenceMacInput({ ...ids, nonce }, verified_evidence),
    workedExample.evidence_mac_input,
  )
})

test('worked example: the payload of an evidence request', () => {
  const { issued_at, signals, payload } = workedExample.evidence_request
  const request = { ...ids, nonce, issued_at, signals: sha(canonicalJson(signals)) }
  assert.equal(evidenceRequestPayload(request), payload)
})

test('worked example: the payload of an assertion', () => {
  const { issued_at, workflow, action, origin, payload } = workedExample.assertion
  const context = sha(canonicalJson(workedExample.context))
  const evidence = sha(canonicalJson(verified_evidence))
  assert.equal(
    assertionPayload({ ...ids, nonce, issued_at, workflow, action, origin, context, evidence }),
    payload,
  )
})

test('a server credential ends with its CRC-32 in six base62 digits', () => {
  // The CRC-32 of these nine digits is the published check value, 0xcbf43926.
  assert.equal(credentialChecksum('123456789'), base62(0xcbf43926))
  const bare = `sk_beta_0123456789_${'a'.repeat(43)}`
  assert.equal(credentialChecksum(bare), base62(crc32(bare)))
})

test('reads a handoff only from the app scheme and the link', () => {
  const session_id = `sess_${'a'.repeat(22)}`
  const nonce = 'n'.repeat(43)
  const query = `session_id=${session_id}&nonce=${nonce}`
  assert.deepEqual(parseHandoff(`pulse://bond?${query}`), { session_id, nonce, origin: undefined })
  assert.deepEqual(parseHandoff(`https://bond.example/bond?${query}`), {
    session_id,
    nonce,
    origin: 'https://bond.example',
  })
  for (const text of [
    '',
    'pulse://bond',
    `pulse://bond?${query}&x=1`,
    `ftp://bond.example/bond?${query}`,
    `javascript:bond?${query}`,
    `https://bond?${query}`,
    `https://user@bond.example/bond?${query}`,
    `https://bond.example/x/bond?${query}`,
    `pulse://bond?nonce=${nonce}`,
  ]) {
    assert.equal(parseHandoff(text), undefined, text)
  }
})

function base62(value: number): string {
  const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
  let text = ''
  for (let rest = value; rest > 0; rest = Math.floor(rest / 62)) text = digits[rest % 62] + text
  return text.padStart(6, '0')
}
