import type { AddPages } from '@bonded/server/http/server'
import { limitPage } from '@bonded/server/http/pages/page-limits'
import { Rejected } from '@bonded/server/http/response/rejected'

/** What the demo has of the phone. */
export type SoftwarePhone = Pick<
  typeof import('@bonded/example-demo'),
  'softwareKeyScripts' | 'softwarePhone' | 'SERVED_PAGES' | 'SOFTWARE_PHONE_PATHS'
>
/** The pages around the phone. */
export type PhoneSurroundings = Parameters<SoftwarePhone['softwarePhone']>[1]

/**
 * The pages of the demo's phone: the service's own phone page with a software key, and the script
 * by which the bank's page asks for that key. Only `bonded dev` and `bonded try` add them to
 * their services.
 *
 * @param surroundings undefined until the demo listens
 */
export function softwarePhonePages(
  { softwareKeyScripts, softwarePhone, SERVED_PAGES, SOFTWARE_PHONE_PATHS }: SoftwarePhone,
  surroundings: () => PhoneSurroundings | undefined,
): AddPages {
  return (app, service) => {
    for (const [path, url] of Object.entries(SERVED_PAGES))
      app.get(path, limitPage(service, 'handoff'), async (request, reply) => {
        const known = surroundings()
        if (known === undefined) throw new Rejected({ reason: 'page_not_found' })
        const { remoteAddress } = request.socket
        const page = await app.inject({ url, ...(remoteAddress && { remoteAddress }) })
        if (page.statusCode !== 200) return reply.code(page.statusCode).send(page.body)
        const policy = String(page.headers['content-security-policy'])
        const served = softwarePhone({ html: page.body, contentSecurityPolicy: policy }, known, url)
        return reply
          .header('content-security-policy', served.contentSecurityPolicy)
          .type('text/html; charset=utf-8')
          .send(served.html)
      })
    for (const path of [SOFTWARE_PHONE_PATHS.key, SOFTWARE_PHONE_PATHS.passkey])
      app.get(path, limitPage(service, 'handoff'), async (_request, reply) =>
        reply.type('text/javascript; charset=utf-8').send((await softwareKeyScripts()).get(path)),
      )
  }
}
