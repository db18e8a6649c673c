import assert from 'node:assert/strict'
import { after, mock, test } from 'node:test'
import type { CreatedSession, SessionId } from '@bonded/contract'
import { localBus } from '../../../src/adapters/bus/local-bus.ts'
import { keyringOf } from '../../../src/adapters/keys/keyring.ts'
import { openPostgres } from '../../../../store/src/postgres/open-postgres.ts'
import { killSessionAsOperator } from '../../../../core/src/operations/admin/kill-session.ts'
import { MOVES } from '../../../../core/src/protocol/states.ts'
import { noMeter } from '../../../../core/src/ports/meter.ts'
import { openChannel } from '../../../../../tests/harness/channel.ts'
import { harness, ROOT_KEY, SHOP_ORIGIN } from '../../../../../tests/harness/harness.ts'
import { startProxy } from '../../../../store/tests/servers/tcp-proxy.ts'
import { settingsOf } from '../../../../store/tests/servers/test-database.ts'

const h = await harness({ onPostgres: true })
const url = new URL(h.databaseUrl ?? '')
const proxy = await startProxy(Number(url.port))
url.port = String(proxy.port)
url.hostname = '127.0.0.1'
const open = await openPostgres(settingsOf(url.href), {
  now: h.clock.now(),
  idKeys: keyringOf([ROOT_KEY]).idKeys,
})
const distant = open({ bus: localBus(), meter: noMeter })
after(async () => {
  await distant[Symbol.asyncDispose]()
  await proxy[Symbol.asyncDispose]()
  await h[Symbol.asyncDispose]()
})
const phone = await h.register()

/** Sends a kill from a node whose network delays it, by a time at which the session was live. */
async function killLate(id: SessionId): Promise<{ arrive(): Promise<boolean> }> {
  const now = h.clock.now()
  await distant.read((tables) => tables.sessions.find(id))
  proxy.stall()
  const killed = distant.write(function* ({ sessions }) {
    const session = yield* sessions.find(id)
    return session && (yield* sessions.move(session, MOVES.kill, { now }))
  })
  return {
    async arrive() {
      proxy.restore()
      return (await killed) !== undefined
    },
  }
}

const view = (session: CreatedSession, query = '') =>
  h.api('GET', `/sessions/${session.id}${query}`, {
    token: h.shop.publishable,
    headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
  })

const reasonOf = ({ body }: { body?: { error?: { reason: string } } }) => body?.error?.reason

/** Who learns that a session has expired, and from which response. */
const REPORTS: Readonly<Record<string, (session: CreatedSession) => Promise<unknown>>> = {
  'the backend that reads it': async (session) => (await h.get(session)).body.state,
  'the backend that reads its timeline': async (session) =>
    (await h.api('GET', `/sessions/${session.id}/timeline`, { token: h.shop.server })).body.state,
  'the backend that completes it': async (session) => reasonOf(await h.complete(session)),
  'the backend that ends it': async (session) => reasonOf(await h.kill(session)),
  'the page that reads it': async (session) => (await view(session)).body.state,
  'the page that opens a channel': async (session) => {
    const channel = openChannel(h.running.port, session)
    const { state } = await channel.next()
    channel.socket.terminate()
    return state
  },
  'the page that cancels it': async (session) =>
    (
      await h.api('POST', `/sessions/${session.id}/cancel`, {
        token: h.shop.publishable,
        headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
      })
    ).body.state,
  'the phone that claims it': async (session) => reasonOf(await h.claim(phone, session)),
  'the phone that declines it': async (session) => reasonOf(await h.decline(phone, session)),
  'an operator who ends it': ({ id }) =>
    killSessionAsOperator(h.service, id as SessionId).then(
      ({ state }) => state,
      (failure: Error) => /is (\w+)$/.exec(failure.message)?.[1],
    ),
}

/** What a caller reads of a session that has expired. */
const ENDED = ['expired', 'session_not_found', 'session_not_live']

for (const [who, report] of Object.entries(REPORTS))
  test(`no delayed call of another node changes a session after ${who} learned that it had expired`, async () => {
    const session = await h.create()
    h.clock.advance(1)
    const call = await killLate(session.id as SessionId)
    h.clock.advance(session.expires_in_ms)
    const learned = await report(session)
    assert.ok(ENDED.includes(String(learned)), String(learned))
    assert.equal(await call.arrive(), false)
    assert.equal((await h.get(session)).body.state, 'expired')
  })

for (const [who, report] of Object.entries(REPORTS))
  test(`the end is stored when ${who} learns it, also if the session ends during the call`, async () => {
    for (let live = 0, readings = Infinity; readings > live; live += 1) {
      const session = await h.create()
      h.clock.advance(session.expires_in_ms - 1)
      const end = h.clock.now() + 1
      readings = 0
      const clock = mock.method(h.clock, 'now', () => (readings++ < live ? end - 1 : end))
      const learned = String(await report(session).finally(() => clock.mock.restore()))
      const stored = await h.service.store.read((tables) =>
        tables.sessions.find(session.id as SessionId),
      )
      if (ENDED.includes(learned))
        assert.equal(stored?.state, 'expired', `${learned} after ${live} readings`)
      h.clock.advance(1)
    }
  })
