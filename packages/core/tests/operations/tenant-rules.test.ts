import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Workflow } from '@bonded/contract'
import type { Tenant } from '../../src/domain/tenant.ts'
import { checkOrigin, checkSessionEndpoint } from '../../src/operations/admin/check-origin.ts'
import { presetProblems, writeOut } from '../../src/operations/admin/presets.ts'
import { nameProblems, similarTenant, tenantProblems } from '../../src/operations/admin/tenants.ts'
import { type TenantChange, updateTenant } from '../../src/operations/admin/update-tenant.ts'
import { TENANT_ID, tenantWith } from '../records.ts'
import { outcomeOf, serviceOver } from './stub-service.ts'

/*
 * What an operator may store of a tenant. Each rejection is written out with its place, and beside
 * what it rejects stands what it accepts.
 */
const WORKFLOW: Workflow = { name: 'wire', actions: ['send'] }

test('an origin is rejected with the one sentence that says how to write it', () => {
  const local = 'is a name of this machine: only localhost itself is possible, for a demo tenant'
  const demoOnly = 'is this machine: only a sandbox tenant that was created with --demo may use it'
  const form =
    'is not an origin. Write scheme, host and port only, as a browser sends it: https://shop.example'
  const isPrivate = "is a private address. A production tenant's pages have public ones"
  const unspecified = 'is the unspecified address, which no page has'
  const ofProduction: [string, string | undefined][] = [
    ['https://shop.example', undefined],
    ['https://shop.example:8443', undefined],
    ['https://8.8.8.8', undefined],
    ['https://[2001:4860::1]', undefined],
    ['shop.example', form],
    ['https://shop.example/', form],
    ['https://shop.example:443', form],
    ['https://Shop.example', form],
    ['https://*.shop.example', 'has a wildcard. Name each origin: they are compared exactly'],
    ['https://shop.example.', 'ends in a dot. Write the host without it'],
    ['https://a.localhost', local],
    ['https://0.0.0.0', unspecified],
    ['https://[::]', unspecified],
    ['https://localhost', demoOnly],
    ['https://127.0.0.1', demoOnly],
    ['https://127.255.255.255', demoOnly],
    ['https://[::1]', demoOnly],
    ['http://shop.example', 'is not https'],
    ['https://10.0.0.1', isPrivate],
    ['https://11.0.0.1', undefined],
    ['https://172.15.255.255', undefined],
    ['https://172.16.0.1', isPrivate],
    ['https://172.31.255.255', isPrivate],
    ['https://172.32.0.1', undefined],
    ['https://192.168.1.1', isPrivate],
    ['https://192.169.1.1', undefined],
    ['https://100.64.0.1', isPrivate],
    ['https://100.127.255.255', isPrivate],
    ['https://100.128.0.1', undefined],
    ['https://169.254.1.1', isPrivate],
    ['https://[fe80::1]', isPrivate],
    ['https://[febf::1]', isPrivate],
    ['https://[fec0::1]', isPrivate],
    ['https://[feff::1]', isPrivate],
    ['https://[fc00::1]', isPrivate],
    ['https://[fdff::1]', isPrivate],
    ['https://[fe00::1]', undefined],
    ['https://[fe7f::1]', undefined],
    ['https://[::ffff:a00:1]', isPrivate],
  ]
  for (const [origin, problem] of ofProduction)
    assert.equal(
      checkOrigin(origin, { environment: 'production', demo: false }),
      problem && `${origin} ${problem}`,
      origin,
    )
  const sandbox = { environment: 'sandbox', demo: false } as const
  assert.equal(checkOrigin('https://10.0.0.1', sandbox), undefined)
  assert.equal(checkOrigin('http://10.0.0.1', sandbox), 'http://10.0.0.1 is not https')
  assert.equal(checkOrigin('http://localhost:1', sandbox), `http://localhost:1 ${demoOnly}`)
  const demo = { environment: 'sandbox', demo: true } as const
  for (const origin of ['http://localhost:1', 'http://127.0.0.1', 'http://[::1]:2'])
    assert.equal(checkOrigin(origin, demo), undefined, origin)
  assert.equal(checkOrigin('http://a.localhost', demo), `http://a.localhost ${local}`)
})

test('a session endpoint is an address of the own backend of the tenant', async () => {
  const owner = { environment: 'production', demo: false } as const
  const check = (address: string) =>
    outcomeOf(() => checkSessionEndpoint(address, owner, { publicOrigin: 'https://bond.example' }))
  const form = 'is not an address of the form https://shop.example/bond-session'
  const parts = 'has a user name, a password or a fragment'
  const own =
    "is the service itself, which needs the server credential. Name the address on the tenant's own backend that creates a session for its page"
  const long = `https://shop.example/${'a'.repeat(2_000 - 'https://shop.example/'.length)}`
  for (const [address, problem] of [
    ['https://shop.example/bond-session?a=1', undefined],
    [long, undefined],
    [`${long}a`, form],
    ['/bond-session', form],
    ['https://shop.example', form],
    ['https://me@shop.example/', parts],
    ['https://:pw@shop.example/', parts],
    ['https://shop.example/#a', parts],
    ['https://bond.example/api', own],
  ] as const)
    assert.equal(await check(address), problem && `invalid: ${address} ${problem}`)
  assert.equal(await check('http://shop.example/a'), 'invalid: http://shop.example is not https')
})

const problemsOf = (workflow: object, of: object = {}) =>
  tenantProblems({
    ...tenantWith({ workflows: [WORKFLOW, { ...WORKFLOW, name: 'card', ...workflow }] }),
    ...of,
  }).map(({ path, message }) => `${path.join('.')}: ${message}`)

test('each problem of a tenant has its place', () => {
  assert.deepEqual(problemsOf({}), [])
  assert.deepEqual(
    problemsOf(
      { name: 'wire' },
      { demo: true, origins: ['https://shop.example', 'http://a.example'] },
    ),
    [
      'demo: Only a sandbox tenant can be a demo tenant',
      'origins.1: http://a.example is not https',
      'workflows.1.name: The tenant would have two workflows named wire',
    ],
  )
  assert.deepEqual(problemsOf({}, { workflows: [] }), [
    'workflows: A tenant needs at least one workflow',
  ])
})

test('what contradicts the way to the phone is a problem of its workflow', () => {
  const at = (problem: string) => `workflows.1: workflow card: ${problem}`
  const inbox = { delivery: 'inbox' }
  const cases: [object, string[]][] = [
    [{ session_ttl_seconds: 900 }, []],
    [{ session_ttl_seconds: 901 }, ['session_ttl_seconds is at most 900 without delivery inbox']],
    [{ delivery: 'page', webauthn: 'seasoned' }, ['webauthn seasoned needs delivery inbox']],
    [{ requester: 'required' }, ['requester required needs delivery inbox']],
    [{ quorum: { needed: 2 } }, ['quorum needs delivery inbox']],
    [
      {
        ...inbox,
        session_ttl_seconds: 86_400,
        webauthn: 'seasoned',
        requester: 'required',
        quorum: { needed: 2 },
        subject: 'required',
      },
      [],
    ],
    [
      { ...inbox, require: ['browser'] },
      ['a request in the inbox has no page that could prove the browser'],
    ],
    [{ ...inbox, subject: 'optional' }, ['a request in the inbox names its user']],
    [
      { ...inbox, challenge_ttl_seconds: 60 },
      ['the nonces of an inbox have a period of their own: omit challenge_ttl_seconds'],
    ],
    [{ require: ['browser'], subject: 'optional', challenge_ttl_seconds: 60 }, []],
  ]
  for (const [workflow, problems] of cases)
    assert.deepEqual(problemsOf(workflow), problems.map(at), JSON.stringify(workflow))
})

test('a title and a name are what a phone can show, at most 64 characters long', () => {
  const title = (language: string) =>
    `workflows.1: workflow card: the title in ${language} must have 1 to 64 visible characters, no word that mixes scripts, and no character that hides or reorders text`
  assert.deepEqual(problemsOf({ title: { en: '😀'.repeat(64) } }), [])
  assert.deepEqual(problemsOf({ title: { en: 'a'.repeat(65), de: 'ok' } }), [title('en')])
  assert.deepEqual(
    problemsOf({ title: { en: 'ok', de: '' }, action_titles: { send: { fr: 'Аmount' } } }),
    [title('de'), title('fr')],
  )
  assert.deepEqual(problemsOf({ action_titles: { 'or"der': { en: 'ok' } } }), [
    'workflows.1: workflow card has titles for "or\\"der", which is none of its actions',
  ])
  const message =
    'The name must have 1 to 64 visible characters, and none that is in no alphabet, or hides or reorders text'
  for (const name of ['Bank', '銀'.repeat(64)]) assert.deepEqual(nameProblems(name), [])
  for (const name of ['', 'a'.repeat(65), 'Ba\u202Enk', 'ʙank'])
    assert.deepEqual(nameProblems(name), [{ path: ['name'], message }])
})

test('a preset is written out, and a member beside it that it sets is a problem', () => {
  assert.deepEqual(writeOut({ ...WORKFLOW, quorum: { needed: 2 } }), {
    ...WORKFLOW,
    quorum: { needed: 2 },
    delivery: 'inbox',
  })
  assert.deepEqual(writeOut({ ...WORKFLOW, quorum: { needed: 2 }, delivery: 'page' } as never), {
    ...WORKFLOW,
    quorum: { needed: 2 },
    delivery: 'page',
  })
  assert.deepEqual(writeOut(WORKFLOW), WORKFLOW)
  assert.deepEqual(writeOut({ ...WORKFLOW, preset: 'agent' }), {
    ...WORKFLOW,
    delivery: 'inbox',
    subject: 'required',
    requester: 'required',
    webauthn: 'seasoned',
    require: ['local_auth'],
  })
  const member = (name: string) =>
    `workflow wire: the preset agent sets ${name}. Omit it, or write the preset out`
  assert.deepEqual(
    presetProblems({ ...WORKFLOW, preset: 'agent', webauthn: 'any', require: [] }).toSorted(),
    [member('require'), member('webauthn')],
  )
  assert.deepEqual(presetProblems({ ...WORKFLOW, webauthn: 'any' }), [])
})

test('a name that looks like that of another tenant is allowed by the operator only', async () => {
  const among = [tenantWith({ id: 'ten_2' as Tenant['id'], name: 'Other' }), tenantWith()]
  const similar = (name: string, allowSimilarName = false, id: string = 'ten_3') =>
    outcomeOf(() => similarTenant({ id: id as Tenant['id'], name }, { among, allowSimilarName }))
  assert.equal(await similar('Third'), null)
  assert.equal(await similar('0ther', true), 'ten_2')
  assert.equal(await similar('example-bank', false, TENANT_ID), null)
  assert.equal(
    await similar('0ther'),
    'conflict: The name looks like that of the tenant ten_2, so users could not tell the two apart. Choose another name, or add --allow-similar-name',
  )
})

const NO_CHANGE = { addOrigins: [], removeOrigins: [], addWorkflows: [], removeWorkflows: [] }

test('a change of a tenant replaces what it names, and keeps the rest', async () => {
  const before = tenantWith({
    origins: ['https://a.example', 'https://b.example'],
    workflows: [WORKFLOW, { ...WORKFLOW, name: 'card' }],
    sessionEndpoint: 'https://a.example/bond',
    retention: { sessions: 2, audit: 400 },
  })
  const update = async (change: Partial<TenantChange>, updates = true) => {
    const stored: Tenant[] = []
    let attempts = 0
    const service = serviceOver({
      tenants: {
        find: () => before,
        list: () => [before, tenantWith({ id: 'ten_2' as Tenant['id'], name: 'Other' })],
        update: (_: Tenant, after: Tenant) => {
          attempts += 1
          stored.push(after)
          return updates
        },
      },
    })
    const made = await outcomeOf(() =>
      updateTenant(service, TENANT_ID, { ...NO_CHANGE, ...change }),
    )
    return { made, after: stored[0], attempts }
  }
  const { after } = await update({
    name: 'New',
    addOrigins: ['https://c.example', 'https://b.example'],
    removeOrigins: ['https://a.example'],
    removeWorkflows: ['wire'],
    addWorkflows: [{ ...WORKFLOW, actions: ['recall'] }],
    sessionEndpoint: null,
    retention: { audit: undefined, receipts: 9 },
  })
  assert.deepEqual(after, {
    ...before,
    name: 'New',
    origins: ['https://b.example', 'https://c.example'],
    workflows: [
      { ...WORKFLOW, name: 'card' },
      { ...WORKFLOW, actions: ['recall'] },
    ],
    sessionEndpoint: undefined,
    retention: { sessions: 2, audit: undefined, receipts: 9 },
  })
  assert.deepEqual((await update({})).after, before)
  const similar = await update({ name: '0ther', allowSimilarName: true })
  assert.equal((similar.made as { similarTenantId: string }).similarTenantId, 'ten_2')
  for (const [change, problem] of [
    [
      { removeOrigins: ['https://c.example'] },
      'not_found: The tenant has no origin https://c.example',
    ],
    [{ removeWorkflows: ['order'] }, 'not_found: The tenant has no workflow order'],
    [{ addOrigins: ['http://c.example'] }, 'invalid: http://c.example is not https'],
    [{ sessionEndpoint: 'http://c.example/' }, 'invalid: http://c.example is not https'],
    [
      { retention: { sessions: 31 } },
      'invalid: sessions=31 is not a number of days from 1 to 30, which BONDED_RETENTION_BOUNDS allows',
    ],
  ] as const) {
    const { made, attempts } = await update(change)
    assert.deepEqual([made, attempts], [problem, 0])
  }
  const lost = await update({ name: 'New' }, false)
  assert.deepEqual(
    [lost.made, lost.attempts],
    ['conflict: The tenant was changed by another command at the same time: try again', 5],
  )
})
