import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Workflow } from '@bonded/contract'
import { parseLimits } from '../../src/domain/limits.ts'
import type { Tenant } from '../../src/domain/tenant.ts'
import {
  type AppliedTenant,
  applyTenant,
  type WantedTenant,
} from '../../src/operations/admin/apply-tenant.ts'
import { CREATED_AT as NOW, TENANT_ID, tenantWith } from '../records.ts'
import { outcomeOf, serviceOver } from './stub-service.ts'

const WORKFLOW: Workflow = { name: 'wire', actions: ['send'] }

/** Applies a document to a tenant that has keys. @returns the result, and every row written */
async function apply(
  wanted: Partial<WantedTenant>,
  before: Tenant | undefined,
  keys: object[] = [],
) {
  const written: unknown[][] = []
  const write =
    (name: string) =>
    (...given: unknown[]) => {
      written.push([name, ...given])
      return true
    }
  const service = serviceOver(
    {
      tenants: {
        list: () => (before === undefined ? [] : [before]),
        find: () => before ?? tenantWith(),
        listKeys: () => keys,
        findKey: (key: string) => (key === 'pk_taken' ? { key } : undefined),
        ...Object.fromEntries(
          [
            'create',
            'update',
            'setLimits',
            'setSuspended',
            'addPublishableKey',
            'addServerCredential',
          ].map((name) => [name, write(name)]),
        ),
      },
    },
    {
      random: { id: () => new Uint8Array(16), base62: (digits: number) => 'x'.repeat(digits) },
      keys: { digest: () => new Uint8Array(32) },
    },
  )
  const { name, environment, workflows } = tenantWith()
  const result = await outcomeOf(() =>
    applyTenant(service, { name, environment, workflows, allowSimilarName: false, ...wanted }),
  )
  return { result: result as AppliedTenant, written }
}

test('a document changes each member that it names, and says from what to what', async () => {
  const before = tenantWith({
    limits: {},
    retention: { audit: 400 },
    sessionEndpoint: 'https://a.example/b',
  })
  const limits = parseLimits('get=5') ?? {}
  const { result, written } = await apply(
    {
      id: TENANT_ID,
      name: 'New',
      origins: [],
      workflows: [{ ...WORKFLOW, passport: 'optional' }],
      limits,
      retention: { audit: 500 },
      sessionEndpoint: null,
      suspended: true,
    },
    before,
  )
  assert.deepEqual(
    result.differences.map(({ member, from, to }) => [member, from, to]),
    [
      ['name', 'Example Bank', 'New'],
      ['origins', ['https://bank.example'], []],
      ['sessionEndpoint', 'https://a.example/b', null],
      ['limits', {}, { get: '5/5' }],
      ['retention', { audit: 400 }, { audit: 500 }],
      ['workflows', [{ ...WORKFLOW, passport: 'none' }], [{ ...WORKFLOW, passport: 'optional' }]],
      ['suspended', false, true],
    ],
  )
  assert.deepEqual([result.isNew, result.serverCredential], [false, undefined])
  assert.deepEqual(
    written.map(([name]) => name),
    ['update', 'setLimits', 'setSuspended'],
  )
  assert.deepEqual(written.slice(1), [
    ['setLimits', TENANT_ID, limits],
    ['setSuspended', TENANT_ID, NOW],
  ])
})

test('a document that says what is stored changes nothing, and rejects what cannot change', async () => {
  const before = tenantWith({ suspendedAt: NOW })
  const key = { kind: 'server', name: 'ci', key: 'k1', revokedAt: null }
  const same = await apply({ suspended: true, serverCredential: 'ci' }, before, [key])
  assert.deepEqual([same.result.differences, same.written], [[], []])
  const revoked = await apply({ serverCredential: 'ci' }, before, [{ ...key, revokedAt: NOW }])
  assert.deepEqual(revoked.result.differences, [
    { member: 'serverCredential', from: null, to: 'ci' },
  ])
  assert.match(revoked.result.serverCredential ?? '', /^sk_beta_/)
  assert.deepEqual((await apply({ suspended: false }, before)).written, [
    ['update', before, { ...before, limits: {}, retention: {}, sessionEndpoint: undefined }],
    ['setLimits', TENANT_ID, {}],
    ['setSuspended', TENANT_ID, null],
  ])
  for (const [wanted, problem] of [
    [
      { environment: 'sandbox' },
      `environment of ${TENANT_ID} is production, and cannot be changed`,
    ],
    [{ demo: true }, `demo of ${TENANT_ID} is false, and cannot be changed`],
    [{ publishableKey: 'pk_taken' }, 'publishableKey pk_taken is revoked, or of another tenant'],
  ] as const)
    assert.equal((await apply(wanted, before)).result, `invalid: ${problem}`)
})

test('a document of a new tenant creates it with its keys', async () => {
  const { result, written } = await apply(
    { publishableKey: 'pk_own', serverCredential: 'ci' },
    undefined,
  )
  assert.deepEqual(
    result.differences.filter(({ member }) => /key|credential/i.test(member)),
    [
      { member: 'publishableKey', from: null, to: 'pk_own' },
      { member: 'serverCredential', from: null, to: 'ci' },
    ],
  )
  assert.deepEqual([result.isNew, result.tenant.demo, result.tenant.origins], [true, false, []])
  assert.deepEqual(
    written.map(([name, row]) => [
      name,
      (row as { key?: string; name?: string }).key ?? (row as { name?: string }).name,
    ]),
    [
      ['create', 'Example Bank'],
      ['addPublishableKey', 'pk_own'],
      ['addServerCredential', 'ci'],
    ],
  )
  const unnamed = await apply({}, undefined)
  assert.deepEqual(
    unnamed.result.differences.slice(-2).map(({ to }) => to),
    ['a new one', 'a new one'],
  )
})
