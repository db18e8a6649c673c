import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClaimedSession, PhoneSignals } from '@bonded/phone'
import { createEvidenceAhead, signalsOf } from '../../src/evidence-ahead.ts'
import { handoffIn } from '../../src/link.ts'
import { chooseLanguage, LANGUAGES, loadLanguage } from '../../src/messages/language.ts'
import { en } from '../../src/messages/en.ts'
import { createMotionRecorder } from '../../src/motion.ts'
import { observeSigner } from '../../src/passkey.ts'
import { createPause } from '../../src/pause.ts'
import { createRequestsAhead } from '../../src/requests-ahead.ts'
import { stepFor } from '../../src/step-up.ts'
import { createTabMemory } from '../../src/tab.ts'

/* The parts of the page that need no document, each on a clock and a storage of the test. */

const turns = async () => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve()
}

test('a tab remembers that it showed another request, also after a reload', () => {
  const stored = new Map<string, string>()
  const page = {
    sessionStorage: {
      getItem: (name: string) => stored.get(name) ?? null,
      setItem: (name: string, value: string) => void stored.set(name, value),
    },
  } as unknown as Parameters<typeof createTabMemory>[0]
  const shows = (id: string) => createTabMemory(page).isAnotherRequest(id)
  assert.deepEqual(['sess_1', 'sess_1', 'sess_2', 'sess_2', 'sess_1', 'sess_1'].map(shows), [
    false,
    false,
    true,
    true,
    true,
    true,
  ])
  assert.deepEqual([...stored.keys()], ['bonded-request'])
  const blocked = {
    get sessionStorage(): never {
      throw new Error('blocked')
    },
  }
  assert.equal(createTabMemory(blocked).isAnotherRequest('sess_1'), false)
})

test('a pause ends or is canceled, and a later one cancels it', async () => {
  const pause = createPause()
  pause.end()
  pause.cancel()
  const first = pause()
  const second = pause()
  await assert.rejects(first, { name: 'PhoneError', code: 'cancelled' })
  pause.end()
  await second
  const third = pause()
  pause.cancel()
  await assert.rejects(third, { code: 'cancelled' })
})

test('a request under way serves one request of its address, for 200 seconds', async (context) => {
  context.mock.timers.enable({ apis: ['Date'], now: 5_000 })
  const sent: unknown[] = []
  const network = createRequestsAhead(async (url, request) => {
    sent.push([url, request])
    return 'sent' as unknown as Response
  })
  const ahead = Promise.resolve('ahead' as unknown as Response)
  const request = { method: 'POST' }
  network.expect('/a', ahead)
  assert.equal(await network.fetch('/b', request), 'sent')
  assert.equal(await network.fetch('/a', request), 'ahead')
  assert.equal(await network.fetch('/a', request), 'sent')
  assert.deepEqual(sent, [
    ['/b', request],
    ['/a', request],
  ])
  for (const [ms, response] of [
    [199_999, 'ahead'],
    [200_000, 'sent'],
  ] as const) {
    network.expect('/a', ahead)
    context.mock.timers.tick(ms)
    assert.equal(await network.fetch('/a', request), response, String(ms))
  }
})

test('a step-up needs motion, another confirmation, or the app', () => {
  const step = (required: readonly string[], hasCarried = false) =>
    stepFor(required, { attemptsLeft: 2, hasCarried })
  const motion = { kind: 'motion', attemptsLeft: 2 }
  const verify = { kind: 'verify', attemptsLeft: 2 }
  assert.deepEqual(step(['local_auth']), verify)
  assert.deepEqual(step([]), verify)
  assert.deepEqual(step(['sensor_continuity']), motion)
  assert.deepEqual(step(['local_auth', 'band:high']), motion)
  assert.deepEqual(step(['band:medium']), motion)
  assert.deepEqual(step(['sensor_continuity'], true), motion)
  for (const [required, hasCarried, reason] of [
    [['passport_chip'], false, 'passport_chip'],
    [['local_auth', 'carrier'], false, 'carrier'],
    [['carrier', 'passport_chip'], false, 'passport_chip'],
    [['local_auth', 'band:high'], true, 'band:high'],
  ] as const)
    assert.throws(() => step(required, hasCarried), { code: 'step_up_unsupported', reason })
})

test('waits before each signature, and tells a synced key from one of this phone', async () => {
  for (const [flags, isSynced] of [
    [0x05, false],
    [0x0d, true],
    [0x08, true],
    [0xf7, false],
  ] as const) {
    const authenticatorData = new Uint8Array(37).fill(0xff)
    authenticatorData[32] = flags
    const seen: unknown[] = []
    const observed = observeSigner(
      {
        rpId: 'bond.example',
        assert: async (...given: unknown[]) => {
          seen.push(given)
          return { authenticatorData }
        },
      } as never,
      {
        beforeSigning: async () => {
          await Promise.resolve()
          seen.push('before')
        },
        onSigned: (key) => void seen.push(key),
      },
    )
    assert.equal(observed.rpId, 'bond.example')
    const challenge = Uint8Array.of(1)
    const signed = await observed.assert(challenge, { key_id: 'a' })
    assert.equal(signed.authenticatorData, authenticatorData)
    assert.deepEqual(seen, ['before', [challenge, { key_id: 'a' }], { isSynced }])
  }
})

test('reads only the session of its own address', () => {
  const link = `https://bond.example/bond?session_id=sess_${'0'.repeat(22)}&nonce=${'A'.repeat(43)}`
  const found = handoffIn({ href: link })
  assert.equal(found?.session_id, `sess_${'0'.repeat(22)}`)
  assert.equal(found.nonce, 'A'.repeat(43))
  assert.equal(handoffIn({ href: 'https://bond.example/bond' }), undefined)
})

test('has 40 languages besides English, each with a file that it loads in order', async () => {
  assert.deepEqual(
    [...LANGUAGES].toSorted().join(' '),
    'ar bg cs da de el es et fa fi fr ga he hi hr hu is it ja ko lt lv mt nl no pl pt ro sk sl sq sr sv th tr uk ur vi zh-Hans',
  )
  for (const [wanted, chosen] of [
    [['de-AT', 'en'], 'de'],
    [['xx', 'fr-CA', 'de'], 'fr'],
    [['en-GB', 'de'], 'en'],
    [[], 'en'],
    [['xx'], 'en'],
    [['zh-CN'], 'zh-Hans'],
  ] as const)
    assert.equal(chooseLanguage(wanted), chosen, wanted.join())
})

test('loads the words of the first language, or stays in English', async (context) => {
  const words = { 'page.title': 'A', 'desktop.title': 'B' } as unknown as typeof en
  const calls: unknown[] = []
  const limits: number[] = []
  let respond = async (): Promise<object> => ({ ok: true, json: async () => ['Eins', 'Zwei'] })
  context.mock.method(AbortSignal, 'timeout', (ms: number) => {
    limits.push(ms)
    return 'signal'
  })
  context.mock.method(globalThis, 'fetch', async (url: string, init: object) => {
    calls.push([url, init])
    return respond()
  })
  const navigator = { languages: ['he', 'de'] }
  Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true })
  Object.assign(globalThis, { BONDED_WORDS_PATH: '/words/1' })
  const named = { 'page.title': 'Eins', 'desktop.title': 'Zwei' }
  assert.deepEqual(await loadLanguage(words, 'inbox-'), {
    tag: 'he',
    dir: 'rtl',
    messages: named,
  })
  assert.deepEqual(calls.pop(), ['/words/1/inbox-he.json', { signal: 'signal', redirect: 'error' }])
  navigator.languages = ['de']
  assert.deepEqual(await loadLanguage(words), { tag: 'de', dir: 'ltr', messages: named })
  assert.deepEqual(calls.pop(), ['/words/1/de.json', { signal: 'signal', redirect: 'error' }])
  assert.deepEqual(limits, [4_000, 4_000])
  const english = { tag: 'en', dir: 'ltr', messages: words }
  respond = async () => ({ ok: false, json: async () => ['Eins', 'Zwei'] })
  assert.deepEqual(await loadLanguage(words), english)
  respond = () => Promise.reject(new TypeError('no network'))
  assert.deepEqual(await loadLanguage(words), english)
  calls.length = 0
  navigator.languages = ['en-US', 'de']
  assert.deepEqual(await loadLanguage(words), english)
  assert.deepEqual(calls, [])
})

/** A window with motion sensors, on a clock of the test. */
function moving(context: import('node:test').TestContext, motionEvent: unknown) {
  let now = 1_000
  context.mock.method(performance, 'now', () => now)
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const listeners = new Map<string, (event: object) => void>()
  const page = {
    DeviceMotionEvent: motionEvent,
    addEventListener: (type: string, listener: (event: object) => void) =>
      listeners.set(type, listener),
  } as unknown as Parameters<typeof createMotionRecorder>[0]
  const recorder = createMotionRecorder(page)
  const pass = (ms: number) => {
    now += ms
    context.mock.timers.tick(ms)
  }
  const read = (members: object = {}) =>
    listeners.get('devicemotion')?.({
      accelerationIncludingGravity: { x: 1, y: 2, z: 9 },
      rotationRate: { alpha: 90, beta: 0, gamma: 0 },
      ...members,
    })
  return { recorder, pass, read, touch: () => listeners.get('pointerdown')?.({}) }
}

test('says how the motion sensors are available', async (context) => {
  const { recorder, pass, read } = moving(context, {})
  await recorder.checked
  assert.equal(recorder.access(), 'recording')
  pass(3_000)
  assert.equal(recorder.access(), 'recording')
  pass(1)
  assert.equal(recorder.access(), 'unavailable')
  assert.deepEqual(recorder.signals(), { sensor_continuity_missing: 'missing' })
  read({ rotationRate: null })
  read({ accelerationIncludingGravity: { x: 1, y: null, z: 1 } })
  assert.equal(recorder.access(), 'unavailable', 'a reading without all axes is none')
  read()
  assert.equal(recorder.access(), 'recording')
  assert.deepEqual(recorder.signals(), { sensor_continuity_missing: 'too_short' })
})

test('asks for the sensors once a tap permits it', async (context) => {
  let respond = (): Promise<string> => Promise.reject(new Error('no tap'))
  const requestPermission = () => respond()
  const { recorder } = moving(context, { requestPermission })
  await recorder.checked
  assert.equal(recorder.access(), 'needs_permission')
  assert.deepEqual(recorder.signals(), { sensor_continuity_missing: 'denied' })
  respond = async () => 'denied'
  await recorder.requestAccess()
  assert.equal(recorder.access(), 'denied')
  assert.deepEqual(recorder.signals(), { sensor_continuity_missing: 'denied' })
  respond = async () => 'granted'
  await recorder.requestAccess()
  assert.equal(recorder.access(), 'denied', 'a user who has denied is not asked again')
})

test('records seven seconds, and reports the touches of each', async (context) => {
  const { recorder, pass, read, touch } = moving(context, {})
  for (let reading = 0; reading < 7 * 60; reading++) {
    pass(16)
    read({ accelerationIncludingGravity: { x: 1, y: 2, z: reading === 0 ? 12 : 9 } })
    if (reading === 200) touch()
  }
  assert.equal(recorder.seconds(), 6)
  const { sensor_continuity, sensor_continuity_missing } = recorder.signals()
  assert.equal(sensor_continuity_missing, 'too_short')
  assert.equal(
    sensor_continuity?.features.reduce((sum, { handling }) => sum + handling, 0),
    1,
  )
  let isDone = false
  const waits: string[] = []
  const done = recorder.complete(() => waits.push('wait')).then(() => (isDone = true))
  pass(4_900)
  await turns()
  assert.equal(isDone, false)
  pass(100)
  await turns()
  assert.equal(isDone, true, 'it waits five seconds at most')
  await done
  await recorder.complete(() => waits.push('wait again'))
  assert.deepEqual(waits, ['wait'])
  recorder.restart()
  assert.equal(recorder.seconds(), 0)
})

test('fetches the evidence ahead once for a session, with its signals', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] })
  const stored = new Map<string, string>()
  let [seconds, access, score] = [6, 'recording', 1]
  const fetched: unknown[] = []
  const claimed = (id: string) => ({ session: { id } }) as unknown as ClaimedSession
  const signals = { sensor_continuity: { window_ms: 7_000, features: [] } }
  const evidenceOf = () => ({ evidence: { sensor_continuity: { continuity_score: score } } })
  const create = () =>
    createEvidenceAhead({
      phone: {
        fetchEvidence: async ({ session }: ClaimedSession, given: { signals: PhoneSignals }) => {
          fetched.push([session.id, given.signals.sensor_continuity])
          return evidenceOf()
        },
      } as never,
      motion: {
        access: () => access as 'recording',
        seconds: () => seconds,
        signals: () => signals,
      },
      page: {
        localStorage: {
          getItem: (name: string) => stored.get(name) ?? null,
          setItem: (name: string, value: string) => void stored.set(name, value),
        },
      } as never,
    })
  const first = create()
  first.start(claimed('sess_1'))
  context.mock.timers.tick(100)
  await turns()
  assert.deepEqual(fetched, [], 'six seconds are not enough')
  seconds = 7
  context.mock.timers.tick(100)
  await turns()
  assert.deepEqual(fetched, [['sess_1', signals.sensor_continuity]])
  const taken = await first.take()
  assert.deepEqual(taken?.evidence, evidenceOf())
  assert.equal(taken.sensor_continuity, signals.sensor_continuity)
  assert.equal(await first.take(), undefined, 'it serves one approval')

  const again = create()
  again.start(claimed('sess_1'))
  assert.equal(await again.take(), undefined, 'another tab has fetched it')
  assert.equal(fetched.length, 1)

  score = 0
  again.start(claimed('sess_2'))
  assert.equal(await again.take(), undefined, 'later signals could prove more')

  seconds = 0
  for (const [without, count] of [
    ['denied', 3],
    ['needs_permission', 4],
    ['unavailable', 4],
  ] as const) {
    access = without
    again.start(claimed(`sess_${without}`))
    await turns()
    assert.equal(fetched.length, count, without)
  }
  const pending = again.take()
  context.mock.timers.tick(100)
  assert.equal(await pending, undefined)
  assert.equal(fetched.length, 4, 'an approval ends the wait')
})

test('a browser claims no verification of its own', () => {
  const { local_auth, ...others } = signalsOf({
    signals: () => ({ sensor_continuity_missing: 'missing' }),
  })
  assert.deepEqual([local_auth.result, local_auth.method], ['failed', 'none'])
  assert.deepEqual(others, { sensor_continuity_missing: 'missing' })
})
