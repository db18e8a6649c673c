import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { SessionId } from '@bonded/contract'
import { completeSession } from '../../../core/src/operations/session/complete-session.ts'
import { killSession } from '../../../core/src/operations/session/kill-session.ts'
import { claimSession } from '../../../core/src/operations/phone/claim-session.ts'
import { declineSession } from '../../../core/src/operations/phone/decline-session.ts'
import { fetchEvidence } from '../../../core/src/operations/phone/fetch-evidence.ts'
import { attest } from '../../../core/src/operations/phone/attest.ts'
import { openAsBrowser } from '../../../core/src/operations/session/read-session.ts'
import type { BackendCaller, PhoneCaller } from '../../../core/src/operations/service.ts'
import { harness, SHOP_ORIGIN, type State } from '../../../../tests/harness/harness.ts'
import { attestation, carriedSignals, evidenceRequest } from '../../../../tests/harness/phone.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())
const { service } = h

/** The session expires while the call waits for its group commit. */
async function expiresMeanwhile(
  state: State,
  begin: (at: Awaited<ReturnType<typeof prepare>>) => Promise<{ ok: boolean }>,
) {
  const prepared = await prepare(state)
  const { id } = prepared
  const outcome = begin(prepared)
  h.clock.advance(300_000)
  const { ok } = await outcome
  const stored = await service.store.read((tables) => tables.sessions.find(id))
  return { ok, state: stored?.state }
}

async function prepare(state: State) {
  const { session, phone } = await h.reach(state)
  const view = state === 'pending' ? await h.view(phone, session) : undefined
  const signals = carriedSignals(h.clock.now())
  const evidence = view && (await h.evidence(phone, view)).body.verified_evidence
  const device = await service.store.read((tables) =>
    tables.devices.find(phone.device_id as PhoneCaller['device']['id']),
  )
  const credential = await service.store.read((tables) =>
    tables.tenants.findServerCredential(h.shop.server.slice(8, 18)),
  )
  const backend = { kind: 'backend', credential } as BackendCaller
  return {
    id: session.id as SessionId,
    session,
    backend,
    mobile: { kind: 'phone', device } as PhoneCaller,
    evidence: () => evidenceRequest(phone, view as never, signals, h.now()),
    attestation: () => attestation(phone, view as never, evidence, h.now()),
  }
}

const rejected = { ok: false, state: 'expired' }

test('form-completed takes effect before the end of its time, or not at all', async () => {
  const outcome = await expiresMeanwhile('bonded', ({ id, session, backend }) =>
    completeSession(service, backend, {
      id,
      completionSecret: session.completion_secret,
      contextDigest: undefined,
    }),
  )
  assert.deepEqual(outcome, rejected)
})

test('DELETE takes effect before the end of its time, or not at all', async () => {
  const outcome = await expiresMeanwhile('bonded', ({ id, backend }) =>
    killSession(service, backend, id),
  )
  assert.deepEqual(outcome, rejected)
})

test('a claim takes effect before the end of its time, or not at all', async () => {
  const outcome = await expiresMeanwhile('pending', ({ id, session, mobile }) =>
    claimSession(service, mobile, {
      id,
      nonce: session.nonce,
      deviceId: mobile.device.id,
      bringsBrowserKey: false,
      shows: [],
      address: '',
    }),
  )
  assert.deepEqual(outcome, rejected)
})

test('a decline takes effect before the end of its time, or not at all', async () => {
  const outcome = await expiresMeanwhile('pending', ({ id, session, mobile }) =>
    declineSession(service, mobile, {
      id,
      request: { nonce: session.nonce, device_id: mobile.device.id, reason: 'user_declined' },
    }),
  )
  assert.deepEqual(outcome, rejected)
})

test('a request for evidence takes effect before the end of its time, or not at all', async () => {
  const outcome = await expiresMeanwhile('pending', ({ mobile, evidence }) =>
    fetchEvidence(service, mobile, evidence()),
  )
  assert.deepEqual(outcome, rejected)
})

test('an assertion takes effect before the end of its time, or not at all', async () => {
  const outcome = await expiresMeanwhile('pending', ({ mobile, attestation }) =>
    attest(service, mobile, { request: attestation(), address: '' }),
  )
  assert.deepEqual(outcome, rejected)
})

test('returns the session to a browser as it is after its Origin was recorded, not before', async () => {
  const { id, session, backend } = await prepare('bonded')
  const key = { key: h.shop.publishable, tenant: h.shop.tenant, scope: null, revokedAt: null }
  const found = { id, watchToken: session.watch_token }
  const [, reading] = await Promise.all([
    killSession(service, backend, id),
    openAsBrowser(service, { origin: SHOP_ORIGIN, key }, found),
  ])
  assert.equal(reading.ok && reading.value.state, 'killed')
})
