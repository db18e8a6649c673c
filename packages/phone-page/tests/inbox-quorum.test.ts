import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedQuorum, Quorum, Workflow } from '@bonded/contract'
import type { Page } from 'playwright-core'
import { browserMissing } from '../../../tests/browser.ts'
import { press, screen } from './phone-browser.ts'
import { Sandbox } from './sandbox.ts'

const browserTest = { skip: browserMissing, timeout: 600_000 }
const RULE = '2 of 2 people must approve. You are one of them.'
const WORKFLOWS: readonly Partial<Workflow>[] = [
  {},
  {
    name: 'wire',
    actions: ['pay'],
    delivery: 'inbox',
    quorum: { needed: 2 },
    session_ttl_seconds: 86_400,
  },
]

/** Two users, each with a phone that has bonded once, and one request to both. */
async function askTwo() {
  const sandbox = await Sandbox.start({ workflows: WORKFLOWS })
  const headers = { authorization: `Bearer ${sandbox.serverCredential}` }
  const user = async () => {
    const { open, page } = await sandbox.phone()
    const first = await sandbox.create()
    await open(first)
    await press(page, 'Approve')
    await screen(page, 'approved')
    return { page, ref: (await sandbox.stateOf(first)).subject_ref }
  }
  const people = [await user(), await user()] as const
  // A request of the millisecond in which a key was made is not younger than the key.
  sandbox.advance(1)
  const created = await fetch(`${sandbox.origin}/api/v1/quorums`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': 'wire' },
    body: JSON.stringify({
      workflow: 'wire',
      action: 'pay',
      context: { display: [{ label: 'Amount', value: '€12,500.00' }] },
      subject_refs: people.map(({ ref }) => ref),
      needed: 2,
      maker_ref: null,
    }),
  })
  const asked = (await created.json()) as CreatedQuorum
  return {
    pages: [people[0].page, people[1].page] as const,
    /** The state of each session, or why it ended, in the order of the users. */
    async states() {
      const read = await fetch(`${sandbox.origin}/api/v1/quorums/${asked.quorum_id}`, { headers })
      const quorum = (await read.json()) as Quorum
      const now = asked.sessions.map(({ id }) => quorum.sessions.find((each) => each.id === id))
      return now.map((each) => each?.ended_reason ?? each?.state)
    },
    [Symbol.asyncDispose]: () => sandbox[Symbol.asyncDispose](),
  }
}

const textOf = (page: Page) => page.locator('article').innerText()

test(
  'two people read the rule and approve, one takes it back, and the phone of the other says that it is decided',
  browserTest,
  async () => {
    await using scene = await askTwo()
    const { pages } = scene
    const [ada, bob] = pages
    for (const page of pages) {
      await page.goto(new URL('/inbox', page.url()).href)
      await screen(page, 'inbox')
      await press(page, 'Open')
      await page.locator('.item').click()
      await screen(page, 'request')
      const lines = (await textOf(page)).split('\n')
      assert.equal(lines.filter((line) => line === RULE).length, 1, lines.join('\n'))
      await press(page, 'Approve')
      await screen(page, 'approved')
      // The backend does not act before others have approved, so it is not completing anything.
      assert.match(await textOf(page), new RegExp(`^Approved\\s+${RULE}\\s`))
    }
    assert.deepEqual(await scene.states(), ['bonded', 'bonded'])
    await press(ada, 'Decline')
    await ada.getByRole('heading', { name: 'Declined' }).waitFor()
    await screen(bob, 'decided')
    // Neither who has answered, nor what.
    assert.match(await textOf(bob), /^This request has ended\s+It has been decided\.\s+Back\s/)
    assert.deepEqual(await scene.states(), ['user_declined', 'decided'])
    await press(bob, 'Back')
    await screen(bob, 'list')
    assert.equal(await bob.locator('.item').count(), 0)
  },
)
