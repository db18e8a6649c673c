import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test, type TestContext } from 'node:test'
import pino from 'pino'
import { stringify } from 'yaml'
import { readConfig } from '../src/config.ts'
import { serveCiba } from '../src/server.ts'
import { cibaHarness, cibaSetup } from './harness.ts'
import { CLIENT, REALM, startKeycloak, USER } from './keycloak.ts'

/** A sign-in that waits for its user. */
async function asked(t: TestContext, given: { expiresIn?: number } = {}) {
  const realm = await startKeycloak(t)
  const h = await cibaHarness(t, { realm })
  const channel = `${h.issuer}/keycloak`
  const { status, authReqId, token } = await realm.ask(channel, given)
  assert.equal(status, 201)
  return {
    realm,
    h,
    channel,
    authReqId,
    token,
    /** Time passes for Keycloak, the channel, and the service. */
    pass: async (ms: number) => {
      h.pause(ms)
      h.inbox.h.clock.advance(ms)
      h.running.notices.watch()
      await h.running.keycloak?.sweep()
    },
    /** How many answers wait. */
    waiting: (): number => {
      using db = new DatabaseSync(join(h.folder, 'ciba.db'))
      const row = db.prepare("select count(*) as count from oidc where kind = 'Notice'").get()
      return Number(row?.['count'])
    },
  }
}

type Asked = Awaited<ReturnType<typeof asked>>

test('the phone shows a sign-in, and what Keycloak has not signed as a claim', async (t) => {
  const { h } = await asked(t)
  const context = await h.read()
  assert.deepEqual(context?.requester, { kind: 'service', name: 'Shop' })
  assert.deepEqual(context?.display, [
    { label: 'Sign in to', value: 'My bank' },
    { label: 'Unverified message', value: 'W4SCT' },
  ])
  assert.deepEqual(JSON.parse(context?.text ?? ''), {
    sign_in: { client: CLIENT, realm: REALM, user: USER.username },
    unsigned: { binding_message: 'W4SCT', is_consent_required: false, scope: 'openid profile' },
  })
})

const ANSWERS: readonly (readonly [string, (asked: Asked) => Promise<unknown>, string, string])[] =
  [
    ['approves', ({ h }) => h.approve(), 'SUCCEED', 'tokens'],
    ['declines', ({ h }) => h.decline(), 'UNAUTHORIZED', 'access_denied'],
    ['reports', ({ h }) => h.decline('user_unexpected'), 'CANCELLED', 'access_denied'],
  ]

for (const [answer, give, status, result] of ANSWERS)
  test(`Keycloak gets ${status} and its own bearer token when the user ${answer}`, async (t) => {
    const one = await asked(t)
    const { realm, h, authReqId, token, waiting } = one
    assert.equal(realm.poll(authReqId), 'authorization_pending')
    await give(one)
    const { path, bearer, body } = await realm.next()
    assert.equal(path, '/protocol/openid-connect/ext/ciba/auth/callback')
    assert.deepEqual([bearer, body], [token, { status }])
    await h.logged('reported an answer to Keycloak')
    assert.equal(realm.poll(authReqId), result)
    await h.restart()
    assert.deepEqual([waiting(), realm.calls.length], [0, 1])
    using db = new DatabaseSync(join(h.folder, 'ciba.db'))
    db.exec('pragma wal_checkpoint(truncate)')
    assert.equal(readFileSync(join(h.folder, 'ciba.db'), 'latin1').includes(token), false)
  })

test('Keycloak gets CANCELLED when the request expires on the phone', async (t) => {
  const { realm, authReqId, pass } = await asked(t, { expiresIn: 100_000 })
  await pass(86_400_000)
  assert.deepEqual((await realm.next()).body, { status: 'CANCELLED' })
  assert.equal(realm.poll(authReqId), 'access_denied')
})

test('the phone shows a request no more once Keycloak has ended it', async (t) => {
  const { realm, h, pass, waiting } = await asked(t)
  assert.equal(await h.waiting(), 1)
  await pass(121_000)
  assert.equal(await h.waiting(), 0)
  await h.restart()
  assert.deepEqual([waiting(), realm.calls.length], [0, 0])
})

for (const fault of [301, 403, 429])
  test(`an approval that is answered with ${fault} is reported again after 10 s`, async (t) => {
    const { realm, h, authReqId, pass } = await asked(t)
    realm.faults.push(fault)
    await h.approve()
    await realm.next()
    await h.logged('an answer was not reported to Keycloak')
    await h.restart()
    await pass(10_000)
    const { path, body } = await realm.next()
    assert.equal(path, realm.calls[0]?.path)
    assert.deepEqual(body, { status: 'SUCCEED' })
    await h.logged('reported an answer to Keycloak')
    assert.equal(realm.poll(authReqId), 'tokens')
  })

test('a block between the approval and its callback signs the user in nowhere', async (t) => {
  const { realm, h, authReqId, pass } = await asked(t)
  realm.faults.push(403)
  await h.approve()
  await h.logged('an answer was not reported to Keycloak')
  await h.restart()
  const path = `/subjects/${h.inbox.subjectRef}/block`
  assert.equal((await h.inbox.h.api('POST', path, { token: h.credential })).status, 200)
  await pass(10_000)
  await realm.next()
  assert.deepEqual((await realm.next()).body, { status: 'CANCELLED' })
  assert.equal(realm.poll(authReqId), 'access_denied')
})

// Keycloak would approve a request that was denied before.
test('an approval is not reported after a rejection whose answer was lost', async (t) => {
  const { realm, h, authReqId, pass } = await asked(t)
  realm.faults.push(403, 'lost')
  await h.approve()
  await h.logged('an answer was not reported to Keycloak')
  const { keycloak } = h.config
  const display = [{ label: 'Sign in to', value: 'Another bank' }]
  writeFileSync(h.file, stringify({ ...h.config, keycloak: { ...keycloak, display } }))
  await h.restart()
  await pass(10_000)
  await realm.next()
  assert.deepEqual((await realm.next()).body, { status: 'CANCELLED' })
  writeFileSync(h.file, stringify(h.config))
  await h.restart()
  await pass(20_000)
  assert.deepEqual((await realm.next()).body, { status: 'CANCELLED' })
  assert.equal(realm.poll(authReqId), 'access_denied')
})

// A second SUCCEED would cancel the request that the first one has approved.
for (const [what, fault, result] of [
  ['was lost', 'lost', 'tokens'],
  ['was 500, although it was handled', 'fails', 'tokens'],
  ['was 500', 500, 'authorization_pending'],
] as const)
  test(`an approval is reported once if the answer of Keycloak ${what}`, async (t) => {
    const { realm, h, authReqId, pass, waiting } = await asked(t)
    realm.faults.push(fault)
    await h.approve()
    await h.logged('Keycloak may not know of an approval')
    await h.restart()
    await pass(60_000)
    await h.restart()
    assert.deepEqual([waiting(), realm.calls.length], [0, 1])
    assert.equal(realm.poll(authReqId), result)
  })

for (const fault of ['lost', 500] as const)
  test(`a rejection is reported again if the answer was ${fault}`, async (t) => {
    const { realm, h, authReqId, pass } = await asked(t)
    realm.faults.push(fault)
    await h.decline()
    await h.logged('an answer was not reported to Keycloak')
    await h.restart()
    await pass(10_000)
    await realm.next()
    assert.deepEqual((await realm.next()).body, { status: 'UNAUTHORIZED' })
    assert.equal(realm.poll(authReqId), 'access_denied')
  })

test('another process does not repeat a callback whose process ended', async (t) => {
  const { realm, h, waiting } = await asked(t)
  realm.faults.push('hangs')
  await h.approve()
  await realm.next()
  // What a killed process leaves is the same: the approval is being executed.
  const lines: string[] = []
  const { promise, resolve } = Promise.withResolvers<void>()
  const write = (line: string) => {
    lines.push(line)
    if (line.includes('may not know')) resolve()
  }
  const config = { ...readConfig(h.file), port: 0 }
  const other = await serveCiba(config, { credential: h.credential, log: pino({}, { write }) })
  await promise
  await other[Symbol.asyncDispose]()
  assert.deepEqual([waiting(), realm.calls.length], [0, 1])
})

test('serves a realm alone, and no channel without one', async (t) => {
  const realm = await startKeycloak(t)
  const setup = await cibaSetup({ realm })
  t.after(() => setup[Symbol.asyncDispose]())
  const { types: _types, clients: _clients, keycloak, ...given } = setup.config
  const log = pino({ level: 'silent' })
  for (const [config, status] of [
    [{ ...given, keycloak }, 201],
    [{ ...setup.config, keycloak: undefined }, 404],
  ] as const) {
    writeFileSync(setup.file, stringify(config))
    await using running = await serveCiba(readConfig(setup.file), { ...setup, log })
    assert.equal((await realm.ask(`http://127.0.0.1:${running.port}/keycloak`)).status, status)
  }
})
