import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import http, { type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { CreatedSession, FullSession } from '@bonded/contract'
import { serve } from '@bonded/cli/node/serve'
import { StartedParts } from '@bonded/cli/node/started-parts'
import { createTenant } from '@bonded/core/operations/admin/tenants'
import { createEndpoint } from '@bonded/core/operations/admin/webhooks'
import { readConfig } from '@bonded/server/settings/config'
import { Secret, verifyWebhook } from '@bonded/integrator'
import { createSimulatedPhone, nodeFetch } from '@bonded/simulator'
import pino from 'pino'
import { openChannel } from '../../../tests/harness/channel.ts'
import { NO_SCRIPT } from '../../../tests/harness/no-script.ts'
import { until } from '../../../tests/harness/process.ts'
import { freePorts } from '../../../tests/npm-start.ts'
import { webhookReceiver } from '../../server/tests/webhook-receiver.ts'
import { createBackend } from '../src/backend.ts'
import { advanceClock, listenForClock } from '../src/clock/clock-socket.ts'
import { SandboxClock, storedClock } from '../src/clock/sandbox-clock.ts'

const WITHIN_MS = 60_000
const MINUTE_MS = 60_000
const DAY_MS = 86_400_000

const parts = new StartedParts()
after(() => parts[Symbol.asyncDispose]())
const folder = mkdtempSync(join(tmpdir(), 'bonded-clock-'))
parts.defer(() => rmSync(folder, { recursive: true, force: true }))
const receiver = parts.use(await webhookReceiver())
const [port] = await freePorts()
const config = readConfig({
  BONDED_DATA_DIR: folder,
  BONDED_PORT: String(port),
  BONDED_WEBHOOK_HOSTS: receiver.host,
})
const clock = storedClock(folder)
const log = pino({ enabled: false })
const running = parts.use(await serve(config, log, { script: NO_SCRIPT, clock }))
parts.use(await listenForClock(folder, { clock, checkTenants: async () => {} }))
const origin = config.publicOrigin
const { tenant, serverCredential } = await createTenant(running.service, {
  name: 'Shop',
  environment: 'sandbox',
  origins: ['https://shop.example'],
  workflows: [{ name: 'pay', actions: ['send'], unattested: 'accept' }],
  demo: false,
})
const { verifier } = await createEndpoint(running.service, {
  tenantId: tenant.id,
  url: receiver.url,
  events: null,
  scheme: 'v1',
})
const backend = createBackend(origin, serverCredential.reveal())
const create = () => backend<CreatedSession>('/sessions')
const read = ({ id }: CreatedSession) => backend<FullSession>(`/sessions/${id}`, { method: 'GET' })
const received = (type: string, session: CreatedSession) =>
  until(async () => {
    await setImmediate()
    return receiver.received.find(
      ({ event }) => event.type === type && event.data.session?.id === session.id,
    )
  }, WITHIN_MS)

test('a session ends on its channel and by its webhook at once after an advance', async () => {
  const session = await create()
  const channel = openChannel(running.port, session)
  assert.equal((await channel.next()).type, 'hello')
  await received('session.created', session)
  await advanceClock(folder, 6 * MINUTE_MS)
  for (let frame = await channel.next(); ; frame = await channel.next()) {
    if (frame.type !== 'state') continue
    assert.equal(frame.state, 'expired')
    break
  }
  const { headers, body } = await received('session.expired', session)
  assert.equal((await read(session)).state, 'expired')
  // The receiver's clock is its own, so what was advanced must not reach the signature.
  const given = { headers: new Headers(headers as Record<string, string>), body }
  const secret = new Secret(verifier)
  assert.equal((await verifyWebhook({ ...given, secret })).decision, 'accept')
})

test('a bond that the backend does not complete expires after an advance', async () => {
  const session = await create()
  const phone = createSimulatedPhone({ origin })
  assert.equal((await phone.run(session.qr_payload, 'approve')).state, 'bonded')
  await advanceClock(folder, 5 * MINUTE_MS)
  await received('session.expired', session)
  assert.equal((await read(session)).state, 'expired')
})

test('a webhook that failed is sent again when its retry is due', async () => {
  const { now } = receiver.behavior
  let failed = 0
  receiver.behavior.now = (response) => {
    failed += 1
    response.writeHead(500).end()
  }
  const session = await create()
  await until(async () => (await setImmediate(), failed > 0 ? true : undefined), WITHIN_MS)
  receiver.behavior.now = now
  const before = receiver.received.length
  // The service stores the failed attempt after the response.
  await until(async () => {
    await advanceClock(folder, MINUTE_MS)
    return receiver.received.length > before ? true : undefined
  }, WITHIN_MS)
  assert.ok(
    receiver.received.slice(before).some(({ event }) => event.data.session?.id === session.id),
  )
})

test('a device token and the keys of the simulated phone follow the clock', async () => {
  const paths: string[] = []
  const fetch: typeof nodeFetch = (url, request) => {
    paths.push(new URL(url).pathname)
    return nodeFetch(url, request)
  }
  const phone = createSimulatedPhone({ origin, fetch, now: () => clock.now() })
  await phone.register()
  const isRenewal = (path: string) => path.endsWith('/token')
  const list = async () => (await (await phone.library()).listKeys()).length
  assert.equal(await list(), 1)
  assert.ok(!paths.some(isRenewal))
  for (let days = 0; days < 180; days += 30) await advanceClock(folder, 30 * DAY_MS)
  assert.equal(await list(), 1)
  assert.ok(paths.some(isRenewal), paths.join(' '))
  const session = await create()
  assert.equal((await phone.run(session.qr_payload, 'approve')).state, 'bonded')
})

test('is never set back: not by a request, and not by a restart', async () => {
  const before = await advanceClock(folder, 0)
  for (const request of ['-1', '1.5', 'x', '1e99', '9'.repeat(40), `${31 * DAY_MS}`, '{}']) {
    const socket = connect(join(folder, 'clock.sock'))
    socket.end(request)
    assert.equal(await text(socket).catch(() => ''), '', request)
  }
  assert.equal((await advanceClock(folder, 0)).ahead_ms, before.ahead_ms)
  assert.equal(storedClock(folder).aheadMs, before.ahead_ms)
  assert.equal(statSync(join(folder, 'clock.sock')).mode & 0o777, 0o600)
  const moved = new SandboxClock()
  moved.advance(-MINUTE_MS)
  assert.equal(moved.aheadMs, 0)
})

test('takes the place of a socket that a killed sandbox has left', async () => {
  const other = mkdtempSync(join(tmpdir(), 'bonded-clock-'))
  try {
    writeFileSync(join(other, 'clock.sock'), '')
    const listening = await listenForClock(other, {
      clock: new SandboxClock(),
      checkTenants: async () => {},
    })
    assert.equal((await advanceClock(other, MINUTE_MS)).ahead_ms, MINUTE_MS)
    // What cannot be stored is not promised, and the sandbox goes on.
    mkdirSync(join(other, 'clock.json.draft'))
    await assert.rejects(advanceClock(other, MINUTE_MS), /wrong type/)
    assert.equal((await advanceClock(other, 0)).ahead_ms, MINUTE_MS)
    await listening[Symbol.asyncDispose]()
    await assert.rejects(advanceClock(other, 0), /Start bonded dev/)
  } finally {
    rmSync(other, { recursive: true, force: true })
  }
})

test('a production service has neither a socket nor a route for its clock', async () => {
  const production = mkdtempSync(join(tmpdir(), 'bonded-clock-'))
  try {
    await using service = await serve(
      readConfig({
        BONDED_ENVIRONMENT: 'production',
        BONDED_PUBLIC_ORIGIN: 'https://bond.example',
        BONDED_ROOT_KEYS: `k1:${randomBytes(32).toString('base64url')}`,
        BONDED_DATA_DIR: production,
        BONDED_DRAIN_SECONDS: '0',
        BONDED_PORT: '0',
      }),
      log,
      { script: NO_SCRIPT },
    )
    // A file that was left there changes nothing either.
    writeFileSync(join(production, 'clock.json'), JSON.stringify({ ahead_ms: DAY_MS }))
    assert.ok(Math.abs(service.service.clock.now() - Date.now()) < MINUTE_MS)
    assert.ok(!existsSync(join(production, 'clock.sock')))
    await assert.rejects(advanceClock(production, MINUTE_MS), /has no clock that can be advanced/)
    for (const path of ['/clock', '/api/v1/clock', '/api/v1/clock/advance'])
      for (const method of ['GET', 'POST'])
        assert.equal((await request(service.port, method, path)).statusCode, 404)
  } finally {
    rmSync(production, { recursive: true, force: true })
  }
})

/** Without a connection that is kept: the end of the service would wait for it. */
async function request(port: number, method: string, path: string): Promise<IncomingMessage> {
  const sent = http.request({ port, host: '127.0.0.1', method, path, agent: false }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  return response.resume()
}
