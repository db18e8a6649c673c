import type { DeviceId } from '@bonded/contract'
import type { DeviceTable } from '@bonded/core/ports/tables/device-table'
import type { SubjectTable } from '@bonded/core/ports/tables/subject-table'
import type { Work } from '@bonded/core/ports/work'
import type { RowCaches } from './row-cache.ts'

/**
 * Adds a cache of committed rows to a device table. A write removes the entries that it may change
 * before it runs, so a device that is blocked or removed is read from the database at once.
 */
export function deviceCache(
  table: DeviceTable,
  { devices, deviceTokens, motions }: Pick<RowCaches, 'devices' | 'deviceTokens' | 'motions'>,
): DeviceTable {
  function dropping<T>(id: DeviceId, work: Work<T>): Work<T> {
    devices.delete(id)
    return work
  }

  return {
    ...table,

    *find(id) {
      const known = devices.get(id)
      if (known !== undefined) return known.device
      const device = yield* table.find(id)
      if (device !== undefined) devices.set(id, { device, tokens: [] })
      return device
    },

    *findByToken(tokenId) {
      const owner = deviceTokens.get(tokenId)
      const known = owner && devices.get(owner)
      const token = known?.tokens.find((each) => each.token.id === tokenId)
      if (known !== undefined && token !== undefined) return { device: known.device, ...token }
      const found = yield* table.findByToken(tokenId)
      if (found === undefined) return undefined
      const { device, ...of } = found
      // A device has two tokens at most. A write that changes them removes the device's entry.
      const others = (devices.get(device.id)?.tokens ?? []).filter(
        ({ token }) => token.id !== tokenId,
      )
      devices.set(device.id, { device, tokens: [...others, of] })
      deviceTokens.set(tokenId, device.id)
      return found
    },

    *raiseCounter(id, counter, issuedAt) {
      const known = devices.get(id)
      devices.delete(id)
      const raised = yield* table.raiseCounter(id, counter, issuedAt)
      if (raised && known !== undefined) {
        const lastIssuedAt = Math.max(known.device.lastIssuedAt ?? issuedAt, issuedAt)
        devices.set(id, { ...known, device: { ...known.device, counter, lastIssuedAt } })
      }
      return raised
    },

    useRequest: (id, counter, issuedAt) => dropping(id, table.useRequest(id, counter, issuedAt)),
    setBrowserKey: (id, key) => dropping(id, table.setBrowserKey(id, key)),
    removeBrowserKey: (id) => dropping(id, table.removeBrowserKey(id)),
    raiseBrowserCounter: (id, keyId, counter) =>
      dropping(id, table.raiseBrowserCounter(id, keyId, counter)),
    suspect: (id, issuedAt) => dropping(id, table.suspect(id, issuedAt)),
    offerToken: (id, token) => dropping(id, table.offerToken(id, token)),
    useToken: (id, tokenId) => dropping(id, table.useToken(id, tokenId)),

    move(id, move) {
      motions.delete(id)
      return dropping(id, table.move(id, move))
    },

    *motion(id) {
      const known = motions.get(id)
      if (known !== undefined) return known
      const found = yield* table.motion(id)
      if (found !== undefined) motions.set(id, found)
      return found
    },

    *storeMotion(id, memory) {
      motions.delete(id)
      yield* table.storeMotion(id, memory)
      motions.set(id, memory)
    },
  }
}

/** Clears the device cache when a subject is blocked or unblocked. Subjects are not cached. */
export function clearingDevices(
  table: SubjectTable,
  { devices, bonds }: Pick<RowCaches, 'devices' | 'bonds'>,
): SubjectTable {
  /** A cached device includes its subject's block, and the cache cannot be searched by subject. */
  function dropping<T>(work: Work<T>): Work<T> {
    devices.clear()
    return work
  }

  /** A cached bond includes the tenant's block of the subject. */
  function droppingBonds<T>(work: Work<T>): Work<T> {
    bonds.clear()
    return work
  }

  return {
    ...table,
    block: (id, now) => dropping(table.block(id, now)),
    unblock: (id) => dropping(table.unblock(id)),
    blockAt: (reference, now) => droppingBonds(table.blockAt(reference, now)),
    unblockAt: (reference) => droppingBonds(table.unblockAt(reference)),
  }
}
