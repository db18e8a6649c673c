import assert from 'node:assert/strict'
import { test } from 'node:test'
import { harness } from '../../../../tests/harness/harness.ts'

test('takes a session through create, claim, evidence and assertion to bonded and completed', async () => {
  await using h = await harness()
  const session = await h.create({
    workflow: 'wire_transfer',
    action: 'approve_wire',
    context: { display: [{ label: 'Amount', value: '€ 5' }], digest: 'd'.repeat(43) },
  })
  assert.equal(session.state, 'pending')
  assert.equal(session.verification, null)
  assert.match(session.completion_secret ?? '', /^bcs_/)

  const phone = await h.register()
  const claimed = await h.claim(phone, session)
  assert.equal(claimed.status, 200, claimed.text)
  assert.equal(claimed.body.tenant_name, 'Shop')
  assert.equal((await h.get(session)).body.hint, 'scanned')

  const bonded = await h.attest(phone, claimed.body)
  assert.equal(bonded.status, 200, bonded.text)
  assert.equal(bonded.body.state, 'bonded')
  const { verification, subject_ref } = (await h.get(session)).body
  assert.equal(verification.device_possession, true)
  assert.equal(verification.local_auth, 'verified')
  assert.ok(['medium', 'high'].includes(verification.assertion_band), verification.assertion_band)
  assert.match(subject_ref, /^[0-9A-Za-z_-]{43}$/)

  const completed = await h.complete(session, {
    'x-bond-context-digest': 'd'.repeat(43),
    'x-bond-outcome': 'accepted',
  })
  assert.deepEqual(completed.body, { ok: true, session_id: session.id })
  assert.equal((await h.get(session)).body.state, 'completed')
  assert.equal((await h.view(phone, session)).state, 'completed')
  const timeline = await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })
  assert.deepEqual(
    timeline.body.entries.map((entry: { kind: string }) => entry.kind),
    ['created', 'scanned', 'evaluating', 'bonded', 'completed'],
  )
})
