import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CompletionOutcome } from '@bonded/contract'
import { type FetchLike, type PhoneDevice, PhoneError } from '@bonded/phone'
import type { Harness } from '../../../tests/harness/harness.ts'
import { en } from '../src/messages.ts'
import { type App, startApp } from '../src/session/app.ts'
import type { MotionRecorder } from '../src/device/motion.ts'
import type { Screen } from '../src/session/screen.ts'
import { BrowserProofDouble } from './doubles/browser-proof.ts'
import { carried, connect, type PhoneDouble, PLATFORMS, serviceForApps } from './doubles/phone.ts'

type Named<Name extends Screen['name']> = Extract<Screen, { name: Name }>

/** The app on a phone, with what it shows. */
class AppOnPhone implements Disposable {
  readonly app: App
  readonly store: ReturnType<typeof connect>['store']
  screen: Screen = { name: 'loading' }
  /** What the app was busy with so far. */
  readonly tasks: string[] = []
  pausedMs = 0
  #changed: () => void = () => {}
  #expected: Screen | undefined

  constructor(
    h: Harness,
    device: PhoneDouble,
    motion: MotionRecorder = carried,
    through?: (fetch: FetchLike) => FetchLike,
  ) {
    const { phone, store } = connect(h, device, through)
    this.store = store
    this.app = startApp({
      phone,
      store,
      verifier: device.user,
      motion,
      prompts: en.prompts,
      pause: async (ms) => void (this.pausedMs += ms),
      show: (screen) => {
        if (screen.name === 'working') this.tasks.push(screen.task)
        this.screen = screen
        this.#changed()
      },
    })
  }

  async see<Name extends Screen['name']>(name: Name): Promise<Named<Name>> {
    while (this.screen.name !== name) {
      if (this.screen.name === 'problem' && this.screen !== this.#expected)
        assert.fail(`${name} was expected, not ${JSON.stringify(this.screen)}`)
      await new Promise<void>((resolve) => (this.#changed = resolve))
    }
    const seen = this.screen as Named<Name>
    this.#expected = seen
    // A tap never comes in the same turn of the event loop.
    await new Promise((resolve) => setImmediate(resolve))
    return seen
  }

  /** Stops following a session that has not ended. */
  [Symbol.dispose](): void {
    this.app.choose('home')
  }

  async setUp(): Promise<PhoneDevice> {
    await this.see('setup')
    this.app.choose('set_up')
    await this.see('home')
    const device = await this.store.device()
    assert.ok(device)
    return device
  }
}

const PAYMENT = {
  workflow: 'credit_application',
  context: {
    display: [{ label: 'Amount', value: '€12,500' }],
    requester: { kind: 'agent', name: 'Invoice agent' },
    text: '{\n  "amount":   12500\n}',
  },
}

for (const [os, makePhone] of Object.entries(PLATFORMS)) {
  test(`${os}: a user sets the phone up, reads a request, approves it, and sees its completion`, async () => {
    await using h = await serviceForApps()
    const device = makePhone()
    using shown = new AppOnPhone(h, device)
    const session = await h.create(PAYMENT)
    // The link opens the app before its setup. The request waits for it.
    shown.app.open(session.universal_link)
    assert.equal((await shown.see('setup')).hasRequest, true)
    shown.app.choose('set_up')
    const { request } = await shown.see('request')
    assert.deepEqual(request.display, PAYMENT.context.display)
    assert.equal(request.text, PAYMENT.context.text)
    assert.deepEqual(request.requester, { ...PAYMENT.context.requester, detail: null })
    assert.equal((await h.get(session)).body.hint, 'scanned')
    shown.app.choose('approve')
    await shown.see('approved')
    assert.deepEqual(device.user.prompts, [en.prompts.approve(request.tenant_name)])
    const { state, verification } = (await h.get(session)).body
    assert.equal(state, 'bonded')
    assert.deepEqual([verification.local_auth, verification.device_possession], ['verified', true])
    await h.complete(session)
    await shown.see('completed')
    shown.app.choose('home')
    await shown.see('home')
  })

  test(`${os}: nothing is signed for a user who does not confirm, and the request stays open`, async () => {
    await using h = await serviceForApps()
    const device = makePhone()
    using shown = new AppOnPhone(h, device)
    await shown.setUp()
    const session = await h.create(PAYMENT)
    shown.app.open(session.qr_payload)
    await shown.see('request')
    device.user.answers = ['failed']
    shown.app.choose('approve')
    await shown.see('working')
    assert.equal((await shown.see('request')).notice, 'not_verified_by_user')
    assert.equal((await h.get(session)).body.hint, 'scanned')
    shown.app.choose('approve')
    await shown.see('approved')
  })

  test(`${os}: a key that fails once keeps the request open, and signs at the next try`, async () => {
    await using h = await serviceForApps()
    const device = makePhone()
    const sign = device.signer.assert.bind(device.signer)
    using shown = new AppOnPhone(h, device)
    await shown.setUp()
    shown.app.open((await h.create(PAYMENT)).universal_link)
    await shown.see('request')
    Object.assign(device.signer, {
      assert: () => Promise.reject(new PhoneError('authenticator_unusable', { reason: 'failed' })),
    })
    shown.app.choose('approve')
    await shown.see('working')
    assert.equal((await shown.see('request')).notice, 'not_verified_by_user')
    Object.assign(device.signer, { assert: sign })
    shown.app.choose('approve')
    await shown.see('approved')
  })

  test(`${os}: after the approval, the page’s browser confirms or the user reports the request`, async () => {
    for (const end of ['confirmed', 'reported'] as const) {
      await using h = await serviceForApps()
      const proof = new BrowserProofDouble()
      using shown = new AppOnPhone(h, makePhone(), carried, proof.through)
      await shown.setUp()
      const session = await h.create(PAYMENT)
      shown.app.open(session.universal_link)
      await shown.see('request')
      shown.app.choose('approve')
      const { request } = await shown.see('awaiting_browser')
      assert.deepEqual(request.display, PAYMENT.context.display)
      shown.app.choose('approve')
      assert.equal(shown.screen.name, 'awaiting_browser', 'there is nothing to approve')
      if (end === 'confirmed') {
        await proof.confirm()
        await shown.see('approved')
        await h.complete(session)
        await shown.see('completed')
      } else {
        shown.app.choose('report')
        assert.equal((await shown.see('ended')).end, 'reported')
        assert.equal((await h.get(session)).body.ended_reason, 'user_unexpected')
      }
    }
  })

  test(`${os}: a report ends the session as unexpected, without a signature`, async () => {
    await using h = await serviceForApps()
    const device = makePhone()
    using shown = new AppOnPhone(h, device)
    await shown.setUp()
    const session = await h.create(PAYMENT)
    shown.app.open(session.universal_link)
    await shown.see('request')
    shown.app.choose('report')
    assert.equal((await shown.see('ended')).end, 'reported')
    const { state, ended_reason } = (await h.get(session)).body
    assert.deepEqual([state, ended_reason], ['killed', 'user_unexpected'])
    assert.deepEqual(device.user.prompts, [])
  })

  test(`${os}: a phone that has lost its key is set up again, with a new key`, async () => {
    await using h = await serviceForApps()
    const device = makePhone()
    using shown = new AppOnPhone(h, device)
    const first = await shown.setUp()
    device.loseKey()
    shown.app.open((await h.create(PAYMENT)).universal_link)
    await shown.see('request')
    shown.app.choose('approve')
    assert.equal((await shown.see('problem')).problem, 'phone_unknown')
    shown.app.choose('set_up_again')
    const second = await shown.setUp()
    assert.notEqual(second.key_id, first.key_id)
    const session = await h.create(PAYMENT)
    shown.app.open(session.universal_link)
    await shown.see('request')
    shown.app.choose('approve')
    await shown.see('approved')
  })

  test(`${os}: the user removes this phone after confirming it, and the app starts over`, async () => {
    await using h = await serviceForApps()
    const device = makePhone()
    using shown = new AppOnPhone(h, device)
    const { device_token } = await shown.setUp()
    shown.app.choose('phones')
    const { keys } = await shown.see('phones')
    assert.deepEqual(
      keys.map(({ own }) => own),
      [true],
    )
    const [key] = keys
    assert.ok(key)
    shown.app.select(key)
    await shown.see('removal')
    device.user.answers = ['failed']
    shown.app.choose('remove_phone')
    assert.equal((await shown.see('phones')).notice, 'not_verified_by_user')
    shown.app.select(key)
    await shown.see('removal')
    shown.app.choose('remove_phone')
    await shown.see('setup')
    assert.equal(device.items.values.size, 0)
    const listed = await h.api('GET', '/devices', { token: device_token.reveal() })
    assert.equal(listed.status, 401)
  })

  test(`${os}: the key signs a new device token`, async () => {
    await using h = await serviceForApps()
    const device = makePhone()
    const { phone, store } = connect(h, device)
    const { universal_link } = await h.create(PAYMENT)
    const claimed = await phone.claim(universal_link)
    const renewed = await phone.renewToken(claimed)
    assert.notEqual(renewed.device.device_token.reveal(), claimed.device.device_token.reveal())
    const stored = await store.device()
    assert.equal(stored?.device_token.reveal(), renewed.device.device_token.reveal())
    assert.equal((await phone.listKeys()).length, 1)
  })

  test(`${os}: a step-up asks for another confirmation, and then bonds`, async () => {
    await using h = await serviceForApps()
    const device = makePhone()
    const { phone, store } = connect(h, device)
    let motionSeconds = 0
    const screens: string[] = []
    const app = startApp({
      phone,
      store,
      verifier: device.user,
      // The phone was on a table until the step-up.
      motion: {
        ...carried,
        seconds: () => motionSeconds,
        signal: () => (motionSeconds === 0 ? undefined : carried.signal()),
      },
      prompts: en.prompts,
      show(screen) {
        if (screens.at(-1) !== screen.name) screens.push(screen.name)
        setImmediate(() => {
          if (screen.name === 'setup') app.choose('set_up')
          if (screen.name === 'request') app.choose('approve')
          if (screen.name !== 'step_up') return
          assert.equal(screen.step.kind, 'motion')
          motionSeconds = 60
          app.choose('continue_step_up')
        })
      },
    })
    const session = await h.create({ ...PAYMENT, workflow: 'strict' })
    app.open(session.universal_link)
    while (!screens.includes('approved') && !screens.includes('problem'))
      await new Promise((resolve) => setImmediate(resolve))
    assert.ok(screens.includes('step_up'), screens.join())
    assert.equal((await h.get(session)).body.state, 'bonded')
    assert.equal(device.user.prompts.length, 2)
    app.choose('home')
  })
}

for (const outcome of ['accepted', 'in_review', null] satisfies (CompletionOutcome | null)[])
  test(`repeats the outcome of the backend: ${outcome}`, async () => {
    await using h = await serviceForApps()
    using shown = new AppOnPhone(h, PLATFORMS.ios())
    await shown.setUp()
    const session = await h.create(PAYMENT)
    shown.app.open(session.universal_link)
    await shown.see('request')
    shown.app.choose('approve')
    await shown.see('approved')
    await h.complete(session, outcome === null ? {} : { 'x-bond-outcome': outcome })
    assert.equal((await shown.see('completed')).outcome, outcome)
  })

/** A phone whose recording has this many seconds at each look; the last one stays. */
function recording(...lengths: readonly number[]): MotionRecorder {
  let looks = 0
  const seconds = () => lengths[Math.min(looks++, lengths.length - 1)] ?? 0
  return { ...carried, seconds }
}
const NO_SENSORS: MotionRecorder = {
  ...carried,
  isAvailable: () => false,
  seconds: () => 0,
  signal: () => undefined,
}

for (const [what, motion, expected] of [
  ['waits for a short recording', recording(3, 4, 5, 6, 7), { pausedMs: 400, reasons: [] }],
  ['waits five seconds at most', recording(3), { pausedMs: 5_000, reasons: ['motion_too_short'] }],
  ['does not wait without sensors', NO_SENSORS, { pausedMs: 0, reasons: ['motion_missing'] }],
  ['does not wait for a full recording', carried, { pausedMs: 0, reasons: [] }],
] as const)
  test(`an approval ${what}, and reports why motion is missing`, async () => {
    await using h = await serviceForApps()
    using shown = new AppOnPhone(h, PLATFORMS.android(), motion)
    await shown.setUp()
    const session = await h.create(PAYMENT)
    shown.app.open(session.universal_link)
    await shown.see('request')
    shown.app.choose('approve')
    await shown.see('approved')
    assert.equal(shown.pausedMs, expected.pausedMs)
    assert.equal(shown.tasks.includes('checking'), expected.pausedMs > 0)
    const timeline = await h.api('GET', `/sessions/${session.id}/timeline`, {
      token: h.shop.server,
    })
    const notes: { kind: string; reason?: string }[] = timeline.body.entries
    assert.deepEqual(
      notes.filter(({ kind }) => kind === 'note').map(({ reason }) => reason),
      expected.reasons,
    )
  })

test('an app without a screen lock does not register', async () => {
  await using h = await serviceForApps()
  const device = PLATFORMS.android()
  device.user.screenLock = false
  using shown = new AppOnPhone(h, device)
  await shown.see('setup')
  shown.app.choose('set_up')
  assert.equal((await shown.see('problem')).problem, 'screen_lock_missing')
  assert.equal(await shown.store.device(), undefined)
})

test('a QR code without a session keeps the scanner open, and such a link says so', async () => {
  await using h = await serviceForApps()
  using shown = new AppOnPhone(h, PLATFORMS.ios())
  await shown.setUp()
  shown.app.choose('scan')
  await shown.see('scanner')
  shown.app.open('https://example.com/menu')
  assert.equal((await shown.see('scanner')).isUnreadable, true)
  shown.app.choose('home')
  await shown.see('home')
  shown.app.open('pulse://bond')
  assert.equal((shown.screen as Named<'problem'>).problem, 'link_incomplete')
})

test('a link of another service is not opened', async () => {
  await using h = await serviceForApps()
  using shown = new AppOnPhone(h, PLATFORMS.ios())
  await shown.setUp()
  const { universal_link } = await h.create(PAYMENT)
  shown.app.open(universal_link.replace('bond.example', 'bond.example.attacker.test'))
  assert.equal((await shown.see('problem')).problem, 'wrong_service')
})
