import { createRequire } from 'node:module'
import { isIP } from 'node:net'
import type { AcceptedRpIds } from '@bonded/core/operations/admin/relying-parties'
import type { SettingReader } from './setting-reader.ts'

/** The relying party ids of this service's WebAuthn keys. */
export type RelyingParty = AcceptedRpIds

const HOST_NAME =
  /^(?=.{1,253}$)([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/

/**
 * Reads the relying party ids.
 */
export function readRelyingParty(
  options: SettingReader & { readonly publicOrigin: string },
): RelyingParty {
  const { publicOrigin, given, wrong } = options
  // A wrong origin has its own mistake.
  const host = URL.canParse(publicOrigin) ? new URL(publicOrigin).hostname : ''
  const rpId = given('BONDED_RP_ID') ?? host
  if (rpId !== host && !isRegistrableSuffix(rpId, host)) wrong('BONDED_RP_ID')
  const former = given('BONDED_RP_ID_FORMER')?.split(',') ?? []
  if (!former.every((each) => HOST_NAME.test(each))) wrong('BONDED_RP_ID_FORMER')
  return { rpId, formerRpIds: former }
}

/**
 * Whether browsers let pages of the host use this relying party id: it is the host's domain or one
 * between, and not a public suffix, whose other domains belong to others.
 */
function isRegistrableSuffix(rpId: string, host: string): boolean {
  if (!HOST_NAME.test(rpId) || isIP(host) !== 0 || !host.endsWith(`.${rpId}`)) return false
  const domain = registrableDomainOf(host)
  return domain !== null && (rpId === domain || rpId.endsWith(`.${domain}`))
}

/**
 * The name by which browsers count the sites in a list of related origins: the first label of the
 * registrable domain. Undefined for a host without one.
 *
 * @see https://www.w3.org/TR/webauthn-3/#sctn-related-origins
 */
export function siteNameOf(origin: string): string | undefined {
  return registrableDomainOf(new URL(origin).hostname)?.split('.')[0]
}

function registrableDomainOf(host: string): string | null {
  // Loaded here, because a service whose relying party id is its host needs no list.
  const { getDomain } = createRequire(import.meta.url)('tldts') as typeof import('tldts')
  return getDomain(host, { allowPrivateDomains: true })
}
