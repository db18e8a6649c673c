import { join } from 'node:path'
import { test } from 'node:test'
import { assertText } from '../../../tests/harness/expected-text.ts'
import { drawnScene } from './drawn-scene.ts'
import { pageAt } from './page-at.ts'

const FOLDER = join(import.meta.dirname, 'drawn')

test('each page is drawn as it was read and agreed on, with all that it says and links to', async (t) => {
  await using scene = await drawnScene()
  const { h, ids, named } = scene
  const user = `tenant=${ids.shop}&subject_ref=${ids.reference}`
  const pages: Readonly<Record<string, readonly string[]>> = {
    start: ['/'],
    session: [
      `/sessions/${ids.completed}`,
      `/sessions/${ids.bonded}`,
      `/sessions/${ids.declined}`,
      `/sessions/${ids.killed}`,
      `/sessions/${ids.waiting}`,
      `/sessions/${ids.waiting}/end`,
      `/sessions/${ids.completed}/end`,
      `/sessions?${user}`,
    ],
    receipt: [`/receipt?session=${ids.completed}`],
    user: [
      `/user?subject=${ids.ann.subject_id}`,
      `/user?subject=${ids.bob.subject_id}`,
      `/users/${ids.ann.subject_id}/block`,
      `/users/${ids.bob.subject_id}/unblock`,
      `/users/${ids.ann.subject_id}/resume-inbox/${ids.shop}`,
    ],
    device: [
      `/devices/${ids.ann.device_id}`,
      `/devices/${ids.second.device_id}`,
      `/devices/${ids.cy.device_id}`,
      `/devices/${ids.ann.device_id}/block`,
      `/devices/${ids.cy.device_id}/unblock`,
    ],
    health: [
      '/health',
      '/health?span=hour',
      `/health?span=month&tenant=${ids.shop}`,
      '/health?span=year',
      '/health?span=hour&end=2026-11-21T10:00&workflow=strict',
      '/health?span=month&workflow=strict',
      '/health?tenant=ten_1',
      `/health?tenant=${ids.north}`,
    ],
    changes: [
      '/changes',
      `/changes?about=${ids.ann.device_id}&reads=1`,
      '/changes?about=ten_1&action=device+block&since=2026-11-21T10:00&until=2026-11-21T11:00',
      '/changes?action=none',
    ],
    rejections: [
      '/rejections',
      `/rejections?q=${ids.bonded}&reason=a&since=2026-11-21T10:00&until=2026-11-21T11:00`,
      `/rejections?q=${ids.ann.device_id}`,
      '/rejections?q=none',
    ],
    tenant: [
      '/tenants',
      '/tenants?q=none',
      `/tenants/${ids.shop}`,
      `/tenants/${ids.north}`,
      `/tenants/${ids.shop}/suspend`,
      `/tenants/${ids.north}/resume`,
      `/tenants/${ids.shop}/keys/${ids.publishable}/revoke`,
      `/tenants/${ids.shop}/keys/${ids.batch}/revoke`,
    ],
    deliveries: [
      `/tenants/${ids.shop}/deliveries?state=pending`,
      `/tenants/${ids.north}/deliveries`,
      ...['1h', '24h', '7d'].map(
        (since) => `/tenants/${ids.shop}/endpoints/${ids.endpoint}/recover/${since}`,
      ),
      `/events/${ids.event}`,
      `/events/${ids.event}/retry/${ids.endpoint}`,
    ],
    log: ['/log', '/nodes'],
  }
  for (const [name, addresses] of Object.entries(pages))
    await t.test(name, async () => {
      const drawn = []
      for (const address of addresses)
        drawn.push(named(`=== ${address}\n${await pageAt(h, address)}`))
      assertText(join(FOLDER, `${name}.txt`), drawn.join('\n'))
    })
})
