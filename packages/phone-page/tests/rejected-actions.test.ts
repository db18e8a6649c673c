import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PhoneError } from '@bonded/phone'
import { type App, startApp } from '../src/app.ts'
import { StorageFailure } from '../src/device-store.ts'
import { type InboxApp, startInbox } from '../src/inbox/app.ts'
import type { ListScreen } from '../src/inbox/screen.ts'
import type { Choice, Screen } from '../src/screen.ts'
import { AWAITING, claimedIn, describe, DEVICE, key, PAUSE, PUSH, Scene } from './failing-phone.ts'

/*
 * Each action of the phone page and of the inbox, which then fails. The page explains it, and does
 * not stay busy. `failures.test.ts` has the failures of the browser.
 */

const refused = (reason: string, status: number) => new PhoneError('refused', { reason, status })

/** Failures that no action treats in a way of its own, and what the page then shows. */
const FAILURES: readonly (readonly [failure: Error, shown: RegExp])[] = [
  [refused('device_not_usable', 400), /^problem phone_not_accepted$/],
  [refused('credential_invalid', 401), /^problem phone_unknown$/],
  [refused('a_later_reason', 400), /^problem unexpected$/],
  [refused('tenant_suspended', 403), /^ended suspended$/],
  [refused('overloaded', 503), /^problem busy$/],
  [refused('internal_error', 500), /^problem busy$/],
  [new PhoneError('answer_unreadable'), /^problem unexpected$/],
  [new PhoneError('counter_exhausted'), /^problem unexpected$/],
  [new Error('a defect of the page'), /^problem unexpected$/],
  [new StorageFailure('the storage is full'), /^problem storage_unavailable$/],
  // A request that waits for the user stays on the screen.
  [new PhoneError('unreachable'), /^problem offline$|^(request|awaiting_browser) connection_lost$/],
]

/** Brings the page to the action, and returns the action. */
type Reach<Page> = (scene: Scene, start: () => Page) => Promise<() => void>

/** Makes a choice on the screen of this name, which `prepare` opens. */
function choosing(
  choice: Choice,
  on: Screen['name'],
  prepare: (scene: Scene, open: () => Promise<App>) => Promise<unknown> = (_, open) => open(),
): Reach<App> {
  return async (scene, start) => {
    let app: App | undefined
    await prepare(scene, async () => {
      app ??= start()
      await scene.settle()
      return app
    })
    await scene.settle(on)
    return () => app?.choose(choice)
  }
}

/** The list of phones, from an ended request. */
async function atKeys(open: () => Promise<App>, scene: Scene): Promise<App> {
  const app = await open()
  app.choose('decline')
  await scene.settle('ended')
  app.choose('keys')
  await scene.settle('keys')
  return app
}

const removing = (removal: { own: boolean; what: 'phone' | 'passkey' }) =>
  choosing('continue', 'removal', async (scene, open) => {
    const app = await atKeys(open, scene)
    app.remove({ key: key(removal.own), what: removal.what, also: [] })
  })

const problem = async (scene: Scene, open: () => Promise<App>) => {
  scene.failure = refused('device_not_usable', 400)
  await open()
  scene.failure = undefined
}

const withoutDevice = async (scene: Scene, open: () => Promise<App>) => {
  scene.device = undefined
  await open()
}

/** Each choice, on every screen on which it calls the service. */
const ON_PAGE: Readonly<Record<Exclude<Choice, 'close'>, Readonly<Record<string, Reach<App>>>>> = {
  set_up: { 'sets up the phone': choosing('set_up', 'setup', withoutDevice) },
  recover: {
    'looks for a passkey': choosing('recover', 'setup', withoutDevice),
  },
  approve: { approves: choosing('approve', 'request') },
  decline: {
    declines: choosing('decline', 'request'),
    'declines before the browser has confirmed': choosing(
      'decline',
      'awaiting_browser',
      async (scene, open) => {
        scene.found = claimedIn(AWAITING)
        await open()
      },
    ),
    'declines in place of a step-up': choosing('decline', 'step_up', stepUp),
    'declines in place of another passkey': choosing('decline', 'browser_key', otherPasskey),
  },
  report: { reports: choosing('report', 'request') },
  continue: {
    'steps up': choosing('continue', 'step_up', stepUp),
    'creates another passkey': choosing('continue', 'browser_key', otherPasskey),
    'replaces the key': choosing('continue', 'new_key', async (scene, open) => {
      scene.failure = refused('key_not_attested', 400)
      scene.isInvited = true
      await open()
      scene.failure = undefined
    }),
    'renews the token': choosing('continue', 'renew', async (scene, open) => {
      const opened = Promise.withResolvers<App>()
      scene.beforeClaim = async () => (await opened.promise).beforeSigning()
      opened.resolve(await open())
    }),
    'removes another phone': removing({ own: false, what: 'phone' }),
    'removes this phone': removing({ own: true, what: 'phone' }),
    'removes a passkey': removing({ own: false, what: 'passkey' }),
  },
  allow_motion: {
    'allows the sensors': choosing('allow_motion', 'motion', async (scene, open) => {
      scene.needsPermission = true
      await open()
    }),
  },
  retry: { 'tries again': choosing('retry', 'problem', problem) },
  set_up_again: { 'sets up the phone again': choosing('set_up_again', 'problem', problem) },
  keys: {
    'lists the phones': choosing('keys', 'ended', async (scene, open) => {
      const app = await open()
      app.choose('decline')
      await scene.settle()
    }),
  },
}

async function stepUp(scene: Scene, open: () => Promise<App>): Promise<void> {
  scene.beforeApproval = async ({ gather }) =>
    gather({ required: ['local_auth'], reasons: [], attempts_left: 2 })
  const app = await open()
  app.choose('approve')
}

async function otherPasskey(scene: Scene, open: () => Promise<App>): Promise<void> {
  scene.beforeApproval = async ({ onPrompt }) => onPrompt?.('browser_key')
  const app = await open()
  app.choose('approve')
}

/** The list of the inbox, with its request. */
async function opened(scene: Scene, start: () => InboxApp): Promise<[InboxApp, ListScreen]> {
  const app = start()
  await scene.settle('inbox')
  app.open()
  await scene.settle()
  assert.ok(scene.screen.name === 'list')
  return [app, scene.screen]
}

/** The request of the inbox, in a state. */
async function selected(scene: Scene, start: () => InboxApp, members = {}): Promise<InboxApp> {
  const [app, { items }] = await opened(scene, start)
  scene.found = claimedIn(members)
  const [item] = items
  assert.ok(item)
  app.select(item)
  await scene.settle()
  return app
}

const IN_INBOX: Readonly<Record<string, Reach<InboxApp>>> = {
  'opens the list': async (scene, start) => {
    const app = start()
    await scene.settle('inbox')
    return () => app.open()
  },
  'lists more requests': async (scene, start) => {
    const [app] = await opened(scene, start)
    return () => app.more()
  },
  'opens a request': async (scene, start) => {
    const [app, { items }] = await opened(scene, start)
    return () => items.forEach((item) => app.select(item))
  },
  'ends a pause': async (scene, start) => {
    const [app] = await opened(scene, start)
    return () => app.resume(PAUSE)
  },
  'turns notifications on': async (scene, start) => {
    const [app] = await opened(scene, start)
    return () => app.notify?.(PUSH)
  },
  'turns notifications off': async (scene, start) => {
    const [app] = await opened(scene, start)
    return () => app.notify?.({ ...PUSH, is_on: true })
  },
  approves: async (scene, start) => {
    const app = await selected(scene, start)
    return () => app.choose('approve')
  },
  'declines with a note': async (scene, start) => {
    const app = await selected(scene, start)
    app.choose('decline')
    await scene.settle('note')
    return () => app.decline('Not mine')
  },
  reports: async (scene, start) => {
    const app = await selected(scene, start)
    return () => app.choose('report')
  },
  'takes an approval back': async (scene, start) => {
    const app = await selected(scene, start, { state: 'bonded' })
    await scene.settle('approved')
    return () => app.choose('decline')
  },
  'looks for a passkey': async (scene, start) => {
    scene.device = undefined
    const app = start()
    await scene.settle('no_inbox')
    return () => app.choose('recover')
  },
  'sets up the phone again': async (scene, start) => {
    scene.failure = refused('device_not_usable', 400)
    const app = start()
    await scene.settle('problem')
    Object.assign(scene.dependencies.store, {
      forget: async () => Promise.reject(scene.failure ?? new Error('the test sets no failure')),
    })
    return () => app.choose('set_up_again')
  },
}

async function check<Page>(
  reach: Reach<Page>,
  start: (scene: Scene) => Page,
  [failure, shown]: (typeof FAILURES)[number],
): Promise<void> {
  const scene = new Scene()
  const act = await reach(scene, () => start(scene))
  scene.failure = failure
  const before = scene.shown
  act()
  await scene.settle()
  assert.ok(scene.shown > before, 'the action does nothing')
  assert.match(describe(scene.screen), shown)
}

const startPage = ({ dependencies }: Scene) => startApp(dependencies)
/** @param poll takes what the page does from time to time */
const startInboxPage = (
  { dependencies, inbox }: Scene,
  poll: (act: () => void) => void = () => {},
) =>
  startInbox({
    ...dependencies,
    inbox,
    createEvidence: () => dependencies.evidence,
    isVisible: () => true,
    schedule: (_, act) => {
      poll(act)
      return () => {}
    },
    notifications: { subscribe: async () => 'https://push.example', unsubscribe: async () => {} },
    showPhones() {},
  })

for (const failed of FAILURES) {
  const [{ message }] = failed
  for (const scenes of Object.values(ON_PAGE))
    for (const [action, reach] of Object.entries(scenes))
      test(`explains to a user who ${action}: ${message}`, () => check(reach, startPage, failed))
  for (const [action, reach] of Object.entries(IN_INBOX))
    test(`explains to a user of the inbox who ${action}: ${message}`, () =>
      check(reach, (scene) => startInboxPage(scene), failed))
}

for (const [failure, shown] of FAILURES)
  test(`explains why nothing opens: ${failure.message}`, async () => {
    for (const start of ['page', 'inbox'])
      for (const device of [DEVICE, undefined]) {
        const scene = new Scene()
        Object.assign(scene, { device, failure })
        if (start === 'page') startPage(scene)
        else startInboxPage(scene)
        await scene.settle()
        // An inbox without a phone calls nothing.
        const isSilent = start === 'inbox' && device === undefined
        assert.match(describe(scene.screen), isSilent ? /^no_inbox$/ : shown)
      }
  })

test('explains a rejected key also where the invitation cannot be read', async () => {
  const scene = new Scene()
  scene.failure = refused('key_not_attested', 400)
  startPage(scene)
  await scene.settle()
  assert.equal(describe(scene.screen), 'problem cannot_attest')
})

test('explains why an inbox that waits is rejected, and ignores one lost response', async () => {
  for (const [failure, ...shown] of [
    [refused('device_not_usable', 400), 'problem phone_not_accepted'],
    [refused('overloaded', 503), 'inbox null', 'inbox connection_lost'],
    [new PhoneError('unreachable'), 'inbox null', 'inbox connection_lost'],
  ] as const) {
    const scene = new Scene()
    let poll = () => {}
    startInboxPage(scene, (act) => (poll = act))
    await scene.settle('inbox')
    scene.failure = failure
    for (const expected of shown) {
      poll()
      await scene.settle()
      assert.equal(describe(scene.screen), expected, failure.message)
    }
  }
})
