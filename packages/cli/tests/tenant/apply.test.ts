import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PRESETS } from '@bonded/contract'
import { parse, stringify } from 'yaml'
import {
  applyTenant,
  planTenant,
  type WantedTenant,
} from '../../../core/src/operations/admin/apply-tenant.ts'
import { listKeys } from '../../../core/src/operations/admin/keys.ts'
import { listTenants } from '../../../core/src/operations/admin/tenants.ts'
import type { Service } from '../../../core/src/operations/service.ts'
import { type Harness, harness, PUBLIC_ORIGIN } from '../../../../tests/harness/harness.ts'
import { readTenants, writeTenant } from '../../src/tenant/tenant-document.ts'

const SERVICE = { publicOrigin: PUBLIC_ORIGIN }
/** Every member that a document can have. */
const FULL = `tenants:
  - name: Harbour Bank
    environment: production
    demo: false
    workerBaseUrl: ${PUBLIC_ORIGIN}
    scriptUrl: ${PUBLIC_ORIGIN}/v1/pulse.js
    sessionEndpoint: https://bank.example/bond-session
    publishableKey: pk_beta_${'a'.repeat(22)}
    serverCredential: production
    allowedOrigins: [https://bank.example]
    workflows:
      - name: credit_application
        actions: [submit_application]
        passport: optional
        require: [local_auth]
    limits: { create: 60/20 }
    retention: { receipts: 3650, audit: 730 }
    suspended: false
`
const read = (text: string): readonly WantedTenant[] => {
  const { tenants, problems } = readTenants(text, SERVICE)
  assert.deepEqual(problems, [])
  return tenants
}
async function apply({ service }: Harness, text: string) {
  const applied = []
  for (const tenant of read(text)) applied.push(await applyTenant(service, tenant))
  return applied
}
async function exported(service: Service): Promise<string> {
  const tenants = []
  for (const tenant of await listTenants(service))
    tenants.push(
      writeTenant(tenant, {
        ...SERVICE,
        keys: await listKeys(service, tenant.id),
        now: Date.now(),
      }),
    )
  return stringify({ tenants })
}

test('creates a tenant with every member, and applied again changes nothing', async () => {
  await using h = await harness()
  const [created] = await apply(h, FULL)
  assert.ok(created)
  assert.equal(created.isNew, true)
  assert.match(created.serverCredential ?? '', /^sk_beta_/)
  const session = await h.api('POST', '/sessions', { token: created.serverCredential, body: {} })
  assert.equal(session.status, 201)
  const before = await exported(h.service)
  const [again] = await apply(h, FULL)
  assert.deepEqual([again?.isNew, again?.differences], [false, []])
  assert.equal(again?.serverCredential, undefined)
  assert.equal(await exported(h.service), before)
})

test('exports what it reads, and an empty database becomes the same', async () => {
  await using h = await harness()
  await apply(h, FULL)
  const text = await exported(h.service)
  for (const { differences } of await apply(h, text)) assert.deepEqual(differences, [])
  await using other = await harness()
  const written: { tenantId: string; name: string; publishableKey: string }[] = parse(text).tenants
  const [bank, shop] = written.toSorted((one, two) => one.name.localeCompare(two.name))
  assert.ok(shop && bank)
  // The other one has a tenant of this name already.
  await apply(other, stringify({ tenants: [{ ...shop, name: 'Market' }, bank] }))
  const all: typeof written = parse(await exported(other.service)).tenants
  const copied = all.filter(({ name }) => name !== 'Shop')
  assert.deepEqual(
    new Set(copied.map(({ tenantId }) => tenantId)),
    new Set([shop.tenantId, bank.tenantId]),
  )
  const copy = copied.find(({ name }) => name === 'Harbour Bank')
  assert.equal(copy?.publishableKey, bank.publishableKey)
})

test('plans each difference without making it, and leaves out what the file leaves out', async () => {
  await using h = await harness()
  await apply(h, FULL)
  const changed = FULL.replace('passport: optional', 'passport: required')
    .replace('create: 60/20', 'create: 30')
    .replace('suspended: false', 'suspended: true')
  const [wanted] = read(changed)
  assert.ok(wanted)
  const plan = await planTenant(h.service, wanted)
  assert.deepEqual(plan.differences.map(({ member }) => member).toSorted(), [
    'limits',
    'suspended',
    'workflows',
  ])
  assert.deepEqual((await apply(h, FULL))[0]?.differences, [])
  await apply(h, changed)
  const [kept] = await apply(
    h,
    'tenants: [{name: Harbour Bank, environment: production, workflows: [{name: w, actions: [a]}]}]',
  )
  assert.deepEqual(
    kept?.differences.map(({ member }) => member),
    ['workflows'],
  )
  const bank = (await listTenants(h.service)).find(({ name }) => name === 'Harbour Bank')
  assert.equal(bank?.sessionEndpoint, 'https://bank.example/bond-session')
  assert.equal(typeof bank?.suspendedAt, 'number')
})

test('names each wrong member with its line, all at once', () => {
  const wrong = `tenants:
  - tenantId: ten_1
    name: "\\u202e"
    environment: production
    demo: true
    workerBaseUrl: https://other.example
    scriptUrl: https://other.example/v1/pulse.js
    sessionEndpoint: ftp://bank.example
    publishableKey: pk_live_1
    serverCredential: "?"
    allowedOrigins:
      - http://bank.example
    workflows:
      - name: a
        actions: []
    limits:
      claim: 1
      create: fast
    retention:
      cookies: 1
      audit: 364
      reasons: 1.5
    suspended: perhaps
    color: red
  - environment: test
    workflows: []
  - {}
  - {}
`
  const { tenants, problems } = readTenants(wrong, SERVICE)
  assert.deepEqual(tenants, [])
  assert.deepEqual(
    problems.map(({ line, path }) => `${line} ${path.replace('tenants.', '')}`),
    [
      '2 0.tenantId',
      '3 0.name',
      '5 0.demo',
      '6 0.workerBaseUrl',
      '7 0.scriptUrl',
      '8 0.sessionEndpoint',
      '9 0.publishableKey',
      '10 0.serverCredential',
      '12 0.allowedOrigins.0',
      '15 0.workflows.0.actions',
      '17 0.limits.claim',
      '18 0.limits.create',
      '20 0.retention.cookies',
      '21 0.retention.audit',
      '22 0.retention.reasons',
      '23 0.suspended',
      '24 0.color',
      '25 1',
      '25 1.environment',
      '26 1.workflows',
      '27 2',
      '28 3',
    ],
  )
})

test('writes a preset and the inbox of a quorum out, and rejects what contradicts it or an inbox', () => {
  const workflow = (members: string) => `tenants:
  - name: Bank
    environment: sandbox
    workflows:
      - { name: pay, actions: [invoice], ${members} }
`
  const [tenant] = read(workflow('preset: agent'))
  assert.deepEqual(tenant?.workflows, [{ name: 'pay', actions: ['invoice'], ...PRESETS.agent }])
  const [several] = read(workflow('quorum: { needed: 2 }'))
  const floor = { delivery: 'inbox', quorum: { needed: 2 } }
  assert.deepEqual(several?.workflows, [{ name: 'pay', actions: ['invoice'], ...floor }])
  for (const [members, message] of [
    ['delivery: page, quorum: { needed: 2 }', 'quorum needs delivery inbox'],
    ['preset: agent, require: []', 'the preset agent sets require'],
    ['delivery: inbox, require: [browser]', 'has no page that could prove the browser'],
    ['delivery: inbox, subject: optional', 'names its user'],
    ['delivery: inbox, challenge_ttl_seconds: 60', 'omit challenge_ttl_seconds'],
    ['webauthn: seasoned', 'webauthn seasoned needs delivery inbox'],
    ['requester: required', 'requester required needs delivery inbox'],
    ['session_ttl_seconds: 901', 'is at most 900 without delivery inbox'],
  ] as const) {
    const { problems } = readTenants(workflow(members), SERVICE)
    assert.deepEqual(
      problems.map(({ line, path }) => [line, path]),
      [[5, 'tenants.0.workflows.0']],
    )
    assert.ok(problems[0]?.message.includes(message), problems[0]?.message)
  }
})

test('rejects a file that cannot be read as YAML, names a member twice, or has an alias', () => {
  const linesOf = (text: string) => readTenants(text, SERVICE).problems.map(({ line }) => line)
  assert.deepEqual(linesOf('tenants: [\n  {'), [2, 2])
  assert.deepEqual(linesOf('tenants: []\ntenants: []\n'), [2])
  assert.deepEqual(linesOf('a: &a 1\ntenants: *a\n'), [2])
  assert.deepEqual(linesOf('').length, 1)
})

test('two that apply at once make one tenant, and neither half of another', async () => {
  await using h = await harness()
  const texts = [FULL, FULL.replaceAll('credit_application', 'transfer')]
  const settled = await Promise.allSettled(texts.map((text) => apply(h, text)))
  assert.ok(settled.some(({ status }) => status === 'fulfilled'))
  const banks = (await listTenants(h.service)).filter(({ name }) => name === 'Harbour Bank')
  assert.equal(banks.length, 1)
  assert.equal(banks[0]?.workflows.length, 1)
})

test('rejects what cannot be changed, a key of another tenant, and a name that looks alike', async () => {
  await using h = await harness()
  await apply(h, FULL)
  const rejected = (text: string) => assert.rejects(apply(h, text), { code: /invalid|conflict/ })
  await rejected(FULL.replace('environment: production', 'environment: sandbox'))
  await rejected(FULL.replace('name: Harbour Bank', 'name: Harb0ur Bank'))
  await rejected(FULL.replace('name: Harbour Bank', 'name: Quite Another'))
})
