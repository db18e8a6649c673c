import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type OpenedInbox, PhoneError } from '@bonded/phone'
import { startInbox } from '../src/inbox/app.ts'
import type { Screen } from '../src/screen.ts'

const EMPTY = {
  server_time: '2026-11-28T09:00:00.000Z',
  waiting: 0,
  items: [],
  cursor: null,
  paused: [],
  push: { public_key: '', is_on: false },
} as const satisfies OpenedInbox
const UNREACHABLE = new PhoneError('unreachable')
const refused = (reason: string, status: number) => new PhoneError('refused', { reason, status })

/** An inbox whose polls the test runs, with what the service responds to each. */
async function counting({
  subscribe = async (): Promise<string> => '',
  unsubscribe = async (): Promise<void> => {},
} = {}) {
  let screen: Screen = { name: 'loading' }
  let response: Error | number = 0
  let next = () => {}
  type Given = Parameters<typeof startInbox>[0]
  const given = {
    inbox: {
      waiting: async () => {
        if (typeof response !== 'number') throw response
        return response
      },
      open: async () => EMPTY,
      push: async () => undefined,
    },
    store: { device: async () => ({}) },
    motion: { requestAccess: async () => {} },
    createEvidence: () => ({ take: async () => undefined }),
    recovery: { await() {}, hurry() {}, stop() {} },
    isVisible: () => true,
    schedule: (_: number, act: () => void) => void (next = act),
    notifications: { subscribe, unsubscribe },
    show: (shown: Screen) => void (screen = shown),
  }
  const app = startInbox(given as unknown as Given)
  const settled = () => new Promise(setImmediate)
  await settled()
  return {
    app,
    settled,
    shown: () => screen,
    notice: () => ('notice' in screen ? screen.notice : null),
    poll: async (answer: Error | number) => {
      response = answer
      next()
      await settled()
    },
  }
}

for (const name of ['inbox', 'list'])
  for (const failure of [UNREACHABLE, refused('store_unavailable', 503)])
    test(`the ${name} shows a lost connection after two polls: ${failure.reason ?? failure.code}`, async () => {
      const { app, settled, shown, notice, poll } = await counting()
      if (name === 'list') app.open()
      await settled()
      assert.equal(shown().name, name)
      await poll(failure)
      assert.equal(notice(), null)
      await poll(failure)
      assert.equal(notice(), 'connection_lost')
      await poll(0)
      assert.equal(notice(), null)
      await poll(failure)
      assert.equal(notice(), null)
    })

for (const [reason, status, problem] of [
  ['device_not_usable', 403, 'phone_not_accepted'],
  ['credential_invalid', 401, 'phone_unknown'],
] as const)
  test(`an inbox that the service rejects as ${reason} is a problem at once`, async () => {
    const { shown, poll } = await counting()
    await poll(refused(reason, status))
    const screen = shown()
    assert.equal('problem' in screen ? screen.problem : screen.name, problem)
  })

test('a closed prompt of a poll says nothing about the connection', async () => {
  const { shown, notice, poll } = await counting()
  for (let count = 0; count < 3; count++)
    await poll(new PhoneError('user_verification_failed', { reason: 'NotAllowedError' }))
  assert.deepEqual([shown().name, notice()], ['inbox', null])
})

test('a push service that refuses leaves the list, with a notice', async () => {
  const subscribe = () => Promise.reject(new DOMException('injected', 'AbortError'))
  const { app, settled, shown } = await counting({ subscribe })
  app.open()
  await settled()
  app.notify?.(EMPTY.push)
  await settled()
  const screen = shown()
  assert.equal('isBlocked' in screen ? screen.isBlocked : screen.name, true)
})

test('a browser that cannot end its subscription leaves the list, without notifications', async () => {
  const unsubscribe = () => Promise.reject(new DOMException('injected', 'AbortError'))
  const { app, settled, shown } = await counting({ unsubscribe })
  app.open()
  await settled()
  app.notify?.({ ...EMPTY.push, is_on: true })
  await settled()
  const screen = shown()
  assert.deepEqual('push' in screen ? screen.push : screen, EMPTY.push)
})
