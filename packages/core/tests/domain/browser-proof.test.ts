import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PulseVerification, SESSION_STATES, type SessionState } from '@bonded/contract'
import { randomFor } from '../../../../tests/random.ts'
import {
  approve,
  type WaitingApproval,
  waitingApproval,
  bondedCommitment,
  browserCredentialsOf,
  type BrowserProofState,
  commitmentOf,
  recall,
  requiresBrowser,
  wasProvedByBrowser,
} from '../../src/domain/browser-proof.ts'
import {
  BROWSER_PROOF_TTL_MS,
  EVIDENCE_TTL_MS,
  MAX_VALID_ASSERTIONS,
} from '../../src/domain/lifetimes.ts'
import type { Session } from '../../src/domain/session.ts'
import { CREATED_AT, deviceWith, sessionWith } from '../records.ts'

const credentials = { rpId: 'bond.example', credentials: ['key-1'] }
const verification = {} as PulseVerification
const approved: WaitingApproval = { ...credentials, evidenceUntil: 0, verification, seq: 2 }
const browserKey = (rpId: string) => ({
  keyId: 'browser-key',
  publicKey: Uint8Array.of(1),
  rpId,
  counter: 0,
  backupEligible: true,
  createdAt: CREATED_AT,
})
const statesWhere = (
  holds: (session: Session) => boolean,
  browserProof: BrowserProofState | null,
) => SESSION_STATES.filter((state: SessionState) => holds(sessionWith({ state, browserProof })))

test('a phone proves the browser by its own passkey and by the browser key that it registered', () => {
  const passkey = deviceWith({ format: 'webauthn', appId: 'bond.example' })
  assert.deepEqual(browserCredentialsOf(passkey), credentials)
  assert.deepEqual(browserCredentialsOf({ ...passkey, browserKey: browserKey('bond.example') }), {
    rpId: 'bond.example',
    credentials: ['key-1', 'browser-key'],
  })
})

test('one request asks for one relying party id: that of the browser key', () => {
  const passkey = deviceWith({ format: 'webauthn', appId: 'old.example' })
  assert.deepEqual(browserCredentialsOf({ ...passkey, browserKey: browserKey('bond.example') }), {
    rpId: 'bond.example',
    credentials: ['browser-key'],
  })
})

test('an app’s key cannot prove a browser, even if its app id is a relying party id', () => {
  for (const format of ['android-key', 'apple-app-attest', 'software'] as const) {
    const app = deviceWith({ format, appId: 'bond.example' })
    assert.equal(browserCredentialsOf(app), undefined, format)
    assert.deepEqual(
      browserCredentialsOf({ ...app, browserKey: browserKey('bond.example') })?.credentials,
      ['browser-key'],
      format,
    )
  }
})

test('the browser must prove itself where the policy requires it, whatever else it requires', () => {
  assert.equal(requiresBrowser({ require: [] }), false)
  assert.equal(requiresBrowser({ require: ['local_auth', 'carrier'] }), false)
  assert.equal(requiresBrowser({ require: ['local_auth', 'browser'] }), true)
})

test('an approval waits for the browser in one state, and not once the browser has proved itself', () => {
  assert.deepEqual(
    statesWhere((session) => waitingApproval(session) !== undefined, { approved }),
    ['step_up_required'],
  )
  assert.deepEqual(
    statesWhere((session) => waitingApproval(session) !== undefined, { commitment: 'c' }),
    [],
  )
  assert.deepEqual(
    statesWhere((session) => waitingApproval(session) !== undefined, null),
    [],
  )
})

test('a commitment opens the bond while the bond counts, and is known after its end', () => {
  const proved: BrowserProofState = { commitment: 'c' }
  assert.deepEqual(
    statesWhere((session) => bondedCommitment(session) === 'c', proved),
    ['bonded', 'completed'],
  )
  assert.deepEqual(
    statesWhere((session) => commitmentOf(session) === 'c', proved),
    SESSION_STATES,
  )
  assert.deepEqual(statesWhere(wasProvedByBrowser, proved), SESSION_STATES)
  for (const unproved of [null, { approved }]) {
    assert.deepEqual(
      statesWhere((session) => commitmentOf(session) !== undefined, unproved),
      [],
    )
    assert.deepEqual(statesWhere(wasProvedByBrowser, unproved), [])
  }
})

test('an approval counts for as long as its evidence, and fails its own proofs', () => {
  const session = sessionWith({ seq: 6, validAssertions: 1 })
  const { browserProof, stepUp } = approve(session, {
    credentials,
    evidenceIssuedAt: CREATED_AT + 5,
    verification,
    now: CREATED_AT + 50_000,
  })
  assert.deepEqual(browserProof, {
    approved: {
      ...credentials,
      evidenceUntil: CREATED_AT + 5 + EVIDENCE_TTL_MS,
      verification,
      seq: 7,
    },
  })
  assert.deepEqual(stepUp, {
    required: ['browser'],
    attempts_left: MAX_VALID_ASSERTIONS - 1,
    reasons: ['browser_not_confirmed'],
  })
})

test('approvals leave the browser its time, and no number of them extends a session further', () => {
  const random = randomFor('approvals')
  const { createdAt, sessionTtlMs } = sessionWith()
  const last = createdAt + sessionTtlMs + BROWSER_PROOF_TTL_MS
  for (let round = 0; round < 50; round++) {
    let session = sessionWith()
    let now = createdAt
    while (now < session.expiresAt) {
      const { expiresAt } = approve(session, {
        credentials,
        evidenceIssuedAt: now,
        verification,
        now,
      })
      assert.ok(expiresAt >= session.expiresAt, 'never shorter')
      assert.ok(expiresAt >= Math.min(now + BROWSER_PROOF_TTL_MS, last))
      assert.ok(expiresAt <= last)
      session = { ...session, expiresAt }
      now += 1 + random(BROWSER_PROOF_TTL_MS)
    }
  }
})

test('the phone approves again after a recall, which deletes the approval and says why', () => {
  const session = sessionWith({ browserProof: { approved } })
  for (const reason of ['evidence_expired', 'browser_proof_failed'] as const)
    assert.deepEqual(recall(session, reason), {
      browserProof: null,
      stepUp: {
        required: ['local_auth'],
        attempts_left: MAX_VALID_ASSERTIONS,
        reasons: [reason],
      },
    })
})
