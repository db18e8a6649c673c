import type { TestContext } from 'node:test'
import { makeId, parseId } from '@bonded/contract'
import { recordAction } from '@bonded/core/operations/audit/audit'
import { appendReceipts } from '@bonded/core/operations/receipt/receipt-log'
import { openBrowser } from '../../../tests/browser.ts'
import { addressOf, namesIn } from './addresses.ts'
import { consoleHarness, MINUTE } from './harness.ts'
import { honestProvider } from './honest-provider.ts'
import { NO_RECEIVER } from './setup.ts'

/** Text that is written from right to left. */
export const RIGHT_TO_LEFT = 'متجر الأحذية'
/** A name without a place to break it. */
const LONG = 'ReceiptsOfTheDepartmentForPaymentsBetweenSubsidiaries'

/** A console with data of every kind, and a browser in which an administrator has signed in. */
export async function pagesScene(t: TestContext) {
  const issuerOf = async (origin: string) => {
    const provider = await honestProvider(origin)
    provider.operator.groups = ['admins']
    return provider
  }
  const c = await consoleHarness(t, issuerOf, { webhooks: NO_RECEIVER })
  const { h, origin } = c
  const body = {
    workflow: 'credit_application',
    context: {
      requester: { kind: 'agent', name: RIGHT_TO_LEFT },
      display: [
        { label: 'المبلغ', value: '€12,500' },
        { label: 'To', value: RIGHT_TO_LEFT },
      ],
    },
  }
  const names = await namesIn(h)
  const phone = await h.register()
  const other = await h.addTenant({ name: `${RIGHT_TO_LEFT} ${LONG}` })
  for (let count = 0; count < 2; count++) {
    const declined = await h.create(body, other)
    await h.claim(phone, declined)
    await h.decline(phone, declined)
  }
  c.advance(90 * MINUTE)
  const session = await h.create(body)
  c.advance(1_000)
  await h.claim(phone, { ...session, nonce: 'A'.repeat(43) })
  c.advance(1_000)
  await h.claim(phone, session)
  c.advance(8_000)
  await h.attest(phone, await h.view(phone, session))
  await h.api('GET', `/sessions/${session.id}/receipt`, { token: h.shop.server })
  await h.complete(session, { 'x-bond-outcome': 'accepted' })
  const waiting = await h.create(body)
  await recordAction(h.service, {
    action: 'device block',
    actor: { kind: 'operator', name: RIGHT_TO_LEFT },
    requestId: makeId('req', h.service.random.id()),
    target: { deviceId: parseId('dev', phone.device_id), tenantId: h.shop.tenant.id },
    reason: `${RIGHT_TO_LEFT} T-1`,
  })
  await appendReceipts(h.service)
  const browser = await openBrowser()
  t.after(() => browser.close())
  const page = await (await browser.newContext()).newPage()
  await page.goto(origin)
  return {
    ...c,
    page,
    session,
    waiting,
    other,
    phone,
    /** The address of a page about the data of the scene. */
    addressOf: (path: string): string => {
      const { id } = path.endsWith('/end') ? waiting : session
      return addressOf(path, { ...names, session: id })
    },
  }
}
