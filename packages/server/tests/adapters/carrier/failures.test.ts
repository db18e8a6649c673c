import { Secret } from '@bonded/contract'
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BUDGET_MS } from '../../../src/adapters/carrier/camara.ts'
import { OPEN_MS, OUTAGES_TO_OPEN } from '../../../src/adapters/carrier/circuit.ts'
import { PATHS, type Path } from './fake-carrier/fake-carrier.ts'
import { NUMBER, scene, UNKNOWN, WELL } from './fake-carrier/scene.ts'

const everywhere = (why: string) =>
  `number_verification:${why} sim_swap:${why} device_status:${why}`

/** Whether a promise has settled after all pending callbacks ran. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending')
  const { promise: later, resolve } = Promise.withResolvers<symbol>()
  setImmediate(() => resolve(pending))
  return (await Promise.race([promise, later])) !== pending
}

test('ends a check after exactly 2 s if the carrier hangs at any endpoint', async () => {
  assert.equal(BUDGET_MS, 2_000)
  const flows = [
    ['jwt-bearer', [PATHS.discovery, PATHS.token, PATHS.check]],
    ['ciba', [PATHS.discovery, PATHS.backchannel, PATHS.token, PATHS.check]],
  ] as const
  for (const [flow, paths] of flows) {
    for (const path of paths as readonly Path[]) {
      await using setting = await scene({}, { flow })
      setting.fakeCarrier.moods.set(path, 'hang')
      const checking = setting.check()
      await setting.fakeCarrier.received(path)
      setting.clock.advance(BUDGET_MS - 1)
      assert.equal(await settled(checking), false, `${flow} ${path}`)
      setting.clock.advance(1)
      assert.match(String((await checking).note), /sim_swap:timeout/, `${flow} ${path}`)
    }
  }
})

test('keeps the other results when one check hangs', async () => {
  await using setting = await scene({ swapped: false })
  const { fakeCarrier, clock, carrier } = setting
  const check = () => carrier.check({ phoneNumber: new Secret(NUMBER), signal: undefined })
  fakeCarrier.moods.set(PATHS.reach, 'hang')
  const checking = check()
  await fakeCarrier.received(PATHS.reach)
  await fakeCarrier.received(PATHS.check)
  fakeCarrier.moods.delete(PATHS.reach)
  // The swap response was sent before this check starts, so it is processed by the time it ends.
  await check()
  clock.advance(BUDGET_MS)
  const note = 'number_verification:operator_token_missing device_status:timeout'
  assert.deepEqual(await checking, {
    finding: { ...WELL, number_verified: false, device_status: 'unknown' },
    note,
    isUnavailable: true,
  })
})

test('returns the safe values if the carrier is unreachable', async () => {
  await using setting = await scene()
  await setting.fakeCarrier.down()
  assert.deepEqual(await setting.check(), {
    finding: UNKNOWN,
    note: everywhere('unreachable'),
    isUnavailable: true,
  })
})

test('opens the circuit for 30 s after five consecutive outages, then lets one probe decide', async () => {
  assert.deepEqual([OUTAGES_TO_OPEN, OPEN_MS], [5, 30_000])
  await using setting = await scene()
  const { fakeCarrier, clock, check } = setting
  fakeCarrier.moods.set(PATHS.token, { raw: '', status: 500 })
  for (let time = 0; time < OUTAGES_TO_OPEN; time++)
    assert.equal((await check()).note, everywhere('server_error'))
  const requested = fakeCarrier.requests.length
  assert.deepEqual(await check(), {
    finding: UNKNOWN,
    note: everywhere('circuit_open'),
    isUnavailable: true,
  })
  clock.advance(OPEN_MS - 1)
  assert.equal((await check()).note, everywhere('circuit_open'))
  assert.equal(fakeCarrier.requests.length, requested)

  clock.advance(1)
  fakeCarrier.moods.set(PATHS.token, 'hang')
  const probing = check()
  await fakeCarrier.received(PATHS.token, fakeCarrier.count(PATHS.token) + 3)
  const probes = fakeCarrier.requests.length
  assert.equal((await check()).note, everywhere('circuit_open'), 'a probe excludes other calls')
  assert.equal(fakeCarrier.requests.length, probes)
  clock.advance(BUDGET_MS)
  assert.equal((await probing).note, everywhere('timeout'))
  assert.equal((await check()).note, everywhere('circuit_open'), 'one more outage is enough')

  clock.advance(OPEN_MS)
  fakeCarrier.moods.delete(PATHS.token)
  assert.deepEqual(await check(), { finding: WELL })
  fakeCarrier.moods.set(PATHS.token, { raw: '', status: 500 })
  clock.advance(600_000)
  for (let time = 0; time < OUTAGES_TO_OPEN; time++)
    assert.equal((await check()).note, everywhere('server_error'), 'the count starts again')
})

test('isolates a failing API from the other APIs of the carrier', async () => {
  await using setting = await scene()
  const { fakeCarrier, check } = setting
  fakeCarrier.moods.set(PATHS.reach, 'reset')
  for (let time = 0; time < OUTAGES_TO_OPEN; time++) await check()
  assert.deepEqual(await check(), {
    finding: { ...WELL, device_status: 'unknown' },
    note: 'device_status:circuit_open',
    isUnavailable: true,
  })
})

test('does not count a rejection as an outage', async () => {
  await using setting = await scene()
  const { fakeCarrier, check } = setting
  fakeCarrier.moods.set(PATHS.reach, { status: 403, code: 'PERMISSION_DENIED' })
  for (let time = 0; time <= OUTAGES_TO_OPEN; time++)
    assert.equal((await check()).note, 'device_status:permission_denied')
})

test('honors Retry-After up to 10 minutes and waits 30 s without it', async () => {
  for (const [headers, ms] of [
    [{ 'retry-after': '7' }, 7_000],
    [{}, OPEN_MS],
    [{ 'retry-after': 'Sat, 21 Nov 2026 10:00:00 GMT' }, OPEN_MS],
    [{ 'retry-after': '999999' }, 600_000],
  ] as const) {
    await using setting = await scene()
    const { fakeCarrier, clock, check } = setting
    fakeCarrier.moods.set(PATHS.reach, { status: 429, code: 'TOO_MANY_REQUESTS', headers })
    assert.equal((await check()).note, 'device_status:rate_limited')
    fakeCarrier.moods.delete(PATHS.reach)
    clock.advance(ms - 1)
    assert.equal((await check()).note, 'device_status:circuit_open')
    clock.advance(1)
    assert.deepEqual(await check(), { finding: WELL })
  }
})
