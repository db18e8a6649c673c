import assert from 'node:assert/strict'
import { createHash, createHmac } from 'node:crypto'
import { test } from 'node:test'
import {
  assertionPayload,
  canonicalJson,
  credentialChecksum,
  evidenceMacInput,
  evidenceRequestPayload,
  parseHandoff,
} from '../src/index.ts'
import { readVector, vectorsMissing } from './vectors.ts'

const skip = vectorsMissing
const worked = skip
  ? undefined
  : JSON.parse(readVector('protocol', 'vectors.json').toString('utf8'))
const sha = (text: string) => createHash('sha256').update(text).digest('base64url')

test('worked example: the checksum of a server credential', { skip }, () => {
  const { bare, credential } = worked.credential_checksum
  assert.equal(bare + credentialChecksum(bare), credential)
})

test('worked example: the hash of a context', { skip }, () => {
  assert.equal(sha(canonicalJson(worked.context)), worked.context_hash)
})

test('worked example: the evidence MAC and its input', { skip }, () => {
  const { verified_evidence, mac_input } = worked.evidence
  const input = evidenceMacInput(
    { ...worked.ids, nonce: worked.nonces[0].nonce },
    verified_evidence,
  )
  assert.equal(input, mac_input)
  const key = Buffer.from(worked.derived_keys.evidence, 'base64url')
  assert.equal(
    createHmac('sha256', key).update(input).digest('base64url'),
    verified_evidence.signature,
  )
})

test('worked example: the payload of an evidence request', { skip }, () => {
  const payload = evidenceRequestPayload({
    ...worked.ids,
    nonce: worked.nonces[0].nonce,
    issued_at: '2026-11-21T09:30:01.500Z',
    signals: sha(canonicalJson(worked.evidence_request.signals)),
  })
  assert.equal(payload, worked.evidence_request.payload)
  assert.equal(sha(payload), worked.evidence_request.client_data_hash)
})

test('worked example: the payload of an assertion', { skip }, () => {
  const payload = assertionPayload({
    ...worked.ids,
    nonce: worked.nonces[0].nonce,
    issued_at: '2026-11-21T09:30:03.000Z',
    workflow: 'wire_transfer',
    action: 'approve_wire',
    origin: 'https://bond.example',
    context: worked.context_hash,
    evidence: sha(canonicalJson(worked.evidence.verified_evidence)),
  })
  assert.equal(payload, worked.assertion.payload)
  assert.equal(sha(payload), worked.assertion.client_data_hash)
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
