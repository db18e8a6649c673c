import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Workflow } from '@bonded/contract'
import { OperatorError } from '../../../core/src/operations/admin/operator-error.ts'
import { createTenant } from '../../../core/src/operations/admin/tenants.ts'
import { updateTenant } from '../../../core/src/operations/admin/update-tenant.ts'
import { harness } from '../../../../tests/harness/harness.ts'

const NAMED: Workflow = {
  name: 'credit_application',
  actions: ['submit_application', 'withdraw'],
  title: { en: 'Loan application', de: 'Kreditantrag' },
  action_titles: { submit_application: { en: 'Submit', 'pt-BR': 'Enviar' } },
}

test('shows the phone the titles of the workflow and the action in all languages', async () => {
  await using h = await harness({ workflows: [NAMED] })
  const phone = await h.register()
  const titlesOf = async (action: string) => {
    const seen = await h.view(phone, await h.create({ action }))
    return [seen.workflow, seen.action, seen.workflow_title, seen.action_title]
  }
  assert.deepEqual(await titlesOf('submit_application'), [
    NAMED.name,
    'submit_application',
    NAMED.title,
    NAMED.action_titles?.submit_application,
  ])
  assert.deepEqual(await titlesOf('withdraw'), [NAMED.name, 'withdraw', NAMED.title, null])
})

test('shows a new title in sessions that exist, and none once the workflow is gone', async () => {
  await using h = await harness({ workflows: [NAMED] })
  const phone = await h.register()
  const session = await h.create({ action: 'withdraw' })
  const change = { addOrigins: [], removeOrigins: [], removeWorkflows: [NAMED.name] }
  const { id } = h.shop.tenant
  const { title: _, ...untitled } = NAMED
  await updateTenant(h.service, id, { ...change, addWorkflows: [untitled] })
  assert.equal((await h.view(phone, session)).workflow_title, null)
  await updateTenant(h.service, id, { ...change, addWorkflows: [{ ...NAMED, name: 'other' }] })
  const { workflow_title, action_title } = await h.view(phone, session)
  assert.deepEqual([workflow_title, action_title], [null, null])
})

test('does not sign titles', async () => {
  await using h = await harness({ workflows: [NAMED] })
  const phone = await h.register()
  const session = await h.create({ action: 'withdraw' })
  await h.claim(phone, session)
  const seen = await h.view(phone, session)
  const changed = { ...seen, workflow_title: { en: 'Something else' } }
  assert.equal((await h.attest(phone, changed)).body.state, 'bonded')
})

test('rejects a title that a phone could not show as it is', async () => {
  await using h = await harness()
  const create = (more: Partial<Workflow>) =>
    createTenant(h.service, {
      name: 'Other',
      environment: 'sandbox',
      origins: [],
      workflows: [{ name: 'w', actions: ['a'], ...more }],
      demo: false,
    })
  for (const text of ['', ' ', '\u202e00.21', 'a\nb', 'Pay\u200bPal', 'a'.repeat(65)]) {
    await assert.rejects(create({ title: { en: text } }), OperatorError, JSON.stringify(text))
    await assert.rejects(create({ action_titles: { a: { en: text } } }), OperatorError)
  }
  await assert.rejects(create({ action_titles: { b: { en: 'Title' } } }), OperatorError)
  await create({ title: { en: '\u{1f600}'.repeat(64) }, action_titles: { a: { ar: 'إرسال' } } })
})
