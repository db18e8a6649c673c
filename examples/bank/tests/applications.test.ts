import assert from 'node:assert/strict'
import { test } from 'node:test'
import { adviceFor, bindingDigest } from '@bonded/integrator'
import { FORM, openHarness } from './harness.ts'

const REQUEST = {
  name: 'Ada Lovelace',
  amount_eur: 12_500,
  purpose: 'home',
  term_months: 36,
  income_eur: 3_200,
}

async function rejectionOf(response: Response) {
  const { error } = (await response.json()) as {
    error: { code: string; message: string; reason?: string; fields?: Record<string, string> }
  }
  return { status: response.status, ...error }
}

test('accepts an application approved by phone, and completes its session', async () => {
  await using h = await openHarness()
  const browser = await h.openBrowser()
  const session_id = await browser.approved()
  const response = await browser.post('/applications', { ...FORM, session_id })
  assert.equal(response.status, 201)
  const { application } = (await response.json()) as { application: Record<string, string> }
  assert.deepEqual([application.number, application.status], ['L-000001', 'accepted'])
  assert.deepEqual(
    h.bank.applications().map(({ request }) => request),
    [REQUEST],
  )
  assert.equal(h.service.completions(), 1)
})

test('passes the secret of the browser on to the service, and only a text', async () => {
  await using h = await openHarness()
  const browser = await h.openBrowser()
  const browser_secret = 's'.repeat(43)
  for (const [given, sent] of [
    [browser_secret, browser_secret],
    [7, null],
    [undefined, null],
  ] as const) {
    const session_id = await browser.approved()
    await browser.post('/applications', { ...FORM, session_id, browser_secret: given })
    const read = h.service.seen.findLast(({ path }) => path.endsWith(`/sessions/${session_id}`))
    assert.equal(new Headers(read?.headers).get('x-bond-browser-secret'), sent)
  }
})

test('rejects a submit without a bond, with a sentence that names the next step', async () => {
  await using h = await openHarness()
  const browser = await h.openBrowser()
  for (const session of [{}, { session_id: '' }, { session_id: 7 }]) {
    const rejection = await rejectionOf(
      await browser.post('/applications', { ...FORM, ...session }),
    )
    assert.deepEqual(rejection, {
      status: 403,
      code: 'not_approved',
      reason: 'session_missing',
      message: adviceFor('session_missing'),
    })
  }
  assert.equal(h.bank.applications().length, 0)
})

test('shows the sentence as a page to a browser without JavaScript', async () => {
  await using h = await openHarness()
  const { cookie } = await h.openBrowser()
  const response = await fetch(`${h.bank.url}/applications`, {
    method: 'POST',
    headers: { cookie },
    body: new URLSearchParams(FORM),
  })
  assert.equal(response.status, 403)
  assert.match(response.headers.get('content-type') ?? '', /text\/html/)
  assert.ok((await response.text()).includes(adviceFor('session_missing')))
})

test('rejects a session that no phone has approved', async () => {
  await using h = await openHarness()
  const browser = await h.openBrowser()
  const session_id = await browser.approved()
  h.service.change(session_id, { state: 'pending', verification: null })
  assert.equal(
    (await rejectionOf(await browser.post('/applications', { ...FORM, session_id }))).reason,
    'session_not_bonded',
  )
})

for (const [name, change] of Object.entries({
  name: { name: 'Eve Lovelace' },
  amount: { amount: '12501' },
  purpose: { purpose: 'car' },
  term: { term: '48' },
  income: { income: '9200' },
})) {
  test(`rejects a form whose ${name} changed after the approval, and leaves the bond unused`, async () => {
    await using h = await openHarness()
    const browser = await h.openBrowser()
    const session_id = await browser.approved()
    const rejection = await rejectionOf(
      await browser.post('/applications', { ...FORM, ...change, session_id }),
    )
    assert.deepEqual([rejection.status, rejection.reason], [403, 'context_mismatch'])
    assert.equal((await browser.post('/applications', { ...FORM, session_id })).status, 201)
  })
}

test('accepts the same amount in another spelling', async () => {
  await using h = await openHarness()
  const browser = await h.openBrowser()
  const session_id = await browser.approved()
  assert.equal(
    (await browser.post('/applications', { ...FORM, amount: ' €12 500 ', session_id })).status,
    201,
  )
})

test('rejects a second submit with the same bond', async () => {
  await using h = await openHarness()
  const browser = await h.openBrowser()
  const session_id = await browser.approved()
  const sent = await Promise.all(
    Array.from({ length: 10 }, () => browser.post('/applications', { ...FORM, session_id })),
  )
  const statuses = sent.map(({ status }) => status)
  assert.deepEqual(
    [
      statuses.filter((status) => status === 201).length,
      statuses.filter((status) => status === 403).length,
    ],
    [1, 9],
  )
  assert.equal(
    (await rejectionOf(await browser.post('/applications', { ...FORM, session_id }))).reason,
    'already_used',
  )
  assert.equal(h.bank.applications().length, 1)
})

test('rejects a bond that another browser requested', async () => {
  await using h = await openHarness()
  const [mine, theirs] = [await h.openBrowser(), await h.openBrowser()]
  const session_id = await mine.approved()
  assert.equal(
    (await rejectionOf(await theirs.post('/applications', { ...FORM, session_id }))).reason,
    'session_not_ours',
  )
})

test('accepts an application with a doubtful bond for review by an employee', async () => {
  await using h = await openHarness()
  const browser = await h.openBrowser()
  const session_id = await browser.approved()
  h.service.bond(session_id, { human_presence_confidence: 0.3 })
  const response = await browser.post('/applications', { ...FORM, session_id })
  const { application } = (await response.json()) as {
    application: { status: string; message: string }
  }
  assert.equal(application.status, 'in_review')
  assert.match(application.message, /employee will review/)
  assert.deepEqual(h.bank.applications()[0]?.reasons, ['low_confidence'])
})

test('creates the session from the bank’s own draft and ignores the context of the browser', async () => {
  await using h = await openHarness()
  const browser = await h.openBrowser()
  await browser.post('/drafts', FORM)
  const forged = {
    workflow: 'credit_application',
    action: 'submit_application',
    context: { display: [{ label: 'Amount', value: '€1' }] },
  }
  const session = (await (await browser.post('/bond-session', forged)).json()) as {
    id: string
    completion_secret?: string
  }
  assert.equal(session.completion_secret, undefined)
  assert.deepEqual(h.service.session(session.id)?.context, {
    display: [
      { label: 'Amount', value: '€12,500' },
      { label: 'Term', value: '36 months' },
      { label: 'Applicant', value: 'Ada Lovelace' },
    ],
    digest: await bindingDigest(REQUEST),
  })
})

test('creates no session before the form is checked', async () => {
  await using h = await openHarness()
  const browser = await h.openBrowser()
  assert.deepEqual(
    (await rejectionOf(await browser.post('/bond-session', {}))).code,
    'draft_missing',
  )
  await browser.post('/drafts', FORM)
  assert.equal(
    (await rejectionOf(await browser.post('/bond-session', { action: 'approve_wire' }))).code,
    'not_offered',
  )
})

test('reports a temporary failure and logs the reason when the service rejects the bank', async () => {
  await using h = await openHarness()
  const browser = await h.openBrowser()
  await browser.post('/drafts', FORM)
  h.service.fault({
    status: 403,
    body: JSON.stringify({
      error: {
        code: 'forbidden',
        message: 'm',
        requestId: 'req_1',
        reason: 'workflow_not_enabled',
      },
    }),
  })
  assert.equal((await rejectionOf(await browser.post('/bond-session', {}))).status, 503)
  assert.deepEqual(h.events.at(-1), {
    event: 'bond_session_failed',
    code: 'forbidden',
    reason: 'workflow_not_enabled',
    requestId: 'req_1',
  })
})
