import { existsSync } from 'node:fs'
import { listTenants } from '@bonded/core/operations/admin/tenants'
import type { AddPages } from '@bonded/server/http/server'
import { limitPage } from '@bonded/server/http/pages/page-limits'
import { Rejected } from '@bonded/server/http/response/rejected'
import { newestCode } from '../dev/newest-code.ts'
import { type SoftwarePhone, softwarePhonePages } from '../dev/software-phone.ts'

/** The package has a copy of the demo's phone, which its build made. */
const COPY = new URL('../examples/demo/src/phone/software-phone.js', import.meta.url)

/**
 * The phone of the demo, as a page of its own: `/phone` leads to what it has to answer. Links of
 * the service lead a browser to this phone too, because the service's own pages have no key of it.
 */
export async function phoneInBrowser(origin: string): Promise<AddPages> {
  const phone: SoftwarePhone = existsSync(COPY)
    ? ((await import(COPY.href)) as SoftwarePhone)
    : await import('@bonded/example-demo')
  // No frame is around it.
  const around = { serviceOrigin: origin, bankOrigin: origin }
  const surroundings = { ...around, phoneOrigin: origin, relayOrigin: origin }
  const { host } = new URL(origin)
  return (app, service) => {
    softwarePhonePages(phone, () => surroundings)(app, service)
    app.get('/phone', limitPage(service, 'handoff'), async (request, reply) => {
      // A page of another site that has rebound its name to this machine must not get the link.
      if (request.headers.host !== host) throw new Rejected({ reason: 'page_not_found' })
      const [tenant] = await listTenants(service)
      const code = tenant && (await newestCode(service, tenant.id))
      return reply.redirect(code?.link ?? '/inbox')
    })
    app.addHook('onRequest', ({ url, headers }, reply, done) => {
      const { pathname, search } = new URL(url, origin)
      const page = Object.entries(phone.SERVED_PAGES).find(([, real]) => real === pathname)?.[0]
      if (page === undefined || headers['sec-fetch-dest'] !== 'document') return done()
      void reply.redirect(page + search)
    })
  }
}
