import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Workflow } from '@bonded/contract'
import {
  allowsOrigin,
  chooseAction,
  hasBrowserWorkflow,
  inScope,
  isRevoked,
  type Scope,
  titlesOf,
} from '../../src/domain/tenant.ts'
import { tenantWith } from '../records.ts'

const WORKFLOWS: readonly Workflow[] = [
  { name: 'wire', actions: ['send', 'recall'] },
  { name: 'card', actions: ['order'] },
]
const tenant = tenantWith({ workflows: WORKFLOWS })

/** The chosen `workflow/action`, or the reason and the parameter of the rejection. */
function choose(scope: Scope, workflow?: string, action?: string): string {
  const chosen = chooseAction(tenant, scope, { workflow, action })
  if (chosen.ok) return `${chosen.value.workflow.name}/${chosen.value.action}`
  return `${chosen.rejection.reason} (${chosen.rejection.param})`
}

test('a create call has the workflow and the action that it names', () => {
  assert.equal(choose(null, 'wire', 'recall'), 'wire/recall')
  assert.equal(choose([{ workflow: 'wire', actions: ['recall'] }], 'wire', 'recall'), 'wire/recall')
})

test('a create call that leaves one out has the only one that its credential allows', () => {
  assert.equal(choose(null, 'card'), 'card/order')
  assert.equal(choose([{ workflow: 'card', actions: null }]), 'card/order')
  assert.equal(choose([{ workflow: 'wire', actions: ['send'] }]), 'wire/send')
})

test('rejects a create call that leaves out one of several', () => {
  assert.equal(choose(null), 'workflow_required (workflow)')
  assert.equal(choose([]), 'workflow_required (workflow)')
  assert.equal(choose(null, 'wire'), 'action_required (action)')
  assert.equal(choose([{ workflow: 'wire', actions: [] }], 'wire'), 'action_required (action)')
})

test('rejects what the tenant does not have, and then what the credential does not allow', () => {
  const scope: Scope = [
    { workflow: 'card', actions: null },
    { workflow: 'wire', actions: ['send'] },
    { workflow: 'gone', actions: null },
  ]
  assert.equal(choose(scope, 'loan'), 'workflow_unknown (workflow)')
  assert.equal(choose(scope, 'gone'), 'workflow_unknown (workflow)')
  assert.equal(choose([], 'card'), 'workflow_not_enabled (workflow)')
  assert.equal(choose(scope, 'wire', 'order'), 'action_unknown (action)')
  assert.equal(choose(scope, 'wire', 'recall'), 'action_not_enabled (action)')
  for (const name of ['constructor', '__proto__', '', 'WIRE'])
    assert.equal(choose(null, name), 'workflow_unknown (workflow)', name)
})

test('a scope that names a workflow without its actions allows all of them', () => {
  const scope: Scope = [{ workflow: 'wire', actions: null }]
  assert.equal(inScope(null, 'card', 'order'), true)
  assert.equal(inScope(scope, 'wire', 'recall'), true)
  assert.equal(inScope(scope, 'card'), false)
  assert.equal(inScope([{ workflow: 'wire', actions: [] }], 'wire'), true)
  assert.equal(inScope([{ workflow: 'wire', actions: [] }], 'wire', 'send'), false)
  assert.equal(inScope([], 'wire'), false)
})

test('a key works until its revocation, and not at it', () => {
  const revoked = (revokedAt: number | null, now: number) => isRevoked({ revokedAt }, now)
  assert.deepEqual([revoked(null, 1e15), revoked(100, 99), revoked(100, 100)], [false, false, true])
  assert.deepEqual([revoked(Number.NaN, 1), revoked(100, Number.NaN)], [true, true])
})

test('an origin matches exactly', () => {
  assert.ok(allowsOrigin(tenant, 'https://bank.example'))
  for (const origin of [
    'https://bank.example/',
    'https://bank.example:443',
    'https://BANK.example',
    'http://bank.example',
    'https://www.bank.example',
    'https://bank.example.attacker.example',
    'null',
    '*',
    '',
  ])
    assert.equal(allowsOrigin(tenant, origin), false, origin)
})

test('a tenant has a workflow that requires the browser if one of them does', () => {
  const has = (...workflows: Workflow[]) => hasBrowserWorkflow({ workflows })
  const [wire, card] = WORKFLOWS as [Workflow, Workflow]
  assert.equal(has(), false)
  assert.equal(has(wire, { ...card, require: ['local_auth'] }), false)
  assert.equal(has(wire, { ...card, require: ['local_auth', 'browser'] }), true)
})

test('titles are those that the tenant has now, and null where it has none', () => {
  const titled = tenantWith({
    workflows: [
      {
        ...(WORKFLOWS[0] as Workflow),
        title: { en: 'Wire' },
        action_titles: { send: { en: 'Send' } },
      },
      WORKFLOWS[1] as Workflow,
    ],
  })
  const titles = (workflow: string, action: string) => {
    const { workflow_title, action_title } = titlesOf(titled, { workflow, action })
    return [workflow_title, action_title]
  }
  assert.deepEqual(titles('wire', 'send'), [{ en: 'Wire' }, { en: 'Send' }])
  assert.deepEqual(titles('wire', 'recall'), [{ en: 'Wire' }, null])
  assert.deepEqual(titles('card', 'order'), [null, null])
  assert.deepEqual(titles('gone', 'send'), [null, null])
  for (const name of ['constructor', '__proto__', 'toString'])
    assert.deepEqual(titles('wire', name), [{ en: 'Wire' }, null], name)
})
