import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { loadPulseScript } from '@bonded/widget/script'
import type { Browser, Page } from 'playwright-core'
import { type Harness, harness, type TenantKeys } from './harness/harness.ts'
import { browserMissing, openBrowser } from './browser.ts'
import { freePort } from '../packages/store/tests/servers/free-port.ts'

/**
 * Longer than the widget needs to explain a rejection, and shorter than it retries a lost network.
 */
const realBrowser = { skip: browserMissing, timeout: 600_000 }
const PURPOSE = { workflow: 'credit_application', action: 'submit_application' }

/** What a page reports: its outcome, and whether the widget ever showed a QR code. */
interface Report {
  readonly outcome: { readonly state: string; readonly reason?: string }
  readonly drewQrCode: boolean
  readonly ms: number
}
interface OnPage {
  report: Promise<Report>
}

let h: Harness
let browser: Browser
let shop: TenantKeys
let foreign: TenantKeys
/** The key in the page, and the session that the page's backend creates. */
let setup: { publishableKey: string; create: () => Promise<object> }

const site = createServer((request, response) => {
  if (request.method === 'POST')
    return void setup.create().then((session) => response.end(JSON.stringify(session)))
  response.setHeader('content-type', 'text/html')
  response.end(page())
})
/** The origin of each page, by the tenant that enabled it: the shop, the other tenant, or none. */
const sites = () => {
  const { port } = site.address() as AddressInfo
  return {
    own: `http://localhost:${port}`,
    foreign: `http://127.0.0.1:${port}`,
    unregistered: `http://127.0.0.2:${port}`,
  }
}

before(async () => {
  if (browserMissing) return
  await new Promise<void>((done) => site.listen(0, '0.0.0.0', done))
  const loaded = await loadPulseScript()
  const script = { version: loaded.version, load: () => Promise.resolve(loaded) }
  h = await harness({ hosting: { port: await freePort(), script } })
  shop = await h.addTenant({ name: 'Shop', origins: [sites().own] })
  foreign = await h.addTenant({ name: 'Other', origins: [sites().own, sites().foreign] })
  browser = await openBrowser()
})
after(async () => {
  site.close()
  await browser?.close()
  await h?.[Symbol.asyncDispose]()
})

test(
  'draws the QR code once the service has accepted the page’s key and origin',
  realBrowser,
  async () => {
    const tab = await open({ publishableKey: shop.publishable })
    await tab.locator('.qr').waitFor()
    const session = created.at(-1)
    assert.ok(session)
    const phone = await h.register()
    assert.equal((await h.view(phone, session)).requesting_origin, sites().own)
    const { state } = (await h.attest(phone, (await h.claim(phone, session)).body)).body
    assert.equal(state, 'bonded')
    assert.deepEqual((await reportOf(tab)).outcome, { state: 'bonded', sessionId: session.id })
  },
)

const REJECTIONS: readonly (readonly [
  what: string,
  reason: string,
  page: () => Promise<{ publishableKey: string; at?: string }>,
])[] = [
  ['is unknown', 'key_invalid', async () => ({ publishableKey: `pk_beta_${'0'.repeat(22)}` })],
  [
    'is revoked',
    'key_invalid',
    async () => {
      const { publishable } = await h.addKeys(shop.tenant, null)
      const now = h.clock.now()
      await h.service.store.write((tables) => tables.tenants.revoke(publishable, now))
      return { publishableKey: publishable }
    },
  ],
  [
    'belongs to another tenant',
    'key_of_another_tenant',
    async () => ({ publishableKey: foreign.publishable }),
  ],
  [
    'lacks the workflow in its scope',
    'key_out_of_scope',
    async () => {
      const scope = [{ workflow: 'wire_transfer', actions: null }]
      return { publishableKey: (await h.addKeys(shop.tenant, scope)).publishable }
    },
  ],
  [
    'is used at an origin of another tenant',
    'origin_not_allowed',
    async () => ({ publishableKey: shop.publishable, at: sites().foreign }),
  ],
  [
    'is used at an origin of no tenant',
    'origin_not_allowed',
    async () => ({ publishableKey: shop.publishable, at: sites().unregistered }),
  ],
]
for (const [what, reason, page] of REJECTIONS)
  test(`draws no QR code and reports ${reason} when the key ${what}`, realBrowser, async (t) => {
    const tab = await open(await page())
    const { outcome, drewQrCode, ms } = await reportOf(tab)
    t.diagnostic(`${ms} ms until the sentence`)
    assert.deepEqual(outcome, { state: 'unavailable', sessionId: null, reason })
    assert.equal(drewQrCode, false)
    // The user reads a calm sentence without any mention of keys or origins.
    const card = tab.locator('.card')
    assert.equal(await card.getAttribute('data-screen'), 'not_set_up')
    assert.match(await card.innerText(), /Nothing was approved/)
    assert.doesNotMatch(await card.innerText(), /key|origin|scope|tenant/i)
    const session = created.at(-1)
    assert.ok(session)
    const phone = await h.register()
    assert.equal((await h.view(phone, session)).requesting_origin, null)
  })

const created: Awaited<ReturnType<Harness['create']>>[] = []

/** A page of the shop that requests a bond, with the sessions of the shop's own backend. */
async function open(from: { publishableKey: string; at?: string }): Promise<Page> {
  setup = {
    publishableKey: from.publishableKey,
    async create() {
      const session = await h.create(PURPOSE, shop)
      created.push(session)
      const { completion_secret: _secret, ...shown } = session
      return shown
    },
  }
  const tab = await (await browser.newContext()).newPage()
  await tab.goto(from.at ?? sites().own)
  return tab
}

function reportOf(tab: Page): Promise<Report> {
  return tab.evaluate(() => (globalThis as unknown as OnPage).report)
}

function page(): string {
  const options = {
    publishableKey: setup.publishableKey,
    workflow: PURPOSE.workflow,
    sessionEndpoint: '/bond-session',
  }
  return `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">
<script src="${h.service.settings.publicOrigin}/v1/pulse.js"></script>
<div data-pulse-widget></div>
<script>
Pulse.init(${JSON.stringify(options)})
const began = performance.now()
const bond = Pulse.requireBond({ action: '${PURPOSE.action}' })
let drewQrCode = false
const { shadowRoot } = document.querySelector('[data-pulse-widget]')
new MutationObserver(() => { drewQrCode ||= shadowRoot.querySelector('.qr') !== null })
  .observe(shadowRoot, { childList: true, subtree: true })
globalThis.report = bond.then((outcome) =>
  ({ outcome, drewQrCode, ms: Math.round(performance.now() - began) }))
</script>`
}
