import assert from 'node:assert/strict'
import { test } from 'node:test'
import { judgeSubmit } from '@bonded/contract'
import type { CarrierProvider } from '../../../core/src/ports/carrier.ts'
import {
  androidKey,
  webauthnKey,
  withProductionRoots,
} from '../../../../tests/harness/attested-phones.ts'
import { type Harness, harness, type HarnessOptions } from '../../../../tests/harness/harness.ts'
import type { TestPhone } from '../../../../tests/harness/phone.ts'

const DAY_MS = 24 * 60 * 60_000
const WORKFLOWS = [
  { name: 'default', actions: ['act'] },
  { name: 'review', actions: ['act'], unattested: 'review' as const },
  { name: 'accept', actions: ['act'], unattested: 'accept' as const },
  { name: 'medium', actions: ['act'], require: ['band:medium' as const] },
]

const production = (options: HarnessOptions = {}) =>
  harness({
    attestation: withProductionRoots,
    environment: 'production',
    workflows: WORKFLOWS,
    ...options,
  })

/** Bonds a session, and judges it as a backend does. */
async function bond(
  h: Harness,
  phone: TestPhone,
  body: Record<string, unknown> = {},
  keys = h.shop,
) {
  const created = await h.create({ workflow: 'default', ...body }, keys)
  const claimed = await h.claim(phone, created)
  assert.equal(claimed.status, 200, claimed.text)
  const bonded = await h.attest(phone, claimed.body)
  assert.equal(bonded.status, 200, bonded.text)
  const session = (await h.get(created, keys)).body
  const { workflow, action, verification, subject_ref } = session
  const { decision, reasons } = judgeSubmit({
    session_id: created.id,
    owner: 'user',
    pending: { workflow, action, owner: 'user' },
    session,
    expected: {
      workflow,
      action,
      acceptAnyContext: true,
      ...(body.subject_ref ? { subject_ref } : {}),
    },
    now: h.clock.now(),
  })
  return {
    created,
    subject_ref,
    verification,
    gate: [verification.assertion_band, decision, ...reasons],
  }
}

const ACCEPTED_BY_BACKEND = { 'x-bond-outcome': 'accepted' }
const IN_REVIEW = ['low', 'review', 'low_confidence']
const ACCEPTED = ['medium', 'accept']

test('a script with its own key ends in review, unless the workflow accepts unattested keys', async () => {
  await using h = await production()
  // A program: it makes its key, claims user verification, and invents the motion.
  const script = () => h.register(undefined, webauthnKey('script'))
  const first = await bond(h, await script())
  assert.deepEqual(first.gate, IN_REVIEW)
  assert.ok(first.verification.sensor_continuity.continuity_score >= 0.6)
  assert.equal(first.verification.key_attested, false)
  assert.deepEqual((await bond(h, await script(), { workflow: 'review' })).gate, IN_REVIEW)
  assert.deepEqual((await bond(h, await script(), { workflow: 'accept' })).gate, ACCEPTED)
})

test('a named user’s key is medium once the tenant has completed a bond of it', async () => {
  await using h = await production()
  const phone = await h.register(undefined, webauthnKey('unattested'))
  const first = await bond(h, phone)
  assert.deepEqual(first.gate, IN_REVIEW)
  const { subject_ref } = first

  // Bonded is not completed.
  assert.deepEqual((await bond(h, phone, { subject_ref })).gate, IN_REVIEW)
  assert.equal((await h.complete(first.created, ACCEPTED_BY_BACKEND)).status, 200)
  assert.equal((await h.complete(first.created, ACCEPTED_BY_BACKEND)).status, 200)
  const known = await bond(h, phone, { subject_ref })
  assert.deepEqual(known.gate, ACCEPTED)
  assert.ok(known.verification.human_presence_confidence < 0.8)
  assert.deepEqual((await bond(h, phone)).gate, IN_REVIEW)
  assert.deepEqual((await bond(h, phone, { subject_ref, workflow: 'review' })).gate, IN_REVIEW)
})

for (const [what, headers] of [
  ['in review', { 'x-bond-outcome': 'in_review' }],
  ['without an outcome', {}],
] as const)
  test(`a script’s key does not become known by a completion ${what}`, async () => {
    await using h = await production()
    const script = await h.register(undefined, webauthnKey('script'))
    const first = await bond(h, script)
    assert.equal((await h.complete(first.created, headers)).status, 200)
    const { subject_ref } = first
    assert.deepEqual((await bond(h, script, { subject_ref })).gate, IN_REVIEW)
  })

test('a completed bond counts for its tenant and its key alone', async () => {
  await using h = await production()
  const phone = await h.register(undefined, webauthnKey('unattested'))
  const first = await bond(h, phone)
  await h.complete(first.created, ACCEPTED_BY_BACKEND)
  const { subject_ref } = first
  assert.deepEqual((await bond(h, phone, { subject_ref })).gate, ACCEPTED)

  const sibling = await h.register(phone, webauthnKey('unattested'))
  assert.deepEqual((await bond(h, sibling, { subject_ref })).gate, IN_REVIEW)
  const other = await h.addTenant({
    name: 'Other',
    origins: ['https://other.example'],
    environment: 'production',
    workflows: WORKFLOWS,
  })
  const there = await bond(h, phone, {}, other)
  assert.deepEqual(
    (await bond(h, phone, { subject_ref: there.subject_ref }, other)).gate,
    IN_REVIEW,
  )
})

test('a named user’s key is medium from a day on, and not before', async () => {
  await using h = await production()
  const phone = await h.register(undefined, webauthnKey('unattested'))
  const { subject_ref } = await bond(h, phone)
  h.clock.advance(DAY_MS - 1)
  assert.deepEqual((await bond(h, phone, { subject_ref })).gate, IN_REVIEW)
  h.clock.advance(1)
  assert.deepEqual((await bond(h, phone, { subject_ref })).gate, ACCEPTED)
  assert.deepEqual((await bond(h, phone)).gate, IN_REVIEW)
})

test('a carrier that verifies the number lifts a first visit, unless the SIM was swapped', async () => {
  for (const [swapped, expected] of [
    [false, ACCEPTED],
    [true, ['low', 'review', 'low_confidence', 'sim_swap_recent']],
  ] as const) {
    const carrier: CarrierProvider = {
      check: async () => ({
        finding: {
          number_verified: true,
          sim_swap_recent: swapped,
          device_status: 'active',
          source: 'camara',
        },
      }),
    }
    await using h = await production({ carrier: () => carrier })
    const phone = await h.register(undefined, webauthnKey('unattested'))
    const { gate } = await bond(h, phone, { phone_number: '+491701234567' })
    assert.deepEqual(gate, expected)
  }
})

test('an attested key is judged by its score at the first visit', async () => {
  await using h = await production()
  for (const key of [androidKey(), webauthnKey('attested')]) {
    const { gate, verification } = await bond(h, await h.register(undefined, key))
    assert.deepEqual(gate, ['high', 'accept'])
    assert.equal(verification.key_attested, true)
  }
})

test('a key that cannot reach the required band learns so at once, and a known one is accepted', async () => {
  await using h = await production()
  const phone = await h.register(undefined, webauthnKey('unattested'))
  const rejected = await h.claim(phone, await h.create({ workflow: 'medium' }))
  assert.deepEqual([rejected.status, rejected.body.error.reason], [400, 'key_not_attested'])
  const first = await bond(h, phone)
  await h.complete(first.created, ACCEPTED_BY_BACKEND)
  const { subject_ref } = first
  assert.deepEqual((await bond(h, phone, { workflow: 'medium', subject_ref })).gate, ACCEPTED)
})

test('a software key of the sandbox is reported as unattested', async () => {
  await using h = await harness()
  const { verification } = await bond(h, await h.register(), { workflow: 'credit_application' })
  assert.equal(verification.key_attested, false)
})
