import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type AppAttest, type PulseVerification, ReceiptClaims } from '@bonded/contract'
import { iso } from '../../src/domain/iso.ts'
import {
  bondProof,
  RECEIPT_DELAY_MS,
  receiptClaims,
  receiptDueAt,
  type ReceiptSession,
  receiptSession,
  receiptState,
} from '../../src/domain/receipts.ts'
import type { Session } from '../../src/domain/session.ts'
import { MOVES } from '../../src/protocol/states.ts'
import { CREATED_AT, deviceWith, sessionWith, tenantWith } from '../records.ts'

const NOW = CREATED_AT + 60_999
const assertion: AppAttest = { authenticator_data: 'data', signature: 'signature' } as AppAttest
const proof = bondProof(deviceWith(), { payload: 'payload', assertion })
const verification = { assertion_band: 'high' } as PulseVerification
const bonded: Partial<Session> = {
  state: 'bonded',
  bondProof: proof,
  bondedAt: CREATED_AT + 50_000,
  verification,
  subjectRef: 'user-1',
}
const claimsOf = (session: Session) =>
  receiptClaims(session as ReceiptSession, {
    tenant: tenantWith(),
    issuer: 'https://bond.example',
    logEpoch: '',
    id: 'id-of-receipt',
    now: NOW,
    deviceRef: 'device-ref',
  })

test('a proof has what the phone signed and its key, and client data where there is some', () => {
  assert.deepEqual(proof, {
    format: 'android-key',
    public_key: 'AQID',
    payload: 'payload',
    authenticator_data: 'data',
    signature: 'signature',
  })
  const withClientData = { ...assertion, client_data_json: 'client-data' } as AppAttest
  assert.deepEqual(bondProof(deviceWith(), { payload: 'payload', assertion: withClientData }), {
    ...proof,
    client_data_json: 'client-data',
  })
})

test('a bond’s receipt is due after a delay, that of its completion at once, and no move delays it', () => {
  const due = (move: (typeof MOVES)[keyof typeof MOVES], before: number | null = null) =>
    receiptDueAt({ bondProof: proof, receiptDueAt: before }, move, NOW)
  assert.equal(due(MOVES.bond), NOW + RECEIPT_DELAY_MS)
  assert.equal(due(MOVES.complete, NOW + 1), NOW)
  for (const move of [MOVES.expire, MOVES.kill, MOVES.killByOperator]) {
    assert.equal(due(move, NOW + 1), NOW + 1)
    assert.equal(due(move), null)
  }
})

test('a session without a proof never needs a receipt', () => {
  for (const move of Object.values(MOVES))
    assert.equal(receiptDueAt({ bondProof: null, receiptDueAt: 5 }, move, NOW), null)
})

test('a bond that still counts has a receipt, also after its end', () => {
  for (const state of ['bonded', 'completed', 'expired'] as const) {
    const session = sessionWith({ ...bonded, state })
    assert.deepEqual(receiptSession(session), session, state)
  }
})

test('a killed bond, one without its verification, and a session without a bond have no receipt', () => {
  for (const members of [
    { state: 'killed' },
    { verification: null },
    { bondProof: null },
    { bondedAt: null },
  ] as const)
    assert.equal(receiptSession(sessionWith({ ...bonded, ...members })), undefined)
  assert.equal(receiptSession(sessionWith()), undefined)
})

test('a receipt proves the completion once there is one', () => {
  assert.equal(receiptState(sessionWith(bonded)), 'bonded')
  const completed = sessionWith({ ...bonded, state: 'completed', completedAt: NOW })
  assert.equal(receiptState(completed), 'completed')
})

test('a receipt has no late report, because the session was not completed', () => {
  const late = { ...bonded, state: 'expired', completedAt: NOW, outcome: 'accepted' } as const
  const claims = claimsOf(sessionWith(late))
  assert.deepEqual([claims.state, claims.completed_at, claims.outcome], ['bonded', null, null])
})

test('the claims are those of the contract, with times in its format', () => {
  const bond = claimsOf(sessionWith(bonded))
  const { properties } = ReceiptClaims as unknown as { properties: object }
  assert.deepEqual(Object.keys(bond).toSorted(), Object.keys(properties).toSorted())
  assert.deepEqual(
    [bond.state, bond.iat, bond.created_at, bond.bonded_at, bond.completed_at],
    ['bonded', Math.floor(NOW / 1_000), iso(CREATED_AT), iso(CREATED_AT + 50_000), null],
  )
  const completion = claimsOf(
    sessionWith({ ...bonded, state: 'completed', completedAt: NOW, outcome: 'done' as never }),
  )
  assert.deepEqual(
    [completion.state, completion.completed_at, completion.outcome],
    ['completed', iso(NOW), 'done'],
  )
})

test('the claims omit a device that has no pseudonym, and name the log that has the receipt', () => {
  const session = receiptSession(sessionWith(bonded)) ?? assert.fail()
  const claims = receiptClaims(session, {
    tenant: tenantWith(),
    issuer: 'https://bond.example',
    logEpoch: 'e2',
    id: 'id-of-receipt',
    now: NOW,
    deviceRef: undefined,
  })
  assert.ok(!('device_ref' in claims))
  assert.equal(claims.log_origin, 'bond.example/receipts/log/e2')
})

test('no claim has a nonce, a number, an address or the id of a device', () => {
  const text = JSON.stringify(claimsOf(sessionWith({ ...bonded, claimedNonce: 'claimed-nonce' })))
  for (const secret of ['claimed-nonce', 'sealed-number', '192.0.2', deviceWith().id])
    assert.ok(!text.includes(secret), secret)
})
