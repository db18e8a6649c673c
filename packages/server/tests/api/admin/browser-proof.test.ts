import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CreatedSession } from '@bonded/contract'
import {
  browserProof,
  newBrowserSecret,
  newPasskey,
} from '../../../../../tests/harness/browser-proof.ts'
import { harness, PUBLIC_ORIGIN, SHOP_ORIGIN } from '../../../../../tests/harness/harness.ts'
import {
  reportBrowserProof,
  warnOfSettings,
} from '../../../../core/src/operations/admin/browser-proof.ts'

const BOUND = { name: 'bound', actions: ['act'], require: ['browser' as const] }
const FREE = { name: 'free', actions: ['act'] }
/** The second label of a host, as the public suffix list would say of these. */
const siteNameOf = (origin: string) => new URL(origin).hostname.split('.').at(-2)
const origins = (count: number) =>
  Array.from({ length: count }, (_, index) => `https://www.site${index}.example`)

test('warns of a tenant that requires the browser and has no origin', async () => {
  await using h = await harness({ workflows: [FREE] })
  const { tenant } = await h.addTenant({ workflows: [BOUND, FREE], origins: [] })
  await h.addTenant({ workflows: [BOUND], name: 'Demo', demo: true })
  const { tenants, demos, warnings } = await reportBrowserProof(h.service, siteNameOf)
  assert.deepEqual([tenants, demos], [2, 1])
  assert.equal(warnings.length, 1)
  assert.match(warnings[0] ?? '', new RegExp(`${tenant.id} requires the browser and has no origin`))
})

test('warns of a sixth site name only where related origins are on', async () => {
  await using h = await harness()
  const { tenant } = await h.addTenant({ workflows: [BOUND], origins: origins(5) })
  const warn = (relatedOrigins: boolean, more: readonly string[]) =>
    warnOfSettings(
      { settings: { ...h.service.settings, relatedOrigins } },
      [
        { ...tenant, origins: [...tenant.origins, ...more] },
        // Another tenant's origins count if it requires the browser.
        { ...tenant, workflows: [FREE], origins: origins(9) },
      ],
      siteNameOf,
    )
  assert.deepEqual(warn(true, ['https://other.site0.example']), [])
  assert.match(warn(true, ['https://more.example'])[0] ?? '', /has 6 site names \(more, site0, /)
  assert.deepEqual(warn(false, ['https://more.example']), [])
})

test('warns of a workflow whose confirmed sessions expire, and none of which is completed', async () => {
  await using h = await harness({ workflows: [BOUND] })
  const { authenticator, key } = newPasskey(PUBLIC_ORIGIN)
  const phone = await h.register(undefined, key)
  const confirm = async (session: CreatedSession) => {
    await h.claim(phone, session)
    await h.attest(phone, await h.view(phone, session))
    const body = browserProof(authenticator, {
      sessionId: session.id,
      tenantId: h.shop.tenant.id,
      workflow: 'bound',
      action: 'act',
      origin: SHOP_ORIGIN,
      secret: newBrowserSecret(),
    })
    const proved = await h.api('POST', `/sessions/${session.id}/browser`, {
      token: h.shop.publishable,
      headers: { origin: SHOP_ORIGIN, 'x-bond-watch': session.watch_token },
      body,
    })
    assert.equal(proved.body.state, 'bonded', proved.text)
    h.clock.advance(1_000)
  }
  const warnings = async () => (await reportBrowserProof(h.service, siteNameOf)).warnings
  // Sessions that were never confirmed expire for other reasons.
  for (let count = 0; count < 3; count++) await h.create({})
  for (let count = 0; count < 2; count++) await confirm(await h.create({}))
  h.clock.advance(600_000)
  assert.deepEqual(await warnings(), [])
  await confirm(await h.create({}))
  assert.deepEqual(await warnings(), [])
  h.clock.advance(600_000)
  assert.match(
    (await warnings())[0] ?? '',
    /^3 recent sessions of the workflow bound of the tenant/,
  )
  const used = await h.create({})
  await confirm(used)
  await h.complete(used)
  assert.deepEqual(await warnings(), [])
})
