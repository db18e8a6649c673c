import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Workflow } from '@bonded/contract'
import { browserMissing } from '../../../tests/browser.ts'
import { press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 600_000 }
const WORKFLOWS: readonly Partial<Workflow>[] = [
  {},
  { name: 'agent', actions: ['pay'], delivery: 'inbox' },
]

test(
  'the inbox asks why the user declines, and until the answer nothing is declined',
  browserTest,
  async () => {
    await using sandbox = await Sandbox.start({ workflows: WORKFLOWS })
    const { page, context, open } = await sandbox.phone({}, { locale: 'en' })
    const first = await sandbox.create()
    await open(first)
    await press(page, 'Approve')
    await screen(page, 'approved')
    const { subject_ref } = await sandbox.stateOf(first)
    const field = page.getByRole('textbox', { name: 'Why do you decline?' })
    /** Creates a request, and opens it. */
    const openRequest = async () => {
      sandbox.advance(6 * 60_000)
      const display = [{ label: 'Pay an invoice', value: '€12,500.00' }]
      const given = { workflow: 'agent', action: 'pay', subject_ref, context: { display } }
      const session = await sandbox.create(given)
      await reopen()
      return session
    }
    const reopen = async () => {
      await page.goto(`${sandbox.origin}/inbox`)
      await press(page, 'Open')
      await page.locator('.item').click()
      await screen(page, 'request')
    }
    const noteOf = async (session: { id: string }) => {
      const { ended_reason, decline_note } = await sandbox.stateOf({ id: session.id })
      return [ended_reason, decline_note]
    }

    const wrong = await openRequest()
    await press(page, 'Decline')
    await screen(page, 'note')
    await page.getByText('Harbour Bank and the program that asked will read this.').waitFor()
    await page.getByText('0/200').waitFor()
    await press(page, 'Back')
    await screen(page, 'request')
    await press(page, 'Decline')
    // A user who leaves the page here has approved nothing, and finds the request again.
    await reopen()
    assert.equal((await sandbox.stateOf(wrong)).state, 'pending')
    await press(page, 'Decline')
    await field.pressSequentially('x'.repeat(201))
    await page.getByText('200/200').waitFor()
    await context.setOffline(true)
    await press(page, 'Decline')
    await page.getByRole('alert').filter({ hasText: 'No connection' }).waitFor()
    await context.setOffline(false)
    await page.getByRole('alert').waitFor({ state: 'detached' })
    await press(page, 'Decline')
    await field.fill('The invoice is of  8 March,\nnot of 3 August.\u200b ')
    await press(page, 'Decline')
    await page.getByRole('heading', { name: 'Declined' }).waitFor()
    assert.deepEqual(await noteOf(wrong), [
      'user_declined',
      'The invoice is of 8 March, not of 3 August.\ufffd',
    ])

    const silent = await openRequest()
    await press(page, 'Decline')
    await press(page, 'Decline')
    await page.getByRole('heading', { name: 'Declined' }).waitFor()
    assert.deepEqual(await noteOf(silent), ['user_declined', null])

    const unknown = await openRequest()
    await press(page, 'This wasn’t me')
    await screen(page, 'ended')
    assert.deepEqual(await noteOf(unknown), ['user_unexpected', null])
  },
)
