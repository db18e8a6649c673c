import assert from 'node:assert/strict'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { after, test } from 'node:test'
import { setTimeout as wait } from 'node:timers/promises'
import type { CreatedSession, TenantId } from '@bonded/contract'
import type { RootKey } from '../../packages/core/src/domain/root-keys.ts'
import { revokeKey } from '../../packages/core/src/operations/admin/keys.ts'
import { rollKey } from '../../packages/core/src/operations/admin/roll-key.ts'
import {
  createEndpoint,
  rotateEndpoint,
} from '../../packages/core/src/operations/admin/webhooks.ts'
import type { WebhookMessage } from '../../packages/core/src/ports/webhooks.ts'
import { keySigner } from '../../packages/server/src/adapters/signer/key-signer.ts'
import { publicJwk } from '../../packages/server/src/adapters/signer/receipt-keys.ts'
import { newSecret } from '../../packages/server/src/adapters/webhooks/signature.ts'
import type { RunningService } from '../../packages/server/src/compose.ts'
import type { TestPhone } from '../harness/phone.ts'
import { TestClock } from '../harness/test-clock.ts'
import { exchangeWith, type Reply } from './exchange.ts'
import { Journey, load, ok, type Site } from './journeys.ts'
import { addShop, registerPhone, ROOT_KEY, run, type Shop, workFolder } from './running.ts'

/*
 * `ROTATION_SECONDS=600 ROTATION_RATE=100 npm test -- tests/pressure/key-rotations.test.ts` is the
 * long run: so many lifecycles a second for ten minutes. The usual run has no pace.
 */
const SECONDS = Number(process.env.ROTATION_SECONDS ?? 0)
const RATE = Number(process.env.ROTATION_RATE ?? 0)
/** Periods of load, one between two steps of a rotation. */
const PERIODS = 11
const LIFECYCLES_A_PERIOD = SECONDS * RATE > 0 ? Math.ceil((SECONDS * RATE) / PERIODS) : 60
const CALLERS = 16
const NEXT_KEY: RootKey = {
  id: 'k2',
  bytes: Uint8Array.from({ length: 32 }, (_, index) => 255 - index),
}
const HOUR_MS = 3_600_000
/** Maintenance makes receipts and sends webhooks while it passes. */
const TICK_MS = 2_000
const TICKS = 8

const folder = workFolder()
const clock = new TestClock()
const [first, second] = [newSigningKey(), newSigningKey()]

/** A receiver of webhooks, which verifies with one secret at a time, as a backend does. */
const receiver = { secrets: new Set<string>(), received: 0, rejected: 0 }
const webhooks = {
  send: async ({ secrets }: WebhookMessage) => {
    const isSigned = secrets.some((secret) => receiver.secrets.has(secret))
    receiver[isSigned ? 'received' : 'rejected'] += 1
    return { status: isSigned ? 204 : 401, body: '' }
  },
  newSecret,
  urlProblem: () => undefined,
}

const keys = { root: [ROOT_KEY] as readonly RootKey[], receipts: [first] as readonly SigningKey[] }
let running: RunningService = await start()
let up = Promise.resolve()
const calls = { sent: 0 }
const send = exchangeWith(() => running.port)
after(async () => {
  send[Symbol.dispose]()
  await running[Symbol.asyncDispose]()
  folder[Symbol.dispose]()
})
let shop: Shop = await addShop(running.service)
const site: Site = {
  async exchange(...call) {
    const reply = await send(...call)
    calls.sent += 1
    return reply
  },
  clock,
  get shop() {
    return shop
  },
  get port() {
    return running.port
  },
  get up() {
    return up
  },
}

interface SigningKey {
  readonly privateKey: KeyObject
  readonly jwk: ReturnType<typeof publicJwk>
}

function newSigningKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  return { privateKey, jwk: publicJwk(publicKey) }
}

/** A node with the keys as they are now. The first key of receipts signs. */
function start(): Promise<RunningService> {
  const [signing, ...retired] = keys.receipts as [SigningKey, ...SigningKey[]]
  const jwks = [signing.jwk, ...retired.map(({ jwk }) => jwk)] as const
  const receiptSigner = keySigner([jwks[0], ...jwks.slice(1)], signing.privateKey)
  return run({
    databaseFile: folder.databaseFile,
    clock,
    rootKeys: keys.root,
    rewire: (service) => ({ ...service, receiptSigner, webhooks }),
  })
}

async function restart(change: Partial<typeof keys>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  up = promise
  Object.assign(keys, change)
  await running[Symbol.asyncDispose]()
  running = await start()
  resolve()
}

/** At most `RATE` lifecycles begin in a second. */
let begun = 0
const startedAt = performance.now()
async function pace(): Promise<void> {
  if (RATE === 0) return
  const dueMs = (begun++ / RATE) * 1_000 - (performance.now() - startedAt)
  if (dueMs > 0) await wait(dueMs)
}

let users: ReturnType<typeof load>

/** A period of load, in which seconds pass. */
async function period(): Promise<void> {
  for (let tick = 0; tick < TICKS; tick++) {
    await users.more(Math.ceil(LIFECYCLES_A_PERIOD / TICKS))
    clock.advance(TICK_MS)
  }
}

/** Lets a period of a rotation end. No session is as long, so the users begin again after it. */
async function pass(hours: number, phones: readonly TestPhone[]): Promise<void> {
  await users.stop()
  clock.advance(hours * HOUR_MS)
  users = load(site, phones, pace)
}

async function bonded(): Promise<CreatedSession> {
  const journey = await new Journey(site, await registerPhone(site.exchange)).create()
  await (await (await journey.claim()).prove()).bond()
  await journey.complete()
  return journey.session
}

const call = (method: string, path: string, token: string): Promise<Reply> =>
  ok(site, () => site.exchange(method, path, { token }))

/** The key that signed the receipt of a session. */
async function keyOfReceipt({ id }: CreatedSession): Promise<string> {
  const { body } = await call('GET', `/sessions/${id}/receipt`, shop.server)
  const [header = ''] = String(body.receipt).split('.')
  return JSON.parse(Buffer.from(header, 'base64url').toString()).kid
}

test('rotates every key under load without a failed call', { timeout: 1_800_000 }, async (t) => {
  const phones = await Promise.all(
    Array.from({ length: CALLERS }, () => registerPhone(site.exchange)),
  )
  const { service } = running
  const [tenant] = await service.store.read((tables) => tables.tenants.list())
  const tenantId = tenant?.id as TenantId
  const given = { tenantId, url: 'https://hooks.example/', events: null, scheme: 'v1' } as const
  const { endpoint, verifier } = await createEndpoint(service, given)
  receiver.secrets.add(verifier)
  users = load(site, phones, pace)
  await period()

  // Webhooks: both secrets sign for 24 hours, in which the receiver changes over.
  const rotated = await rotateEndpoint(running.service, endpoint.id)
  await period()
  receiver.secrets.delete(verifier)
  receiver.secrets.add(rotated.verifier)
  await period()
  await pass(24, phones)
  await period()

  // Credentials: the portal, the backend, and the page change over in the grace period.
  const portal = await call('POST', '/webhook-portal', shop.server)
  const link = new URL(portal.body.url).hash.slice(1)
  const former = shop
  const graceMs = HOUR_MS
  const server = await rollKey(running.service, { key: former.server.slice(8, 18), graceMs })
  const publishable = await rollKey(running.service, { key: former.publishable, graceMs })
  await period()
  shop = { server: server.secret.reveal(), publishable: publishable.secret.reveal() }
  await call('GET', '/webhook-deliveries', link)
  await pass(1, phones)
  await period()
  const late = await site.exchange('GET', '/webhook-deliveries', { token: former.server })
  assert.equal(late.status, 401)
  const revoked = await rollKey(running.service, { key: server.key, graceMs })
  shop = { ...shop, server: revoked.secret.reveal() }
  // Calls that were sent with the former key end before it is revoked.
  await pass(0, phones)
  await revokeKey(running.service, server.key)

  // Keys of receipts: published, then signing, then published only.
  const before = await bonded()
  assert.equal(await keyOfReceipt(before), first.jwk.kid)
  await restart({ receipts: [first, second] })
  await period()
  await restart({ receipts: [second, first] })
  await period()
  assert.equal(await keyOfReceipt(await bonded()), second.jwk.kid)
  assert.equal(await keyOfReceipt(before), first.jwk.kid)
  const response = await fetch(`http://127.0.0.1:${running.port}/.well-known/jwks.json`)
  const { keys: published } = (await response.json()) as { keys: { kid: string }[] }
  assert.deepEqual(
    published.map(({ kid }) => kid),
    [second.jwk.kid, first.jwk.kid],
  )

  // Root keys: listed, then active, then alone. The key of session ids follows them.
  const early = await bonded()
  await restart({ root: [ROOT_KEY, NEXT_KEY] })
  await period()
  const linkOfFormerKey = await call('POST', '/webhook-portal', shop.server)
  await restart({ root: [NEXT_KEY, ROOT_KEY] })
  await call('GET', '/webhook-deliveries', new URL(linkOfFormerKey.body.url).hash.slice(1))
  await call('GET', `/sessions/${early.id}`, shop.server)
  await period()
  await pass(25, phones)
  await restart({ root: [NEXT_KEY] })
  await period()
  await users.stop()

  assert.equal(receiver.rejected, 0, 'each event had a signature that its receiver accepted')
  assert.ok(receiver.received > LIFECYCLES_A_PERIOD)
  t.diagnostic(`${calls.sent} calls, ${receiver.received} events, 0 failed`)
})
