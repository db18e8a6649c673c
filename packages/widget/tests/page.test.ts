import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Page } from 'playwright-core'
import {
  browserTest,
  computed,
  Harness,
  init,
  noBrowser,
  type OnPage,
  outcome,
  PUBLISHABLE_KEY,
  PURPOSE,
  require,
  screen,
} from './harness.ts'
import { readQrFrom } from './read-qr.ts'

const HIDDEN = { state: 'unavailable', sessionId: null, reason: 'container_hidden' }
let h: Harness
before(async () => {
  if (!noBrowser) h = await Harness.start()
})
after(async () => h?.[Symbol.asyncDispose]())

test(
  'causes no violation of the strictest Content Security Policy and Trusted Types',
  browserTest,
  async () => {
    const { origin } = h.worker
    const csp = `default-src 'none'; script-src ${origin}; connect-src ${origin} ${origin.replace('http', 'ws')}; img-src ${origin} data:; require-trusted-types-for 'script'; trusted-types 'none'`
    const page = await h.open({ csp })
    const complaints: string[] = []
    page.on(
      'console',
      (message) => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()),
    )
    await page.evaluate(
      'void document.addEventListener("securitypolicyviolation", (event) => console.error(event.violatedDirective))',
    )
    await init(page)
    const session = h.worker.create(PURPOSE)
    await require(page, { session: session.view() })
    await page.locator('.qr').waitFor()
    assert.equal(await readQrFrom(page), session.payload)
    assert.equal(
      await computed(page.locator('.title').first(), 'font-weight'),
      '650',
      'the sheet applies',
    )
    session.rotate()
    session.hinted('scanned')
    await screen(page, 'scanned')
    session.moved('bonded')
    assert.equal((await outcome(page)).state, 'bonded')
    assert.deepEqual(complaints, [])
  },
)

test(
  'draws the universal link where the service says so, so that any camera opens it',
  browserTest,
  async () => {
    const page = await h.waiting({ session: { qrContent: 'universal_link' } })
    assert.equal(await readQrFrom(page), h.session.universalLink)
    h.session.rotate()
    await page.waitForFunction(
      `document.querySelector('[data-pulse-widget]').shadowRoot.querySelector('a').href === ${JSON.stringify(h.session.universalLink)}`,
    )
    assert.equal(await readQrFrom(page), h.session.universalLink)
  },
)

test(
  'ends as unavailable at once without a session when there is no container',
  browserTest,
  async () => {
    const page = await h.open({ body: '<p>no container</p>' })
    await init(page)
    await require(page)
    assert.deepEqual(await outcome(page), HIDDEN)
    assert.equal(h.sessions.length, 0)
  },
)

const rejection = (page: Page, call: 'init' | 'requireBond', given: unknown) =>
  page.evaluate(
    async ([name, value]) => {
      try {
        await (globalThis as unknown as OnPage).Pulse[name](value)
        return undefined
      } catch (error) {
        return (error as { code: string }).code
      }
    },
    [call, given] as const,
  )

test('rejects wrong arguments at once, with a code', browserTest, async () => {
  const page = await h.open()
  const good = {
    publishableKey: PUBLISHABLE_KEY,
    workflow: PURPOSE.workflow,
    sessionEndpoint: '/bond-session',
  }
  assert.equal(await rejection(page, 'requireBond', { action: 'x' }), 'not_initialised')
  for (const [spoil, code] of [
    [{ publishableKey: undefined }, 'publishable_key_invalid'],
    [{ publishableKey: 'pk_live_1' }, 'publishable_key_invalid'],
    [{ publishableKey: 'sk_beta_0123456789_a' }, 'server_credential_exposed'],
    [{ workflow: '' }, 'workflow_invalid'],
    [{ workflow: 'credit application' }, 'workflow_invalid'],
    [{ workflow: 'w'.repeat(65) }, 'workflow_invalid'],
    [{ containerId: 7 }, 'container_id_invalid'],
    [{ sessionEndpoint: 'javascript:alert(1)' }, 'session_endpoint_invalid'],
    [{ sessionEndpoint: `${h.worker.origin}/api/v1/sessions` }, 'session_endpoint_invalid'],
    [{ sessionEndpointCredentials: 'omit' }, 'session_endpoint_credentials_invalid'],
    [{ sessionEndpointCredentials: true }, 'session_endpoint_credentials_invalid'],
    [{ appearance: 'dark' }, 'appearance_invalid'],
    [{ appearance: { theme: 'blue' } }, 'appearance_invalid'],
    [{ appearance: { accent: 'red;background:url(//x)' } }, 'appearance_invalid'],
    [{ appearance: { radius: -1 } }, 'appearance_invalid'],
    [{ appearance: { font: 'x;}:host{display:none' } }, 'appearance_invalid'],
    [{ locale: 7 }, 'locale_invalid'],
  ] as const)
    assert.equal(await rejection(page, 'init', { ...good, ...spoil }), code)
  await init(page, { sessionEndpoint: undefined })
  const session = h.worker.create(PURPOSE).view()
  for (const [request, code] of [
    [undefined, 'action_invalid'],
    [{ action: '' }, 'action_invalid'],
    [{ action: 'submit/application' }, 'action_invalid'],
    [{ action: PURPOSE.action }, 'session_endpoint_invalid'],
    [{ action: PURPOSE.action, session: 'sess_1' }, 'session_invalid'],
    [
      { action: PURPOSE.action, session: { ...session, completion_secret: 'bcs_1' } },
      'completion_secret_exposed',
    ],
    [{ action: 'approve_wire', session }, 'session_mismatch'],
  ] as const)
    assert.equal(await rejection(page, 'requireBond', request), code)
})

test('reads null as an option that is left out', browserTest, async () => {
  const page = await h.open()
  const none = { containerId: null, appearance: null, locale: null }
  await init(page, { ...none, sessionEndpointCredentials: null })
  await require(page, { session: null, context: null, onRetry: null })
  await page.locator('.qr').waitFor()
  assert.deepEqual(h.requests.at(-1), { ...PURPOSE })
  await init(page, { sessionEndpoint: null, appearance: { theme: null, radius: null } })
  assert.equal(
    await rejection(page, 'requireBond', { action: PURPOSE.action }),
    'session_endpoint_invalid',
  )
})

test('takes workflows and actions as tenants name them', browserTest, async () => {
  const page = await h.open()
  const names = { workflow: 'Payments.SEPA-Instant_2', action: '9.Approve-Transfer' }
  await init(page, { workflow: names.workflow })
  await require(page, { action: names.action })
  await page.locator('.qr').waitFor()
  assert.deepEqual(h.requests.at(-1), names)
})

test('rejects a context that JSON cannot represent, at once', browserTest, async () => {
  const page = await h.open()
  await init(page)
  const rejected = page.evaluate(() => {
    const context: Record<string, unknown> = {}
    context['self'] = context
    return (globalThis as unknown as OnPage).Pulse.requireBond({
      action: 'submit_application',
      context,
    }).catch(({ code }) => code)
  })
  assert.equal(await rejected, 'context_invalid')
})

test('resumes a pending session after a reload', browserTest, async () => {
  const page = await h.waiting({ request: { context: { a: 2, b: 1 } } })
  const { session } = h
  await page.reload()
  await init(page)
  await require(page, { context: { a: 2, b: 1 } })
  await page.locator('.qr').waitFor()
  assert.equal(h.sessions.length, 1)
  assert.equal(await readQrFrom(page), session.payload)
  session.moved('bonded')
  assert.equal((await outcome(page)).sessionId, session.id)
})

test(
  'requests a new session after a reload when the old one ended, was reported, or had other values or none',
  browserTest,
  async () => {
    const page = await h.waiting()
    const again = async (request: object) => {
      await page.reload()
      await init(page)
      await require(page, request)
      await page.locator('.qr').waitFor()
    }
    await again({})
    assert.equal(h.sessions.length, 2)
    await again({ context: { amount: 2 } })
    assert.equal(h.sessions.length, 3)
    h.session.state = 'killed'
    await again({ context: { amount: 2 } })
    assert.equal(h.sessions.length, 4)
    h.session.moved('bonded')
    await outcome(page)
    await again({ context: { amount: 2 } })
    assert.equal(h.sessions.length, 5)
  },
)
