import { Buffer } from 'node:buffer'
import type { FastifyInstance } from 'fastify'
import type { AppLinks, Service } from '@bonded/core/operations/service'
import { limitPage } from './page-limits.ts'
import { Rejected } from '../response/rejected.ts'
import { PHONE_PAGE_PATH } from './phone-page.ts'

export const APPLE_ASSOCIATION_PATH = '/.well-known/apple-app-site-association'
export const ASSET_LINKS_PATH = '/.well-known/assetlinks.json'
/** Apple and Google fetch these files through their own caches. */
const MAX_AGE_SECONDS = 3_600

/**
 * Serves the two files that let a handoff link open the operator's app instead of the phone page,
 * and that let the app create passkeys for this host: the browser keys of its phones. They list the
 * apps whose devices may register. A platform without an app responds with 404.
 */
export function serveAppLinks(app: FastifyInstance, service: Service): void {
  const { apple, android } = service.settings.appLinks
  const files = [
    [APPLE_ASSOCIATION_PATH, apple.length === 0 ? undefined : appleAssociation(apple)],
    [ASSET_LINKS_PATH, android.length === 0 ? undefined : assetLinks(android)],
  ] as const
  for (const [path, content] of files) {
    const body = content && Buffer.from(JSON.stringify(content))
    app.get(path, limitPage(service, 'app_links'), async (_request, reply) => {
      if (body === undefined) throw new Rejected({ reason: 'page_not_found' })
      return reply
        .type('application/json; charset=utf-8')
        .header('cache-control', `public, max-age=${MAX_AGE_SECONDS}`)
        .send(body)
    })
  }
}

/** @see https://developer.apple.com/documentation/bundleresources/applinks */
function appleAssociation(appIds: AppLinks['apple']): object {
  const components = [{ '/': PHONE_PAGE_PATH, '?': { session_id: '?*', nonce: '?*' } }]
  return {
    applinks: { details: [{ appIDs: appIds, components }] },
    webcredentials: { apps: appIds },
  }
}

/** @see https://developers.google.com/digital-asset-links/v1/getting-started */
function assetLinks(apps: AppLinks['android']): object {
  return apps.map(({ packageName, certificateDigests }) => ({
    relation: [
      'delegate_permission/common.handle_all_urls',
      'delegate_permission/common.get_login_creds',
    ],
    target: {
      namespace: 'android_app',
      package_name: packageName,
      sha256_cert_fingerprints: certificateDigests,
    },
  }))
}
