import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { harness, PUBLIC_ORIGIN } from '../../../../tests/harness/harness.ts'
import {
  attestation,
  carriedSignals,
  evidenceRequest,
  removalRequest,
  tokenRequest,
} from '../../../../tests/harness/phone.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

/** The forms in which phones and libraries write one instant, here of whole seconds. */
const FORMS: readonly ((seconds: string) => string)[] = [
  (seconds) => `${seconds}Z`,
  (seconds) => `${seconds}+00:00`,
  (seconds) => `${seconds}.000Z`,
  (seconds) => `${seconds}.000000Z`,
  (seconds) => `${seconds}.000000000Z`,
  (seconds) => `${seconds}.0+00:00`,
]
const seconds = (instant: number) => new Date(instant).toISOString().slice(0, 19)

for (const form of FORMS)
  test(`accepts ${form('…')} at every input that takes a time, signed as it was sent`, async () => {
    h.clock.advance(1_000 - (h.clock.now() % 1_000))
    const at = form(seconds(h.clock.now()))
    const session = await h.create()
    const phone = await h.register()
    const { device_token: token, device_id } = phone
    await h.claim(phone, session)
    const seen = await h.view(phone, session)
    const signals = carriedSignals(h.clock.now())
    const verified_at = form(seconds(h.clock.now() - 1_000))
    const sent = { ...signals, local_auth: { ...signals.local_auth, verified_at } }

    const body = evidenceRequest(phone, seen, sent, at)
    const evidence = await h.api('POST', '/evidence', { token, body })
    assert.equal(evidence.status, 200, evidence.text)
    const summary = evidence.body.verified_evidence
    assert.deepEqual(summary.local_auth, {
      method: 'biometric',
      result: 'verified',
      verified_at: new Date(h.clock.now() - 1_000).toISOString(),
    })
    const bonding = attestation(phone, seen, summary, at)
    const bonded = await h.api('POST', '/attestations', { token, body: bonding })
    assert.deepEqual([bonded.status, bonded.body.state], [200, 'bonded'], bonded.text)
    const replayed = await h.api('POST', '/attestations', { token, body: bonding })
    assert.equal(replayed.body.state, 'bonded')

    const rotation = tokenRequest(phone, at, { origin: PUBLIC_ORIGIN })
    const rotated = await h.api('POST', `/devices/${device_id}/token`, { token, body: rotation })
    assert.equal(rotated.status, 201, rotated.text)
    const removal = removalRequest(phone, device_id, at, { origin: PUBLIC_ORIGIN })
    const path = `/devices/${device_id}/removal`
    const removed = await h.api('POST', path, { token: rotated.body.device_token, body: removal })
    assert.equal(removed.status, 204, removed.text)
  })

test('rejects an assertion whose time is written in another form than the signed one', async () => {
  const { session, phone } = await h.reach('pending')
  await h.claim(phone, session)
  const seen = await h.view(phone, session)
  const { verified_evidence } = (await h.evidence(phone, seen)).body
  const body = attestation(phone, seen, verified_evidence, h.now())
  const reply = await h.api('POST', '/attestations', {
    token: phone.device_token,
    body: { ...body, issued_at: h.now().replace('Z', '+00:00') },
  })
  assert.equal(reply.body.error.reason, 'assertion_invalid')
})

test('rejects a time that is too old in every form', async () => {
  const { session, phone } = await h.reach('pending')
  await h.claim(phone, session)
  const seen = await h.view(phone, session)
  for (const form of FORMS) {
    const at = form(seconds(h.clock.now() - 3_600_000))
    const body = evidenceRequest(phone, seen, carriedSignals(h.clock.now()), at)
    const reply = await h.api('POST', '/evidence', { token: phone.device_token, body })
    assert.equal(reply.status, 400, reply.text)
    assert.equal(reply.body.error.reason, 'issued_at_out_of_range')
  }
})
