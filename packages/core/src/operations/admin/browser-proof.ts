import { wasProvedByBrowser } from '../../domain/browser-proof.ts'
import { hasBrowserWorkflow, type Tenant } from '../../domain/tenant.ts'
import { hasMoved, MOVES } from '../../protocol/states.ts'
import type { Service } from '../service.ts'
import { listSessions, type SessionPage } from './list-sessions.ts'
import { listTenants } from './tenants.ts'

/** How many different site names browsers must accept in a list of related origins. */
const MAX_SITE_NAMES = 5
/** The newest sessions that are read, of all tenants at once. */
const SESSIONS_READ = 5_000
/** Fewer bonds that expire can have other causes. */
const MIN_EXPIRED_BONDS = 3

/** What would keep users from giving the proof of the browser, or backends from using it. */
export interface BrowserProofReport {
  /** The number of tenants with a workflow that requires the browser. */
  readonly tenants: number
  /** How many of them are demos: `bonded dev` serves them with related origins. */
  readonly demos: number
  /** Sentences for the operator. */
  readonly warnings: readonly string[]
}

/**
 * Compares the tenants that require the browser with the settings, and with what became of their
 * sessions.
 *
 * @param siteNameOf the name in an origin's registrable domain, such as `bank`
 */
export async function reportBrowserProof(
  service: Service,
  siteNameOf: (origin: string) => string | undefined,
): Promise<BrowserProofReport> {
  const tenants = (await listTenants(service)).filter(hasBrowserWorkflow)
  const warnings = warnOfSettings(service, tenants, siteNameOf)
  if (tenants.length > 0) {
    const { sessions } = await listSessions(service, { limit: SESSIONS_READ })
    const proved = sessions.filter(({ session }) => wasProvedByBrowser(session))
    for (const tenant of tenants) warnings.push(...warnOfGates(tenant, proved))
  }
  const demos = tenants.filter(({ demo }) => demo).length
  return { tenants: tenants.length, demos, warnings }
}

/** The warnings that need no session: those of a change of tenants. */
export function warnOfSettings(
  { settings }: Pick<Service, 'settings'>,
  tenants: readonly Tenant[],
  siteNameOf: (origin: string) => string | undefined,
): string[] {
  const requiring = tenants.filter(hasBrowserWorkflow)
  const warnings = requiring
    .filter(({ origins }) => origins.length === 0)
    .map(
      ({ id }) =>
        `The tenant ${id} requires the browser and has no origin, so no page of it can give the proof. Add one: bonded tenant update ${id} --add-origin <origin>`,
    )
  const named = requiring.flatMap(({ origins }) => origins.map(siteNameOf))
  const names = [...new Set(named.filter((name) => name !== undefined))].toSorted()
  if (settings.relatedOrigins === true && names.length > MAX_SITE_NAMES)
    warnings.push(
      `The list of related origins has ${names.length} site names (${names.join(', ')}). Browsers must accept only ${MAX_SITE_NAMES}, so users of the others may be unable to confirm. Remove origins, or set BONDED_RELATED_ORIGINS=off`,
    )
  return warnings
}

/**
 * Warns of each workflow whose sessions bond in the browser and are never completed: a gate that
 * does not send the browser's secret reads no verification, and rejects every form.
 */
function warnOfGates({ id, workflows }: Tenant, proved: SessionPage['sessions']): string[] {
  return workflows.flatMap(({ name }) => {
    const own = proved.filter(({ session }) => session.tenantId === id && session.workflow === name)
    const expired = own.filter(
      (listed) => hasMoved(listed, MOVES.expire) && listed.session.completedAt === null,
    ).length
    return expired < MIN_EXPIRED_BONDS || own.some((listed) => hasMoved(listed, MOVES.complete))
      ? []
      : [
          `${expired} recent sessions of the workflow ${name} of the tenant ${id} were confirmed in the browser and expired, and none was completed. Its backend may not send X-Bond-Browser-Secret, or its gate expects another origin`,
        ]
  })
}
