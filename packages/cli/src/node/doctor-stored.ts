import { reportBrowserProof } from '@bonded/core/operations/admin/browser-proof'
import { checkRpIds } from '@bonded/core/operations/admin/relying-parties'
import { reportCompletions } from '@bonded/core/operations/admin/report-completions'
import { reportReceiptLog } from '@bonded/core/operations/admin/report-receipt-log'
import { reportWebhooks } from '@bonded/core/operations/admin/report-webhooks'
import type { Service } from '@bonded/core/operations/service'
import { RELATED_ORIGINS_PATH } from '@bonded/server/http/pages/related-origins'
import { siteNameOf } from '@bonded/server/settings/relying-party'
import type { Check, Summary } from './doctor-check.ts'

/** Reads the relying party ids of the stored keys, where the database can be read as it is. */
export function checkPasskeys(...given: Parameters<Check>): Promise<Summary> {
  const [config] = given
  const { rpId, publicOrigin } = config
  const below =
    rpId === new URL(publicOrigin).hostname
      ? ''
      : ` Every host below ${rpId} can ask a user for these passkeys, and delete one that answers there.`
  return checkStored(given, `New passkeys have the RP ID ${rpId}.${below}`, async (service) => {
    const former = (await checkRpIds(service, config)).filter((id) => id !== rpId)
    const found =
      former.length === 0
        ? `Passkeys have the RP ID ${rpId}.`
        : `New passkeys have the RP ID ${rpId}. Some have ${former.join(', ')}.`
    return found + below
  })
}

/** Compares the tenants that require the browser with the settings and with their sessions. */
export function checkBrowserProof(...given: Parameters<Check>): Promise<Summary> {
  const [config] = given
  return checkStored(given, 'No tenant requires the browser.', async (service) => {
    const { tenants, demos, warnings } = await reportBrowserProof(service, siteNameOf)
    if (tenants === 0) return undefined
    const way = config.relatedOrigins
      ? `Browsers read ${RELATED_ORIGINS_PATH} at https://${config.rpId}.`
      : tenants === demos
        ? 'All are demos, whose pages ask for the passkey themselves under bonded dev.'
        : `Their pages need frame-src ${config.publicOrigin} in their Content Security Policy.`
    return { says: `Tenants that require the browser: ${tenants}. ${way}`, warnings }
  })
}

/** Reports the tenants whose backends do not say what they decided. */
export function checkCompletions(...given: Parameters<Check>): Promise<Summary> {
  return checkStored(given, 'No recent completions.', async (service) => {
    const { completed, warnings } = await reportCompletions(service)
    return completed === 0 ? undefined : { says: `Recent completions: ${completed}.`, warnings }
  })
}

/** Reports the queue of webhooks, and each endpoint that receives none. */
export function checkWebhooks(...given: Parameters<Check>): Promise<Summary> {
  return checkStored(given, 'No webhook endpoints.', async (service) => {
    const { endpoints, waiting, oldestDueMs, warnings } = await reportWebhooks(service)
    if (endpoints === 0) return undefined
    const seconds = Math.round(oldestDueMs / 1_000)
    return {
      says: `Endpoints: ${endpoints}. Waiting: ${waiting}, the oldest due for ${seconds} s.`,
      warnings,
    }
  })
}

/** Reports the log of receipts, and warns if it lacks a receipt or no witness cosigns it. */
export function checkReceipts(...given: Parameters<Check>): Promise<Summary> {
  return checkStored(given, 'No receipts yet.', async (service) => {
    const { entries, closed, witnesses, warnings } = await reportReceiptLog(service)
    if (entries === 0 && warnings.length === 0) return undefined
    const { length: cosigners } = witnesses.filter(({ hasCosigned }) => hasCosigned)
    const cosigned =
      witnesses.length === 0
        ? 'No witness is configured.'
        : `Cosigned by ${cosigners} of ${witnesses.length} witnesses.`
    const before = closed === 0 ? '' : ` Closed logs before it: ${closed}.`
    return { says: `The log has ${entries} entries.${before} ${cosigned}`, warnings }
  })
}

/** Checks what is stored. `none` is the summary without a readable database, and without rows. */
export async function checkStored(
  [, , stored]: Parameters<Check>,
  none: string,
  check: (service: Service) => Promise<Summary | undefined>,
): Promise<Summary> {
  const service = await stored.service()
  return (service && (await check(service))) ?? none
}
