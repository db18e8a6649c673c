import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FORM, openHarness } from './harness.ts'

/** A browser whose session the phone has ended with the given reason. */
async function ended(h: Awaited<ReturnType<typeof openHarness>>, ended_reason: string) {
  const browser = await h.openBrowser()
  const session_id = await browser.approved()
  h.service.change(session_id, { state: 'killed', ended_reason } as never)
  return { browser, session_id }
}

test('records a report, deletes the form and ends the login when the phone did not expect it', async () => {
  await using h = await openHarness()
  const { browser, session_id } = await ended(h, 'user_unexpected')
  const response = await browser.post('/reports', {})
  assert.equal(response.status, 201)
  assert.deepEqual(await response.json(), { report: { number: 'R-000001' } })
  assert.deepEqual(
    h.events.filter(({ event }) => event === 'report').map(({ session_id: id }) => id),
    [session_id],
  )
  const again = await browser.post('/drafts', FORM)
  assert.equal(again.status, 401)
  const page = await fetch(h.bank.url, { headers: { cookie: browser.cookie } })
  assert.doesNotMatch(await page.text(), /Ada Lovelace/)
})

test('records no report on the word of a page', async () => {
  await using h = await openHarness()
  for (const reason of ['user_declined', 'killed_by_tenant']) {
    const { browser } = await ended(h, reason)
    assert.equal((await browser.post('/reports', {})).status, 404)
    assert.equal((await browser.post('/drafts', FORM)).status, 200)
  }
  const browser = await h.openBrowser()
  assert.equal((await browser.post('/reports', { session_id: 'sess_x' })).status, 404)
})

test('ends the login of an attacker that sends an application after the report', async () => {
  await using h = await openHarness()
  const { browser, session_id } = await ended(h, 'user_unexpected')
  const sent = await browser.post('/applications', { ...FORM, session_id })
  assert.equal(sent.status, 403)
  assert.equal((await browser.post('/applications', { ...FORM, session_id })).status, 401)
  assert.equal(h.bank.applications().length, 0)
  assert.equal(h.events.filter(({ event }) => event === 'report').length, 1)
})

test('records a report once, and only for a session of this login', async () => {
  await using h = await openHarness()
  const first = await ended(h, 'user_unexpected')
  const stranger = await h.openBrowser()
  await stranger.post('/drafts', FORM)
  await stranger.post('/applications', { ...FORM, session_id: first.session_id })
  assert.equal((await stranger.post('/reports', {})).status, 404)
  assert.equal((await stranger.post('/drafts', FORM)).status, 200)
})
