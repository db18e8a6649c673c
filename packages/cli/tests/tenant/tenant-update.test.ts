import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CREATE_TENANT, machine, until } from '../../../../tests/harness/process.ts'

/**
 * A running service looks for changes of the command line every second. A busy machine takes
 * longer.
 */
const APPLIED_WITHIN_MS = 60_000

test('a running service applies new origins and workflows of a tenant', async () => {
  using m = machine()
  await using service = await m.serve()
  const tenant = m.json(...CREATE_TENANT)
  const create = async (workflow: string) => {
    const response = await fetch(`${service.origin}/api/v1/sessions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tenant.server_credential}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ workflow }),
    })
    return { status: response.status, body: (await response.json()) as Record<string, string> }
  }
  const session = (await create('w')).body
  const readFrom = async (origin: string) => {
    const { status } = await fetch(`${service.origin}/api/v1/sessions/${session.id}`, {
      headers: {
        authorization: `Bearer ${tenant.publishable_key}`,
        'x-bond-watch': session.watch_token ?? '',
        origin,
      },
    })
    return status
  }
  assert.deepEqual(
    [(await create('v')).status, await readFrom('https://b.example')],
    [400, 403],
    'neither is there before the update',
  )
  const change = ['--add-origin', 'https://b.example', '--add-workflow', 'v:x']
  await m.jsonMeanwhile('tenant', 'update', tenant.tenant_id, ...change)
  await until(
    async () => ((await create('v')).status === 201 ? true : undefined),
    APPLIED_WITHIN_MS,
  )
  await until(
    async () => ((await readFrom('https://b.example')) === 200 ? true : undefined),
    APPLIED_WITHIN_MS,
  )
  await m.jsonMeanwhile(
    'tenant',
    'update',
    tenant.tenant_id,
    '--remove-origin',
    'https://b.example',
  )
  await until(
    async () => ((await readFrom('https://b.example')) === 403 ? true : undefined),
    APPLIED_WITHIN_MS,
  )
})

test('rejects an update that removes the unknown, repeats a workflow, or leaves none', () => {
  using m = machine()
  const { tenant_id } = m.json(...CREATE_TENANT)
  const before = m.json('tenant', 'show', tenant_id)
  for (const [options, status, code] of [
    [['--remove-origin', 'https://c.example'], 3, 'not_found'],
    [['--remove-workflow', 'x'], 3, 'not_found'],
    [['--remove-workflow', 'w'], 1, 'invalid'],
    [['--add-workflow', 'w:b'], 1, 'invalid'],
    [['--add-origin', 'http://localhost:1'], 1, 'invalid'],
    [['--add-origin', 'https://c.example/path'], 1, 'invalid'],
    [[], 2, 'usage'],
  ] as const) {
    const ran = m.run('tenant', 'update', tenant_id, ...options, '--json')
    const { error } = JSON.parse(ran.stderr) as { error: { code: string } }
    assert.deepEqual([ran.status, error.code], [status, code], options.join(' '))
  }
  assert.deepEqual(m.json('tenant', 'show', tenant_id), before, 'nothing was changed')
})

test('replaces a workflow and the name, and names the keys that lose their workflow', () => {
  using m = machine()
  const { tenant_id } = m.json(...CREATE_TENANT)
  const issue = ['key', 'issue', tenant_id, '--kind', 'server', '--name', 'batch job']
  const { key } = m.json(...issue, '--workflow', 'w')
  const updated = m.json(
    ...`tenant update ${tenant_id} --name B`.split(' '),
    ...'--remove-workflow w --add-workflow v:x,y:passport=required'.split(' '),
  )
  assert.deepEqual(
    [updated.name, updated.workflows, updated.keys_without_workflow],
    ['B', [{ name: 'v', actions: ['x', 'y'], passport: 'required' }], [key]],
  )
  const renamed = m.run('tenant', 'update', tenant_id, '--name', 'C')
  assert.match(renamed.stdout, /Warning: key batch job is restricted to a workflow/)
})

test('lists each key with all that it is restricted to', () => {
  using m = machine()
  const { tenant_id } = m.json(...CREATE_TENANT)
  const issue = ['key', 'issue', tenant_id, '--kind', 'server']
  const keys = [
    [[], 'all workflows'],
    [['--workflow', 'w'], 'w'],
    [['--workflow', 'w:a'], 'w:a'],
  ] as const
  const issued = keys.map(([scope, shown]) => [m.json(...issue, ...scope).key, shown])
  const listed = m.run('key', 'list', tenant_id).stdout.split('\n')
  for (const [key, shown] of issued) {
    const row = listed.find((line) => line.includes(key))
    assert.match(row ?? '', new RegExp(` {2}${shown}(?: {2}|$)`), shown)
  }
})

test('rejects a name that looks like that of another tenant, and warns if the operator allows it', () => {
  using m = machine()
  const first = m.json(...CREATE_TENANT)
  // A Cyrillic letter.
  const create = CREATE_TENANT.map((argument) => (argument === 'A' ? '\u0410' : argument))
  assert.equal(JSON.parse(m.run(...create, '--json').stderr).error.code, 'conflict')
  assert.equal(first.similar_tenant_id, null)
  const warning = `Warning: the name looks like that of the tenant ${first.tenant_id}.`
  assert.ok(m.run(...create, '--allow-similar-name').stdout.includes(warning))
  const allowed = m.json(...create, '--allow-similar-name')
  assert.equal(allowed.similar_tenant_id, first.tenant_id)

  const update = ['tenant', 'update', allowed.tenant_id, '--name']
  assert.ok(!m.run(...update, 'Other').stdout.includes('Warning'))
  assert.equal(JSON.parse(m.run(...update, 'A', '--json').stderr).error.code, 'conflict')
  assert.ok(m.run(...update, 'A', '--allow-similar-name').stdout.includes(warning))
  const kept = m.json('tenant', 'update', allowed.tenant_id, '--add-origin', 'https://b.example')
  assert.equal(kept.similar_tenant_id, null, 'the name was not changed')
})

test('tenant show prints the configuration for the integrator, and names keys without their secrets', () => {
  using m = machine({ env: { BONDED_PUBLIC_ORIGIN: 'https://bond.example' } })
  const { tenant_id, publishable_key, server_credential } = m.json(...CREATE_TENANT)
  assert.deepEqual(m.json('tenant', 'show', tenant_id).configuration, {
    tenantId: tenant_id,
    name: 'A',
    environment: 'sandbox',
    workerBaseUrl: 'https://bond.example',
    scriptUrl: 'https://bond.example/v1/pulse.js',
    sessionEndpoint: null,
    publishableKey: publishable_key,
    serverCredential: `${server_credential.slice(0, 18)}_…`,
    allowedOrigins: ['https://a.example'],
    workflows: [{ name: 'w', actions: ['a'], passport: 'none' }],
  })
  const issue = ['key', 'issue', tenant_id, '--kind', 'server']
  const issued = m.json(...issue, '--name', 'production')
  assert.equal(m.json('tenant', 'show', tenant_id).configuration.serverCredential, 'production')
  const rolled = m.json('key', 'roll', issued.key)
  const names = (m.json('key', 'list', tenant_id) as { key: string; name: string }[])
    .filter(({ key }) => key === issued.key || key === rolled.key)
    .map(({ name }) => name)
  assert.deepEqual(names, ['production', 'production'], 'a rolled key keeps its name')
  assert.match(m.run('key', 'list', tenant_id).stdout, /production/)
  assert.equal(m.run(...issue, '--name', 'two\nlines').status, 2)
  const shown = m.run('tenant', 'show', tenant_id).stdout
  for (const member of ['scriptUrl', 'sessionEndpoint', 'allowedOrigins', 'passport=none'])
    assert.ok(shown.includes(member), member)
  assert.ok(!shown.includes(server_credential.slice(19, -6)))
})

test('sets the retention of a tenant within the bounds of the operator, and restores the service’s', () => {
  using m = machine({ env: { BONDED_RETENTION_BOUNDS: 'receipts=10-90' } })
  const { tenant_id } = m.json(...CREATE_TENANT)
  const update = (...days: string[]) =>
    m.run('tenant', 'update', tenant_id, ...days.flatMap((each) => ['--retention', each]), '--json')
  assert.equal(update('receipts=90', 'sessions=7').status, 0)
  assert.deepEqual(m.json('tenant', 'show', tenant_id).retention, { receipts: 90, sessions: 7 })
  assert.match(m.run('tenant', 'show', tenant_id).stdout, /retention +receipts=90,sessions=7/)
  assert.match(update('receipts=91').stderr, /receipts=91 is not a number of days from 10 to 90/)
  assert.equal(update('cookies=1').status, 2)
  update('sessions=default')
  assert.deepEqual(m.json('tenant', 'show', tenant_id).retention, { receipts: 90 })
})

test('stores the session endpoint of the tenant’s own backend, and rejects the service’s', () => {
  using m = machine({ env: { BONDED_PUBLIC_ORIGIN: 'https://bond.example' } })
  const endpoint = 'https://a.example/bond-session'
  const { tenant_id } = m.json(...CREATE_TENANT, '--session-endpoint', endpoint)
  const stored = () => m.json('tenant', 'show', tenant_id).configuration.sessionEndpoint
  assert.equal(stored(), endpoint)
  const update = (...flags: string[]) => m.run('tenant', 'update', tenant_id, ...flags, '--json')
  for (const wrong of [
    'https://bond.example/api/v1/sessions',
    'https://user@a.example/bond-session',
    'http://a.example/bond-session',
    '/bond-session',
    'https://127.0.0.1/bond-session',
  ])
    assert.equal(
      JSON.parse(update('--session-endpoint', wrong).stderr).error.code,
      'invalid',
      wrong,
    )
  assert.match(
    update('--session-endpoint', 'https://bond.example/api/v1/sessions').stderr,
    /is the service itself, which needs the server credential/,
  )
  assert.equal(stored(), endpoint)
  update('--session-endpoint', 'https://b.example/bond')
  assert.equal(stored(), 'https://b.example/bond')
  update('--no-session-endpoint')
  assert.equal(stored(), null)
})
