import type { BrowserKey } from '@bonded/core/domain/session'
import type { DeviceTable } from '@bonded/core/ports/tables/device-table'
import { changed, type Row } from '../statement.ts'

/** The columns of a device that have its browser key: all of them, or none. */
export const browserKeyStatements: Pick<
  DeviceTable,
  'setBrowserKey' | 'removeBrowserKey' | 'raiseBrowserCounter'
> = {
  *setBrowserKey(id, { keyId, rpId, counter, publicKey, ...facts }) {
    const stored = yield* changed(
      `update device set browser_key_id = $2, browser_rp_id = $3, browser_counter = $4,
         browser_public_key = $5, browser_key = $6
       where id = $1 and status in ('active', 'suspect')
         and not exists (select 1 from device other where other.key_id = $2)
         and not exists (select 1 from device other where other.browser_key_id = $2 and other.id <> $1)`,
      [id, keyId, rpId, counter, publicKey, JSON.stringify(facts)],
    )
    return stored === 1
  },

  *removeBrowserKey(id) {
    const removed = yield* changed(
      `update device set browser_key_id = null, browser_rp_id = null, browser_counter = null,
         browser_public_key = null, browser_key = null
       where id = $1 and browser_key_id is not null`,
      [id],
    )
    return removed === 1
  },

  *raiseBrowserCounter(id, keyId, counter) {
    const raised = yield* changed(
      `update device set browser_counter = $3
       where id = $1 and browser_key_id = $2 and status in ('active', 'suspect')
         and (browser_counter < $3 or (browser_counter = 0 and $3 = 0))`,
      [id, keyId, counter],
    )
    return raised === 1
  },
}

/** Reads the browser key from the row of its device. */
export function browserKeyFromRow(found: Row): BrowserKey | undefined {
  if (typeof found.browser_key_id !== 'string') return undefined
  return {
    keyId: found.browser_key_id,
    publicKey: found.browser_public_key as Uint8Array,
    rpId: found.browser_rp_id as string,
    counter: Number(found.browser_counter),
    ...(JSON.parse(String(found.browser_key)) as Pick<BrowserKey, 'backupEligible' | 'createdAt'>),
  }
}
