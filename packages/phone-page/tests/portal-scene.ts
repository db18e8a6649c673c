import { setImmediate as turn } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { openBrowser } from '../../../tests/browser.ts'
import { type Harness, harness, type TenantKeys } from '../../../tests/harness/harness.ts'
import { NO_SCRIPT } from '../../../tests/harness/no-script.ts'
import type { Limits } from '../../core/src/domain/limits.ts'
import {
  createEndpoint,
  listDeliveries,
  testEndpoint,
  updateEndpoint,
} from '../../core/src/operations/admin/webhooks.ts'
import { webhookReceiver } from '../../server/tests/webhook-receiver.ts'
import { freePort } from '../../store/tests/servers/free-port.ts'

/** A response that would run in the portal, if it were not text. */
export const HOSTILE = '</pre><img src=x onerror="pwned=1"><script>pwned=1</script>'

/** A service with deliveries of every state, and the portal of their tenant in Chromium. */
export async function portalScene({ limits = 'off' }: { limits?: Limits | 'off' } = {}) {
  const receiver = await webhookReceiver()
  const port = await freePort()
  const hosting = { port, script: NO_SCRIPT }
  const h = await harness({ hosting, limits, settings: { webhookHosts: [receiver.host] } })
  const browser = await openBrowser()
  const tenantId = h.shop.tenant.id
  const { endpoint } = await createEndpoint(h.service, {
    tenantId,
    url: `${receiver.url}?key=hunter2`,
    events: null,
    scheme: 'v1',
  })
  const send = async (behavior?: typeof receiver.behavior.now): Promise<string> => {
    if (behavior !== undefined) receiver.behavior.now = behavior
    const id = await testEndpoint(h.service, endpoint.id)
    await settled(h, id)
    return id
  }
  return {
    h,
    browser,
    receiver,
    endpoint,
    send,
    hold: async () => {
      await updateEndpoint(h.service, endpoint.id, { enabled: false })
      await h.create()
      await updateEndpoint(h.service, endpoint.id, { enabled: true })
    },
    link: async ({ server: token }: TenantKeys = h.shop) =>
      (await h.api('POST', '/webhook-portal', { token })).body.url as string,
    /** Opens a page whose clock is that of the service. */
    async open(url: string, look: Parameters<typeof browser.newContext>[0] = {}): Promise<Page> {
      const page = await (await browser.newContext(look)).newPage()
      await page.clock.setFixedTime(h.clock.now())
      await page.goto(url)
      return page
    },
    async [Symbol.asyncDispose]() {
      await browser.close()
      await receiver[Symbol.asyncDispose]()
      await h[Symbol.asyncDispose]()
    },
  }
}

/** Moves the clock until an event has an attempt. */
async function settled(h: Harness, eventId: string): Promise<void> {
  const attempts = async () => {
    const { deliveries } = await listDeliveries(h.service, {
      tenantId: h.shop.tenant.id,
      limit: 100,
    })
    return deliveries.find((each) => each.eventId === eventId)?.history.length ?? 0
  }
  const before = await attempts()
  while ((await attempts()) === before) {
    h.clock.advance(500)
    for (let turns = 0; turns < 20; turns++) await turn()
  }
}
