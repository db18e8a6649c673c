import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { inspect } from 'node:util'
import { fc } from '../../../tests/random.ts'
import {
  simulateCarriedPhone,
  createSimulatedPhone,
  type Outcome,
  OUTCOMES,
  PhoneError,
  type SimulatedPhoneOptions,
} from '../src/index.ts'
import { openEnrollment } from '../src/enrollment.ts'
import { fileStateStore } from '../src/state-file.ts'
import { blockedSocket } from '../../phone/tests/blocked-socket.ts'
import { jumpingClock } from '../../phone/tests/clocks.ts'
import { fakeService, ORIGIN } from '../../phone/tests/fake-service.ts'
import { runsSvg, screenshot } from './pictures.ts'

const folder = mkdtempSync(join(tmpdir(), 'bonded-phone-'))
after(() => rmSync(folder, { recursive: true }))

function simulated(options: SimulatedPhoneOptions = {}) {
  const service = fakeService()
  const phone = createSimulatedPhone({
    origin: ORIGIN,
    fetch: service.fetch,
    clock: jumpingClock(),
    WebSocket: blockedSocket,
    random: () => 0.37,
    ...options,
  })
  return { service, phone }
}

const play = async (outcome: Outcome) => {
  const { service, phone } = simulated()
  service.require = ['local_auth', 'sensor_continuity']
  const result = await phone.run(service.payload, outcome)
  return { service, result }
}

test('bonds with approve, and shows the request before it signs', async () => {
  const { service, phone } = simulated()
  const signedBeforeShown: number[] = []
  const result = await phone.run(screenshot(service.payload), 'approve', {
    onShow: () => void signedBeforeShown.push(service.counters.length),
    waitForCompletion: false,
  })
  assert.deepEqual(signedBeforeShown, [0])
  assert.equal(result.state, 'bonded')
  assert.equal(result.completed, false)
  assert.deepEqual(
    result.steps.map(({ step }) => step),
    ['claimed', 'answered'],
  )
  assert.equal(result.shown?.tenant_name, 'Example Bank')
})

test('waits for the end of the session with waitForCompletion', async () => {
  const { service, phone } = simulated()
  const running = phone.run(runsSvg(service.link), 'approve', { waitForCompletion: true })
  while (service.session.state !== 'bonded') await new Promise((resolve) => setImmediate(resolve))
  service.change({ state: 'completed' })
  const result = await running
  assert.equal(result.completed, true)
  assert.deepEqual(result.steps.at(-1), { step: 'ended', state: 'completed' })
})

test('ends the session with decline and with not-me', async () => {
  for (const [outcome, reason] of [
    ['decline', 'user_declined'],
    ['not-me', 'user_unexpected'],
  ] as const) {
    const { result } = await play(outcome)
    assert.equal(result.state, 'killed')
    assert.deepEqual(result.steps.at(-1), { step: 'declined', reason, state: 'killed' })
  }
})

test('first fails and then meets the policy with step-up', async () => {
  const { result } = await play('step-up')
  assert.equal(result.state, 'bonded')
  assert.deepEqual(result.steps, [
    { step: 'claimed', state: 'pending' },
    { step: 'answered', state: 'step_up_required', required: ['local_auth', 'sensor_continuity'] },
    { step: 'answered', state: 'bonded' },
  ])
})

test('sends the bonding assertion again with replay, and reports the response', async () => {
  const { service, result } = await play('replay')
  assert.deepEqual(result.steps.at(-1), { step: 'replayed', status: 200, state: 'bonded' })
  const sent = service.requests
    .filter(({ path }) => path.endsWith('/attestations'))
    .map(({ raw }) => raw)
  assert.equal(sent.length, 2)
  assert.equal(sent[0], sent[1])
})

test('uses a new device for stale-counter, which the service rejects', async () => {
  const { service, phone } = simulated()
  const own = await phone.register()
  const result = await phone.run(service.payload, 'stale-counter')
  assert.deepEqual(result.rejection, { code: 'refused', reason: 'assertion_invalid', status: 400 })
  assert.equal(result.state, 'pending')
  const claim = service.requests.find(({ path }) => path.endsWith('/claim'))?.body as {
    device_id: string
  }
  assert.notEqual(claim.device_id, own.device_id)
})

test('reports the rejection of another device after the claim', async () => {
  const { result } = await play('other-device')
  assert.deepEqual(result.rejection, { code: 'refused', reason: 'session_claimed', status: 400 })
  assert.equal(result.state, 'pending')
})

test('reports its own rejection of a step-up that it cannot meet', async () => {
  const { service, phone } = simulated()
  service.require = ['passport_chip']
  const result = await phone.run(service.payload, 'approve')
  assert.equal(result.rejection?.code, 'step_up_unsupported')
  assert.equal(result.state, 'step_up_required')
})

test('prints no token in the result of any outcome', async () => {
  for (const outcome of OUTCOMES) {
    const { service, result } = await play(outcome)
    const printed = inspect(result, { depth: 9 }) + JSON.stringify(result)
    assert.doesNotMatch(printed, /dt_|bwt_/)
    assert.ok(service.requests.length > 0)
  }
})

test('signs nothing when onShow throws', async () => {
  const { service, phone } = simulated()
  await assert.rejects(
    phone.run(service.payload, 'approve', {
      onShow: () => {
        throw new Error('closed')
      },
    }),
    /closed/,
  )
  assert.deepEqual(service.counters, [])
})

test('registers a new key when the service no longer knows the device', async () => {
  const { service, phone } = simulated()
  await phone.register()
  service.deleteDevices()
  assert.equal((await phone.run(service.payload, 'approve')).state, 'bonded')
})

test('repeats a registration with another key when the response is lost', async () => {
  const { service, phone } = simulated()
  service.fail('/api/v1/devices', 'no_response')
  assert.equal((await phone.run(service.payload, 'approve')).state, 'bonded')
})

test('accepts an origin with a trailing slash', async () => {
  const { service, phone } = simulated({ origin: `${ORIGIN}/` })
  assert.equal((await phone.run(service.payload, 'approve')).state, 'bonded')
})

test('rejects a missing or insecure origin', async () => {
  const { service, phone } = simulated()
  const nowhere = createSimulatedPhone({ fetch: service.fetch })
  await assert.rejects(
    nowhere.run(service.payload, 'approve'),
    (error) => error instanceof PhoneError && error.reason === 'origin_missing',
  )
  await assert.rejects(
    phone.run(service.link.replace('https://bond', 'http://evil'), 'approve'),
    (error) => error instanceof PhoneError && error.reason === 'origin_insecure',
  )
})

test('stores device, key and counter in a file that only its owner can read', async () => {
  const stateFile = join(folder, 'deep', 'phone.json')
  const { service, phone } = simulated({ stateFile })
  await phone.run(service.payload, 'approve')
  assert.equal(statSync(stateFile).mode & 0o777, 0o600)
  assert.equal(JSON.parse(readFileSync(stateFile, 'utf8'))[ORIGIN].counter, 2)
  assert.deepEqual(readdirSync(join(folder, 'deep')), ['phone.json'])
  const again = createSimulatedPhone({ origin: ORIGIN, fetch: service.fetch, stateFile })
  await again.register()
  assert.equal(service.requests.filter(({ path }) => path === '/api/v1/devices').length, 1)
})

test('never repeats or skips a counter when phones share a file', async () => {
  const path = join(folder, 'shared.json')
  await fc.assert(
    fc.asyncProperty(fc.array(fc.constant(1), { minLength: 1, maxLength: 12 }), async (turns) => {
      const openStore = () => openEnrollment(fileStateStore(path), ORIGIN).store
      const first = await openStore().nextCounter()
      const given = await Promise.all(turns.map(() => openStore().nextCounter()))
      assert.deepEqual(
        given.toSorted((a, b) => a - b),
        turns.map((_, index) => first + 1 + index),
      )
    }),
    { numRuns: 10 },
  )
})

test('writes a counter to disk before it returns it', async () => {
  const path = join(folder, 'first.json')
  const { store } = openEnrollment(fileStateStore(path), ORIGIN)
  for (const counter of [1, 2, 3]) {
    assert.equal(await store.nextCounter(), counter)
    assert.equal(JSON.parse(readFileSync(path, 'utf8'))[ORIGIN].counter, counter)
  }
})

test('simulates a carried phone for any random source', () => {
  fc.assert(
    fc.property(
      fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })),
      (stream) => {
        const { window_ms, features } = simulateCarriedPhone(() => stream.next().value ?? 0)
        assert.equal(features.length, 60)
        assert.ok(
          features.every(
            ({ t_ms, acc_var, gyro_var }, index) =>
              t_ms === index * 1_000 &&
              t_ms < window_ms &&
              acc_var > 0.01 &&
              acc_var < 150 &&
              gyro_var > 0.0005,
          ),
        )
        assert.ok(features.some(({ handling }) => handling > 0))
      },
    ),
  )
})

test('lets a screen decide about a scanned request, step by step', async () => {
  const { service, phone } = simulated()
  service.require = ['local_auth']
  const scanned = await phone.scan(service.payload)
  assert.equal('watch_token' in scanned.session(), false)
  const requested: string[][] = []
  const states: string[] = []
  const bonded = await scanned.approve({
    evidence: (required) => {
      requested.push([...required])
      return required.length === 0 ? 'locked' : 'carried'
    },
    onResponse: ({ state }) => void states.push(state),
  })
  assert.deepEqual(requested, [[], ['local_auth']])
  assert.deepEqual(states, ['step_up_required', 'bonded'])
  assert.equal(bonded.state, 'bonded')
  assert.equal(scanned.session().state, 'bonded')
})

test('declines a scanned request with the reason of the user', async () => {
  const { service, phone } = simulated()
  const scanned = await phone.scan(service.payload)
  const ended = await scanned.decline('user_unexpected')
  assert.equal(ended.state, 'killed')
  assert.equal((await scanned.waitForEnd()).state, 'killed')
})
