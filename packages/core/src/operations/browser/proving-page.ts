import { accept, type Result, reject } from '../../domain/rejection.ts'
import { allowsOrigin } from '../../domain/tenant.ts'
import type { BrowserCaller, Service } from '../service.ts'

/** The tenant's page whose browser proves itself. */
export interface ProvingPage {
  readonly origin: string
  /** Whether the service's frame in the page asks its browser, and not the page itself. */
  readonly isFramed: boolean
}

/**
 * Returns the page that a proof is for. A page proves itself by its Origin. The service's frame has
 * the service's Origin, and names the page that it is in. Only a script of the service's origin can
 * do so in a browser; the assertion shows that one did.
 *
 * @param parentOrigin as the frame names it; undefined from a page
 */
export function pageOf(
  { settings }: Service,
  { key, origin }: Pick<BrowserCaller, 'key' | 'origin'>,
  parentOrigin: string | undefined,
): Result<ProvingPage> {
  const isFramed = parentOrigin !== undefined
  const page = parentOrigin ?? origin
  if (isFramed && origin !== settings.publicOrigin) return reject('origin_not_allowed')
  return allowsOrigin(key.tenant, page)
    ? accept({ origin: page, isFramed })
    : reject('origin_not_allowed')
}
