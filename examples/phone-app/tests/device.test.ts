import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type PhoneDevice, PhoneError, Secret } from '@bonded/phone'
import { createDeviceStore } from '../src/device/device-store.ts'
import { createMotionRecorder, type MotionEvent } from '../src/device/motion.ts'
import { createUserVerifier } from '../src/device/user-verifier.ts'
import { ItemsDouble } from './doubles/phone.ts'

const ORIGIN = 'https://bond.example'
const DEVICE: PhoneDevice = {
  origin: ORIGIN,
  device_id: 'dev_0000000000000000000001',
  subject_id: 'sub_0000000000000000000001',
  key_id: 'key',
  format: 'android-key',
  device_token: new Secret('dt_secret'),
}

test('a device is stored with its token, for its origin only', async () => {
  const items = new ItemsDouble()
  await createDeviceStore(items, ORIGIN).keep(DEVICE)
  const stored = await createDeviceStore(items, ORIGIN).device()
  assert.deepEqual(
    { ...stored, device_token: stored?.device_token.reveal() },
    {
      ...DEVICE,
      device_token: 'dt_secret',
    },
  )
  assert.equal(await createDeviceStore(items, 'https://other.example').device(), undefined)
})

test('no two callers get the same counter, and each is stored before it is used', async () => {
  const items = new ItemsDouble()
  const store = createDeviceStore(items, ORIGIN)
  assert.deepEqual(
    await Promise.all(Array.from({ length: 5 }, () => store.nextCounter())),
    [1, 2, 3, 4, 5],
  )
  assert.equal(await createDeviceStore(items, ORIGIN).nextCounter(), 6)
})

test('never replaces an unreadable counter by a guess', async () => {
  const items = new ItemsDouble()
  for (const text of ['', '-1', '1.5', '1e3', 'NaN', '01', '99999999999']) {
    await items.set('bonded.counter', text)
    await assert.rejects(
      createDeviceStore(items, ORIGIN).nextCounter(),
      (error: unknown) => error instanceof PhoneError && error.reason === 'key_missing',
      text,
    )
  }
})

const LEVEL = { none: 0, passcode: 1, strong: 3 }
const PROMPT = { message: 'Approve', usePasscode: 'Use passcode' }
type Answer = { success: true } | { success: false; error: string }
const [agreed, fallback, canceled]: Answer[] = [
  { success: true },
  { success: false, error: 'user_fallback' },
  { success: false, error: 'user_cancel' },
] as const

/** What each phone reports: how often it asks, and the result. */
const VERIFICATIONS = [
  ['ios', LEVEL.strong, [agreed], ['verified', 'biometric']],
  ['ios', LEVEL.strong, [fallback, agreed], ['verified', 'device_credential']],
  ['ios', LEVEL.strong, [{ success: false, error: 'lockout' }, canceled], ['failed', 'none']],
  ['ios', LEVEL.strong, [canceled], ['failed', 'none']],
  ['ios', LEVEL.passcode, [agreed], ['verified', 'device_credential']],
  ['ios', LEVEL.none, [], ['failed', 'none']],
  ['android', LEVEL.strong, [agreed], ['verified', 'device_credential']],
  ['android', LEVEL.strong, [canceled], ['failed', 'none']],
  ['android', LEVEL.none, [], ['failed', 'none']],
] as const

for (const [os, level, given, expected] of VERIFICATIONS)
  test(`${os}: the user verification at level ${level} with ${given.length} prompts is ${expected.join(', ')}`, async () => {
    const answers = [...(given as readonly Answer[])]
    const verifier = createUserVerifier({
      os,
      now: () => 17,
      authentication: {
        getEnrolledLevelAsync: async () => level,
        authenticateAsync: async () => answers.shift() ?? assert.fail('one prompt too many'),
      },
    })
    const { result, method, at_ms } = await verifier.verify(PROMPT)
    assert.deepEqual([result, method, at_ms], [...expected, 17])
    assert.equal(answers.length, 0)
    assert.equal(await verifier.hasScreenLock(), level > LEVEL.none)
  })

test('the recorder reports the readings of the sensors in the units of the protocol', async () => {
  let time = 0
  let listener: (event: MotionEvent) => void = () => assert.fail('not listening')
  const recorder = createMotionRecorder(
    {
      isAvailableAsync: async () => true,
      setUpdateInterval: (intervalMs) => assert.equal(intervalMs, 20),
      addListener: (given) => {
        listener = given
        return { remove: () => {} }
      },
    },
    () => time,
  )
  assert.equal(recorder.signal(), undefined)
  await recorder.start()
  // Android reports events before each of its sensors has a value.
  listener({})
  const wave = (hz: number) => Math.sin((2 * Math.PI * hz * time) / 1_000)
  for (time = 20; time <= 5_000; time += 20) {
    const swing = ((wave(2) + wave(5)) * 180) / Math.PI
    listener({
      accelerationIncludingGravity: { x: 0, y: 0, z: -9.81 },
      rotationRate: { alpha: swing, beta: 0, gamma: 0 },
    })
  }
  time = 5_000
  recorder.touched()
  const { features = [] } = recorder.signal() ?? {}
  assert.equal(features.length, recorder.seconds())
  // Two waves of one radian per second: a variance of one half each.
  assert.deepEqual(
    features.slice(1, -1).map(({ acc_var, gyro_var }) => [acc_var, gyro_var]),
    features.slice(1, -1).map(() => [0, 1]),
  )
  assert.equal(features.at(-1)?.handling, 1)
})

test('a phone without motion sensors records nothing', async () => {
  const recorder = createMotionRecorder(
    {
      isAvailableAsync: async () => false,
      setUpdateInterval: () => assert.fail(),
      addListener: () => assert.fail(),
    },
    () => 0,
  )
  await recorder.start()
  assert.deepEqual([recorder.isAvailable(), recorder.signal()], [false, undefined])
})
