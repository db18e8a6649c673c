import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { DeviceId, EvidenceSignals, SensorSignal, SessionId } from '@bonded/contract'
import { scoreContinuity } from '../../../core/src/domain/continuity.ts'
import { MAX_STORED_WINDOWS } from '../../../core/src/domain/motion-memory.ts'
import { updateContinuity } from '../../../core/src/operations/phone/update-continuity.ts'
import type { Service } from '../../../core/src/operations/service.ts'
import { keyringOf } from '../../src/adapters/keys/keyring.ts'
import { harness, PUBLIC_ORIGIN, ROOT_KEY } from '../../../../tests/harness/harness.ts'
import { carriedSignals, removalRequest, type TestPhone } from '../../../../tests/harness/phone.ts'
import { seeded } from '../../../../tests/seeded.ts'

const h = await harness()
after(() => h[Symbol.asyncDispose]())

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const carried = (of: number) => carriedSignals(of).sensor_continuity as SensorSignal
const memoryOf = (phone: TestPhone) =>
  h.service.store.read((tables) => tables.devices.motion(phone.device_id as DeviceId))

/**
 * What the service says of a window that a phone sends with a new session; its local authentication
 * is always fresh.
 */
async function shows(phone: TestPhone, sensor_continuity: SensorSignal | undefined) {
  const session = await h.create({ workflow: 'credit_application' })
  await h.claim(phone, session)
  const { local_auth } = carriedSignals(h.clock.now())
  const signals: EvidenceSignals = { local_auth, ...(sensor_continuity && { sensor_continuity }) }
  const response = await h.evidence(phone, await h.view(phone, session), signals)
  assert.equal(response.status, 200)
  const { motion_present, continuity_score } = response.body.verified_evidence.sensor_continuity
  const { entries } = (
    await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })
  ).body
  const noted = entries.some(({ reason }: { reason?: string }) => reason === 'motion_repeated')
  return { motion_present, continuity_score, noted }
}

const FRESH = { motion_present: true, continuity_score: 1, noted: false }
const REPEATED = { motion_present: false, continuity_score: 0, noted: true }

test('rejects a repeated window days later, and notes it in the timeline', async () => {
  const phone = await h.register()
  assert.deepEqual(await shows(phone, carried(1)), FRESH)
  h.clock.advance(3 * DAY_MS)
  assert.deepEqual(await shows(phone, carried(1)), REPEATED)
  assert.deepEqual(await shows(phone, carried(2)), FRESH)
})

test('notes why a phone has no motion, and evaluates the rest of its signals', async () => {
  for (const missing of ['denied', 'missing', 'too_short'] as const) {
    const phone = await h.register()
    const session = await h.create({ workflow: 'credit_application' })
    await h.claim(phone, session)
    const { local_auth } = carriedSignals(h.clock.now())
    const response = await h.evidence(phone, await h.view(phone, session), {
      local_auth,
      sensor_continuity_missing: missing,
    })
    assert.equal(response.body.verified_evidence.local_auth.result, 'verified')
    assert.equal(response.body.verified_evidence.sensor_continuity.continuity_score, 0)
    const { entries } = (
      await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })
    ).body
    const noted = entries.find(({ step }: { step?: string }) => step === 'sensor_continuity')
    assert.deepEqual([noted?.kind, noted?.reason], ['note', `motion_${missing}`])
  }
})

test('recognizes a window that is shorter or slightly changed', async () => {
  const phone = await h.register()
  const { window_ms, features } = carried(3)
  await shows(phone, { window_ms, features })
  h.clock.advance(DAY_MS)
  const next = seeded(3)
  const changes: SensorSignal[] = [
    {
      window_ms: 40_000,
      features: features
        .slice(15, 55)
        .map((feature) => ({ ...feature, t_ms: feature.t_ms - 15_000 })),
    },
    {
      window_ms,
      features: features.map((feature) => ({
        ...feature,
        acc_var: feature.acc_var * (1 + next(100) / 5_000),
        handling: 1,
      })),
    },
    {
      window_ms: 10_000,
      features: features
        .slice(20, 30)
        .map((feature) => ({ ...feature, t_ms: feature.t_ms - 20_000 })),
    },
  ]
  for (const changed of changes) {
    assert.ok(scoreContinuity(changed).score >= 0.6)
    assert.deepEqual(await shows(phone, changed), REPEATED)
  }
})

test('accepts an immediate retry of a window and overlapping windows', async () => {
  const phone = await h.register()
  await shows(phone, carried(4))
  assert.deepEqual(await shows(phone, carried(4)), FRESH)
  // Up to the window's own minute and the two that it may have lain on the phone.
  h.clock.advance(3 * MINUTE_MS)
  assert.deepEqual(await shows(phone, carried(4)), FRESH)
  h.clock.advance(1)
  assert.deepEqual(await shows(phone, carried(4)), REPEATED)
})

test('counts the age of a repeated window from its first use', async () => {
  const phone = await h.register()
  await shows(phone, carried(5))
  h.clock.advance(2 * MINUTE_MS)
  assert.deepEqual(await shows(phone, carried(5)), FRESH)
  h.clock.advance(2 * MINUTE_MS)
  assert.deepEqual(await shows(phone, carried(5)), REPEATED)
})

test('stores motion per phone, and deletes it with the device', async () => {
  const [one, other] = [await h.register(), await h.register()]
  await shows(one, carried(6))
  h.clock.advance(DAY_MS)
  assert.deepEqual(await shows(other, carried(6)), FRESH)
  const [ones, others] = [await memoryOf(one), await memoryOf(other)]
  // The same movement leaves different fingerprints, so the store does not reveal it.
  assert.ok(
    ones &&
      others &&
      ones.windows[0]?.fingerprints.every(
        (fingerprint, at) => fingerprint !== others.windows[0]?.fingerprints[at],
      ),
  )
  const removed = await h.api('POST', `/devices/${one.device_id}/removal`, {
    token: one.device_token,
    body: removalRequest(one, one.device_id, h.now(), { origin: PUBLIC_ORIGIN }),
  })
  assert.equal(removed.status, 204)
  assert.equal(await memoryOf(one), undefined)
})

test('stores only windows that would pass, the newest eight, and a repetition displaces none', async () => {
  const phone = await h.register()
  await shows(phone, undefined)
  await shows(phone, { ...carried(7), features: carried(7).features.slice(0, 15) })
  assert.equal(await memoryOf(phone), undefined)
  for (let of = 10; of < 10 + MAX_STORED_WINDOWS; of++) await shows(phone, carried(of))
  h.clock.advance(DAY_MS)
  for (let times = 0; times < 3; times++)
    assert.deepEqual(await shows(phone, carried(11)), REPEATED)
  assert.deepEqual(await shows(phone, carried(10)), REPEATED)
  assert.deepEqual(await shows(phone, carried(30)), FRESH)
  assert.equal((await memoryOf(phone))?.windows.length, MAX_STORED_WINDOWS)
  assert.deepEqual(await shows(phone, carried(10)), FRESH)
})

test('keeps the stored motion over a root key rotation while the older key is listed', async () => {
  const phone = await h.register()
  const session = await h.create()
  const newKey = { id: 'k2', bytes: ROOT_KEY.bytes.toReversed() }
  const rotated: Service = { ...h.service, keys: keyringOf([newKey, ROOT_KEY]) }
  const withoutOld: Service = { ...h.service, keys: keyringOf([newKey]) }
  const judge = (service: Service, of: number, now: number) =>
    service.store.write(function* (tables) {
      const device = yield* tables.devices.find(phone.device_id as DeviceId)
      assert.ok(device)
      const { score } = yield* updateContinuity(service, tables, {
        id: session.id as SessionId,
        device,
        signals: carriedSignals(of),
        now,
      })
      return score
    })
  assert.equal(await judge(h.service, 40, 0), 1)
  assert.equal(await judge(rotated, 40, DAY_MS), 0)
  assert.equal(await judge(rotated, 41, DAY_MS), 1)
  assert.equal(await judge(withoutOld, 40, 2 * DAY_MS), 1)
  assert.deepEqual(
    [(await memoryOf(phone))?.keyId, (await memoryOf(phone))?.windows.length],
    ['k2', 1],
  )
})
