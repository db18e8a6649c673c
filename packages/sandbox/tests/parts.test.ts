import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { Service } from '@bonded/core/operations/service'
import { harness, WORKFLOWS } from '../../../tests/harness/harness.ts'
import { bondedUser } from '../../../tests/harness/inbox.ts'
import { createBackend, readCredential } from '../src/backend.ts'
import { storedClock, storeClock } from '../src/clock/sandbox-clock.ts'
import { advanceClock, listenForClock, MAX_ADVANCE_MS } from '../src/clock/clock-socket.ts'
import { clockCommand } from '../src/clock/clock.ts'
import { demoTenant } from '../src/dev/demo-tenant.ts'
import { linkOf, newestCode } from '../src/dev/newest-code.ts'
import { RestartableService } from '../src/dev/restartable-service.ts'
import { detect } from '../src/init/frameworks.ts'
import { listeningSecret } from '../src/listen/listening-secret.ts'
import { openCommand } from '../src/open/open.ts'
import { readSandboxConfig, rejectProductionTenants } from '../src/sandbox-options.ts'
import { causeEvent } from '../src/trigger/cause-event.ts'

const DAY = 86_400_000

function folder(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), 'bonded-sandbox-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) }
}

test('a backend calls below its origin with its credential, and names what is rejected', async () => {
  const seen: unknown[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const { method, url, headers } = request
      const { authorization, origin, 'content-type': type } = headers
      seen.push([method, url, authorization, type, origin, Buffer.concat(chunks).toString()])
      response.statusCode = url?.endsWith('/no') ? 409 : 200
      response.end(url?.endsWith('/empty') ? '' : '{"a":1,"error":{"message":"It is not so."}}')
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const call = createBackend(origin, 'sk')
  assert.deepEqual(await call('/empty'), {})
  assert.equal((await call<{ a: number }>('/x', { method: 'GET' })).a, 1)
  await call('/y', { token: 'pk', headers: { origin: 'https://o.example' }, body: { b: 2 } })
  await assert.rejects(call('/no', { method: 'DELETE' }), {
    message: 'The service rejected /no: It is not so.',
  })
  assert.deepEqual(seen, [
    ['POST', '/api/v1/empty', 'Bearer sk', undefined, undefined, ''],
    ['GET', '/api/v1/x', 'Bearer sk', undefined, undefined, ''],
    ['POST', '/api/v1/y', 'Bearer pk', 'application/json', 'https://o.example', '{"b":2}'],
    ['DELETE', '/api/v1/no', 'Bearer sk', undefined, undefined, ''],
  ])
  server.close()
  await once(server, 'close')
  await assert.rejects(call('/x'), {
    code: 'unreachable',
    message: `The service does not answer at ${origin}`,
  })
})

test('commands of a sandbox read their credential, and reject production', async () => {
  const before = { ...process.env }
  try {
    process.env['BONDED_SERVER_CREDENTIAL'] = 'sk_1'
    assert.equal(readCredential(), 'sk_1')
    process.env['BONDED_SERVER_CREDENTIAL'] = ''
    const says = 'Set BONDED_SERVER_CREDENTIAL to a server credential of the tenant'
    assert.throws(readCredential, { code: 'invalid', message: says })
    Object.assign(process.env, {
      BONDED_ENVIRONMENT: 'production',
      BONDED_PUBLIC_ORIGIN: 'https://bond.example',
      BONDED_ROOT_KEYS: 'k1:AbCdEfGhIjKlMnOpQrStUvWxYz012345678-_aBcDeE',
    })
    assert.throws(() => readSandboxConfig('listen', {}), {
      code: 'invalid',
      message: 'bonded listen needs a sandbox. Unset BONDED_ENVIRONMENT',
    })
  } finally {
    for (const name of Object.keys(process.env)) Reflect.deleteProperty(process.env, name)
    Object.assign(process.env, before)
  }
})

test('a clock is stored for its owner, and is advanced by one command up to 30 days', async () => {
  using data = folder()
  assert.equal(storedClock(data.path).aheadMs, 0)
  storeClock(data.path, 7_000)
  assert.equal(readFileSync(join(data.path, 'clock.json'), 'utf8'), '{"ahead_ms":7000}\n')
  assert.equal(statSync(join(data.path, 'clock.json')).mode & 0o777, 0o600)
  const clock = storedClock(data.path)
  assert.equal(clock.aheadMs, 7_000)
  assert.equal(MAX_ADVANCE_MS, 30 * DAY)
  let problem: Error | undefined
  const checkTenants = async () => {
    if (problem) throw problem
  }
  const none =
    /^OperatorError: No sandbox with a clock runs on the data folder .*\. Start bonded dev; bonded serve has no clock that can be advanced$/
  await assert.rejects(advanceClock(data.path, 1), none)
  {
    await using listening = await listenForClock(data.path, { clock, checkTenants })
    assert.ok(listening)
    assert.equal(statSync(join(data.path, 'clock.sock')).mode & 0o777, 0o600)
    assert.equal((await advanceClock(data.path, 0)).ahead_ms, 7_000)
    assert.equal((await advanceClock(data.path, 30 * DAY)).ahead_ms, 7_000 + 30 * DAY)
    assert.equal(storedClock(data.path).aheadMs, 7_000 + 30 * DAY)
    for (const ms of [30 * DAY + 1, -1, 0.5])
      await assert.rejects(advanceClock(data.path, ms), none)
    problem = new Error('not here')
    await assert.rejects(advanceClock(data.path, 1), /not here/)
    assert.equal((await advanceClock(data.path, 0)).ahead_ms, 7_000 + 30 * DAY)
  }
  writeFileSync(join(data.path, 'clock.json'), 'x')
  assert.throws(() => storedClock(data.path), SyntaxError)
  const advance = clockCommand().commands.find((command) => command.name() === 'advance')
  const parse = (text: string) => advance?.registeredArguments[0]?.parseArg?.(text, undefined)
  assert.deepEqual([parse('90s'), parse('30d')], [90_000, 30 * DAY])
  assert.throws(() => parse('0'), /Expected a time such as 90s, 5m, 24h or 7d\./)
  assert.throws(() => parse('31d'), /at most 30d/)
})

test('a place to open is the demo, the portal, or a session', () => {
  const parse = (text: string) => openCommand().registeredArguments[0]?.parseArg?.(text, undefined)
  const session = `sess_${'1'.repeat(22)}`
  for (const place of ['demo', 'portal', session]) assert.equal(parse(place), place)
  for (const text of ['', 'sess_1', `ten_${'1'.repeat(22)}`])
    assert.throws(() => parse(text), /Expected demo, portal, or the id of a session \(sess_…\)\./)
})

test('the secret of a listener stays the same, and is for its owner', () => {
  using data = folder()
  const secret = listeningSecret(data.path).reveal()
  assert.match(secret, /^whsec_[\w+/]{43}=$/)
  assert.equal(listeningSecret(data.path).reveal(), secret)
  assert.equal(statSync(join(data.path, 'listen.json')).mode & 0o777, 0o600)
})

test('a framework is detected by its dependency or its program, and several are not one', () => {
  using project = folder()
  assert.deepEqual(detect(project.path), [])
  for (const [dependencies, found] of [
    [{}, []],
    [{ express: '1' }, ['express']],
    [{ fastify: '1' }, ['fastify']],
    [{ hono: '1', next: '1' }, ['hono', 'next']],
    [{ typescript: '1', django: '1' }, []],
  ] as const) {
    writeFileSync(join(project.path, 'package.json'), JSON.stringify({ dependencies }))
    assert.deepEqual(detect(project.path), found)
  }
  writeFileSync(join(project.path, 'manage.py'), '')
  assert.deepEqual(detect(project.path), ['django'])
})

test('a stopped service is started once, and changes wait for one another', async () => {
  const steps: string[] = []
  let count = 0
  const start = async () => {
    const number = ++count
    steps.push(`start ${number}`)
    return {
      service: { number } as unknown as Service,
      port: 8_000 + number,
      [Symbol.asyncDispose]: async () => void steps.push(`stop ${number}`),
    } as never
  }
  await using running = await RestartableService.start(start)
  assert.equal(running.port, 8_001)
  await Promise.all([running.stop(), running.stop(), running.restart(), running.restart()])
  assert.deepEqual(steps, ['start 1', 'stop 1', 'start 2'])
  assert.equal(running.port, 8_002)
  await running.stop()
  assert.deepEqual([running.port, running.service], [undefined, undefined])
})

test('the demo has its workflows, and keeps its tenant until they or its bank differ', async () => {
  await using h = await harness()
  using data = folder()
  const names = {
    ONE_MINUTE_WORKFLOW: 'one_minute',
    BROWSER_WORKFLOW: 'with_browser',
    CARRIED_WORKFLOW: 'carried',
    ENROLLMENT_WORKFLOW: 'enrollment',
    AGENT_WORKFLOW: 'agent',
    TWO_PEOPLE_WORKFLOW: 'two_people',
    ENROLLMENT_ACTION: 'enroll',
    AGENT_ACTION: 'transfer',
  }
  const demo = (bankOrigin = 'http://localhost:8788', more = {}) =>
    demoTenant(h.service, { dataDir: data.path, bankOrigin, names: { ...names, ...more } })
  const first = await demo()
  assert.equal(first.bank_origin, 'http://localhost:8788')
  assert.deepEqual(await demo(), first)
  assert.deepEqual(JSON.parse(readFileSync(join(data.path, 'demo.json'), 'utf8')), first)
  assert.equal(statSync(join(data.path, 'demo.json')).mode & 0o777, 0o600)
  const stored = await h.service.store.read(({ tenants }) => tenants.find(first.tenant_id))
  const { name, environment, origins, demo: isDemo, workflows } = stored ?? {}
  assert.deepEqual(
    [name, environment, origins, isDemo],
    ['Harbour Bank (demo)', 'sandbox', ['http://localhost:8788'], true],
  )
  const policy = {
    actions: ['submit_application'],
    passport: 'optional',
    require: ['local_auth'],
    unattested: 'accept',
  }
  const agent = {
    actions: ['transfer'],
    title: { en: 'Payment by your agent' },
    delivery: 'inbox',
    subject: 'required',
    requester: 'required',
    webauthn: 'any',
    require: ['local_auth'],
  }
  assert.deepEqual(workflows, [
    { name: 'credit_application', ...policy },
    { name: 'one_minute', ...policy, session_ttl_seconds: 60 },
    { name: 'with_browser', ...policy, require: ['local_auth', 'browser'] },
    { name: 'carried', ...policy, require: ['local_auth', 'sensor_continuity'] },
    { name: 'enrollment', ...policy, actions: ['enroll'], title: { en: 'Phone enrollment' } },
    { name: 'agent', ...agent },
    { name: 'two_people', ...agent, quorum: { needed: 2 } },
  ])
  const second = await demo('http://localhost:9999')
  assert.notEqual(second.tenant_id, first.tenant_id)
  const third = await demo('http://localhost:9999', { AGENT_ACTION: 'pay' })
  assert.notEqual(third.tenant_id, second.tenant_id)
})

test('the newest code is the last waiting session of the tenant that shows one', async () => {
  await using h = await harness({ workflows: [...WORKFLOWS, { name: 'page', actions: ['act'] }] })
  const other = await h.addTenant({ name: 'Other' })
  const newest = async () => (await newestCode(h.service, h.shop.tenant.id))?.session.id
  assert.equal(await newest(), undefined)
  const first = await h.create()
  h.clock.advance(1_000)
  const second = await h.create()
  h.clock.advance(1_000)
  await h.create(undefined, other)
  assert.equal(await newest(), second.id)
  const code = await newestCode(h.service, h.shop.tenant.id)
  assert.ok(code)
  const nonce = new URL(code.link).searchParams.get('nonce')
  assert.equal(code.link, `https://bond.example/bond?session_id=${second.id}&nonce=${nonce}`)
  assert.match(nonce ?? '', /^[\w-]{43}$/)
  assert.equal(linkOf(h.service, code.session), code.link)
  // A request in an inbox shows no code, and hides none.
  h.clock.advance(1_000)
  const { subjectRef } = await bondedUser(h, h.shop, await h.register())
  h.clock.advance(1_000)
  const asked = await h.api('POST', '/sessions', {
    token: h.shop.server,
    body: { workflow: 'agent', subject_ref: subjectRef },
  })
  assert.equal(asked.status, 201)
  assert.equal(await newest(), second.id)
  await h.kill(second)
  assert.equal(await newest(), first.id)
  h.clock.advance(300_000)
  assert.equal(await newest(), undefined)
})

test('a production tenant, a foreign credential and an unknown reason cause nothing', async () => {
  await using h = await harness()
  await rejectProductionTenants(h.service)
  const production = await h.addTenant({ name: 'P', environment: 'production' })
  const id = production.tenant.id
  await assert.rejects(rejectProductionTenants(h.service), {
    code: 'conflict',
    message: `The database has the production tenant ${id}, so it belongs to no sandbox. Name the database of a sandbox with BONDED_DATA_DIR or BONDED_DATABASE_URL`,
  })
  const given = {
    service: h.service,
    origin: `http://127.0.0.1:${h.running.port}`,
    credential: h.shop.server,
    pause: async () => {},
  }
  const cause = (type: string, reason?: string, more: object = {}) =>
    causeEvent({ type: type as 'session.created', reason }, { ...given, ...more })
  await assert.rejects(cause('session.created', 'any'), {
    code: 'invalid',
    message: 'session.created has no reasons',
  })
  await assert.rejects(cause('session.completed', 'other'), {
    code: 'invalid',
    message: 'session.completed has no reason other. Expected one of accepted, in_review',
  })
  await assert.rejects(cause('session.created', undefined, { credential: production.server }), {
    message: 'Events are triggered for a sandbox tenant only',
  })
  await assert.rejects(cause('session.created', undefined, { credential: 'sk_beta_1' }), {
    code: 'not_found',
    message: 'The server credential is not one of this database',
  })
  await assert.rejects(cause('session.created', undefined, { workflow: 'none' }), {
    code: 'not_found',
    message: 'The tenant has no workflow none',
  })
  for (const [type, reason, workflows, message] of [
    [
      'session.step_up_required',
      'browser',
      [{ name: 'w', actions: ['a'] }],
      'The tenant has no workflow that requires the browser, of a new phone',
    ],
    [
      'session.step_up_required',
      'step_up',
      [{ name: 'w', actions: ['a'] }],
      'The tenant has no workflow that requires a proof, such as local_auth, of a new phone',
    ],
    [
      'session.created',
      undefined,
      [{ name: 'w', actions: ['a'], subject: 'required' }],
      'A new simulated phone can meet no workflow of the tenant. Name one with --workflow',
    ],
    [
      'session.created',
      undefined,
      [{ name: 'w', actions: ['a'], min_key_age_seconds: 1 }],
      'A new simulated phone can meet no workflow of the tenant. Name one with --workflow',
    ],
    [
      'session.created',
      undefined,
      [{ name: 'w', actions: ['a'], passport: 'required' }],
      'A new simulated phone can meet no workflow of the tenant. Name one with --workflow',
    ],
  ] as const) {
    const tenant = await h.addTenant({ name: 'T', workflows: workflows as never })
    await assert.rejects(cause(type, reason, { credential: tenant.server }), {
      code: 'invalid',
      message,
    })
  }
})
