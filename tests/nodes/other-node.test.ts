import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, test } from 'node:test'
import { CLOSE, type SubjectId } from '@bonded/contract'
import { WebSocket } from 'ws'
import { issueKey, revokeKey } from '../../packages/core/src/operations/admin/keys.ts'
import { changeSubject } from '../../packages/core/src/operations/admin/subjects.ts'
import { TestClock } from '../harness/test-clock.ts'
import { postgresDatabase } from '../../packages/store/tests/servers/test-database.ts'
import { exchangeWith } from '../pressure/exchange.ts'
import { addShop, registerPhone, run, SHOP_ORIGIN } from '../pressure/running.ts'

const RECHECK_MS = 1_000

const clock = new TestClock()
const postgres = await postgresDatabase()
const open = () => run({ databaseFile: '', clock, postgres })
const [a, b] = [await open(), await open()]
const [atA, atB] = [exchangeWith(() => a.port), exchangeWith(() => b.port)]
after(async () => {
  for (const exchange of [atA, atB]) exchange[Symbol.dispose]()
  for (const node of [a, b]) await node[Symbol.asyncDispose]()
  await postgres.drop()
})
const shop = await addShop(a.service)
const newSession = async () =>
  (await atA('POST', '/sessions', { token: shop.server, body: { workflow: 'w', action: 'a' } }))
    .body

test('a subject that one node blocks is rejected by another node at its next call', async () => {
  const { device_id, device_token: token, subject_id } = await registerPhone(atA)
  const { id, nonce } = await newSession()
  const claim = () => atB('POST', `/sessions/${id}/claim`, { token, body: { nonce, device_id } })
  assert.equal((await claim()).status, 200)
  await changeSubject(a.service, subject_id as SubjectId, 'block')
  assert.equal((await claim()).body.error?.reason, 'device_not_usable')
})

test('a server credential that one node revokes is rejected by another node at its next call', async () => {
  const [tenant] = await a.service.store.read((tables) => tables.tenants.list())
  assert.ok(tenant)
  const { key, secret } = await issueKey(a.service, {
    tenantId: tenant.id,
    kind: 'server',
    scope: null,
  })
  const { id } = await newSession()
  const read = () => atB('GET', `/sessions/${id}`, { token: secret.reveal() })
  assert.equal((await read()).status, 200)
  await revokeKey(a.service, key)
  assert.equal((await read()).body.error?.reason, 'credential_invalid')
})

test('a publishable key that one node revokes closes the channels of its pages on another node', async () => {
  const session = await newSession()
  const channel = new WebSocket(
    `ws://127.0.0.1:${b.port}/sessions/${session.id}`,
    ['bonded.v1', `watch.${session.watch_token}`, `key.${shop.publishable}`],
    { origin: SHOP_ORIGIN },
  )
  await once(channel, 'message')
  const closed = once(channel, 'close') as Promise<[number]>
  await revokeKey(a.service, shop.publishable)
  clock.advance(RECHECK_MS)
  assert.equal((await closed)[0], CLOSE.unauthorized)
})
