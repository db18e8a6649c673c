import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { RootKey } from '../../packages/core/src/domain/root-keys.ts'
import { newKey } from '../harness/phone.ts'
import { TestClock } from '../harness/test-clock.ts'
import type { RunningService } from '../../packages/server/src/compose.ts'
import { exchangeWith } from './exchange.ts'
import { Journey, load, type Site } from './journeys.ts'
import { addShop, registerPhone, ROOT_KEY, run, SHOP_ORIGIN, workFolder } from './running.ts'

const NEXT_KEY: RootKey = {
  id: 'k2',
  bytes: Uint8Array.from({ length: 32 }, (_, index) => 255 - index),
}
const CALLERS = 8
/** Bonds that must succeed between two steps of the rotation. */
const BONDS_A_STEP = 60
const HOUR_MS = 3_600_000

const folder = workFolder()
const clock = new TestClock()
const { databaseFile } = folder
let running: RunningService = await run({ databaseFile, clock })
const exchange = exchangeWith(() => running.port)
after(async () => {
  exchange[Symbol.dispose]()
  await running[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})
const shop = await addShop(running.service)
const backend = { token: shop.server }

/** Callers wait for the service while it restarts, as clients do. */
let up = Promise.resolve()

async function restart(rootKeys: readonly RootKey[]): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  up = promise
  await running[Symbol.asyncDispose]()
  running = await run({ databaseFile, clock, rootKeys })
  resolve()
}

const site: Site = {
  exchange,
  clock,
  shop,
  get port() {
    return running.port
  },
  get up() {
    return up
  },
}

/** Sessions left in each of their states. */
async function openSessions(): Promise<readonly (() => Promise<string>)[]> {
  const fresh = async () => new Journey(site, await registerPhone(exchange)).create()
  const [made, claimed, proved, bonded] = [
    await fresh(),
    await fresh(),
    await fresh(),
    await fresh(),
  ]
  await claimed.claim()
  await (await proved.claim()).prove()
  await (await (await bonded.claim()).prove()).bond()
  const again = async (journey: Journey) => {
    const { body } = await journey.createAgain()
    assert.deepEqual(
      [body.id, body.completion_secret, body.watch_token],
      [journey.session.id, journey.session.completion_secret, journey.session.watch_token],
    )
    return journey.watch()
  }
  return [
    async () => (await (await (await (await again(made)).claim()).prove()).bond()).complete(),
    async () => (await (await (await again(claimed)).prove()).bond()).complete(),
    async () => (await (await again(proved)).bond()).complete(),
    // Includes the replay of the assertion that bonded.
    async () => (await (await again(bonded)).bond()).complete(),
  ]
}

async function finish(open: readonly (() => Promise<string>)[]): Promise<void> {
  for (const go of open) await go()
}

test('rotates a root key in three steps under load without a failed bond, and open sessions continue', async () => {
  const phones = await Promise.all(Array.from({ length: CALLERS }, () => registerPhone(exchange)))
  let users = load(site, phones)
  await users.more(BONDS_A_STEP)
  const beforeAll = await openSessions()
  const openAcrossBoth = await openSessions()
  const { challenge } = (await exchange('POST', '/devices/challenges')).body

  // Step 1: the new key last.
  await restart([ROOT_KEY, NEXT_KEY])
  await users.more(BONDS_A_STEP)
  await finish(beforeAll)
  const betweenSteps = await openSessions()
  const proved = await (
    await (await new Journey(site, await registerPhone(exchange)).create()).claim()
  ).prove()

  // Step 2: the new key first.
  await restart([NEXT_KEY, ROOT_KEY])
  await users.more(BONDS_A_STEP)
  await finish(openAcrossBoth)
  await finish(betweenSteps)
  // Two evidence keys are active: a summary of the old one bonds, and new ones name the new.
  assert.equal(proved.evidence.kid, 'k1')
  await (await proved.bond()).complete()
  const made = await (
    await (await new Journey(site, await registerPhone(exchange)).create()).claim()
  ).prove()
  assert.equal(made.evidence.kid, 'k2')
  const registered = await exchange('POST', '/devices', {
    body: { format: 'software', challenge, public_key: newKey().public_key },
  })
  assert.equal(registered.status, 201, registered.text)
  await users.stop()
  const { subjects } = users

  // Step 3: the old key is removed, a day and an hour later.
  clock.advance(25 * HOUR_MS)
  await restart([NEXT_KEY])
  users = load(site, phones)
  await users.more(BONDS_A_STEP)
  await users.stop()
  for (const phone of phones) {
    const names = new Set([...(subjects.get(phone) ?? []), ...(users.subjects.get(phone) ?? [])])
    assert.equal(
      names.size,
      1,
      'the tenant sees one subject reference per user, whichever key derived it',
    )
  }
})

test('reads sessions as not found, without other errors, when their root key is removed too early', async () => {
  const early = new Journey(site, await registerPhone(exchange))
  await restart([ROOT_KEY, NEXT_KEY])
  await early.create()
  await restart([NEXT_KEY])
  const { session, phone } = early
  const mobile = { token: phone.device_token }
  const watching = {
    token: shop.publishable,
    headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
  }
  const replies = await Promise.all([
    exchange('GET', `/sessions/${session.id}`, backend),
    exchange('GET', `/sessions/${session.id}`, watching),
    exchange('GET', `/sessions/${session.id}?nonce=${session.nonce}`, mobile),
    exchange('DELETE', `/sessions/${session.id}`, backend),
    exchange('POST', `/sessions/${session.id}/form-completed`, {
      ...backend,
      headers: { 'x-bond-completion-secret': session.completion_secret ?? '' },
    }),
    exchange('POST', `/sessions/${session.id}/claim`, {
      ...mobile,
      body: { nonce: session.nonce, device_id: phone.device_id },
    }),
  ])
  assert.deepEqual(
    replies.map(({ status, body }) => [status, body.error.reason]),
    [...Array.from({ length: 5 }, () => [404, 'session_not_found']), [400, 'session_not_live']],
  )
})
