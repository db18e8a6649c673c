import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TimelineEntry } from '@bonded/contract'
import { asTestRoots } from '../../../../tests/harness/attested-phones.ts'
import { harness } from '../../../../tests/harness/harness.ts'

const reasonOf = (reply: { body?: { error?: { reason?: string } } }) => reply.body?.error?.reason

test('rejects keys younger than the workflow requires', async () => {
  const workflows = [
    { name: 'wire', actions: ['act'], min_key_age_seconds: 86_400 },
    { name: 'usual', actions: ['act'] },
  ]
  await using h = await harness({ attestation: asTestRoots, workflows })
  const old = await h.register()
  const bonded = await h.create({ workflow: 'usual' })
  await h.attest(old, (await h.claim(old, bonded)).body)
  // An added phone serves only sessions that name its user while an older one is active.
  const { subject_ref } = (await h.get(bonded)).body
  h.clock.advance(86_400_000)
  const fresh = await h.register(old)
  const session = await h.create({ workflow: 'wire', subject_ref })
  const rejected = await h.claim(fresh, session)
  assert.deepEqual([rejected.status, reasonOf(rejected)], [400, 'key_too_new'])
  const seen = {
    ...session,
    tenant_name: '',
    requesting_origin: null,
    created_at: session.server_time,
  }
  assert.equal(reasonOf(await h.evidence(fresh, seen)), 'key_too_new')
  const { entries } = (
    await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })
  ).body
  assert.deepEqual(
    entries
      .filter(({ kind }: TimelineEntry) => kind === 'refused')
      .map(({ reason, step }: TimelineEntry) => [reason, step]),
    [
      ['key_too_new', 'key_age'],
      ['key_too_new', 'key_age'],
    ],
  )
  assert.equal((await h.claim(old, session)).status, 200)
  assert.equal(
    (await h.claim(fresh, await h.create({ workflow: 'usual', subject_ref }))).status,
    200,
  )
  h.clock.advance(86_400_000 - 1)
  const early = await h.create({ workflow: 'wire', subject_ref })
  assert.equal(reasonOf(await h.claim(fresh, early)), 'key_too_new')
  h.clock.advance(1)
  assert.equal((await h.claim(fresh, early)).status, 200)
})
