import type { DeviceId } from '@bonded/contract'
import type { DeviceTable } from '@bonded/core/ports/tables/device-table'
import type { SubjectTable } from '@bonded/core/ports/tables/subject-table'
import { cachedTable } from './cached-table.ts'
import type { RowCaches } from './row-cache.ts'

/** Caches devices. One that is blocked or removed is read from the database at once. */
// oxlint-disable-next-line max-lines-per-function -- one rule for each method
export function deviceCache(
  table: DeviceTable,
  { devices, deviceTokens, motions }: Pick<RowCaches, 'devices' | 'deviceTokens' | 'motions'>,
): DeviceTable {
  function write(id: DeviceId): void {
    devices.delete(id)
  }

  return cachedTable<DeviceTable>(table, {
    find: {
      *read(id) {
        const known = devices.get(id)
        if (known !== undefined) return known.device
        const device = yield* table.find(id)
        if (device !== undefined) devices.set(id, { device, tokens: [] })
        return device
      },
    },

    findByToken: {
      *read(tokenId) {
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
    },

    raiseCounter: {
      write(id, counter, issuedAt) {
        const known = devices.get(id)
        devices.delete(id)
        if (known === undefined) return undefined
        return (raised) => {
          if (!raised) return
          const lastIssuedAt = Math.max(known.device.lastIssuedAt ?? issuedAt, issuedAt)
          devices.set(id, { ...known, device: { ...known.device, counter, lastIssuedAt } })
        }
      },
    },

    useRequest: { write },
    setBrowserKey: { write },
    removeBrowserKey: { write },
    raiseBrowserCounter: { write },
    suspect: { write },
    offerToken: { write },
    useToken: { write },

    move: {
      write(id) {
        motions.delete(id)
        devices.delete(id)
      },
    },

    motion: {
      *read(id) {
        const known = motions.get(id)
        if (known !== undefined) return known
        const found = yield* table.motion(id)
        if (found !== undefined) motions.set(id, found)
        return found
      },
    },

    storeMotion: {
      write(id, memory) {
        motions.delete(id)
        return () => motions.set(id, memory)
      },
    },

    // New devices have no entry.
    register: 'passed',
    addKey: 'passed',
    // An entry has neither the vendor's receipt, nor events, nor challenges.
    keepReceipt: 'passed',
    record: 'passed',
    useChallenge: 'passed',
    purgeChallenges: 'passed',
    // Only bonds whose reference exists are cached, and a reference never changes.
    pairwise: 'passed',
    findByKey: 'passed',
    rpIds: 'passed',
    events: 'passed',
    keysChangedAt: 'passed',
    recent: 'passed',
  })
}

/** Clears the caches of devices and bonds, which include blocks. Subjects are not cached. */
export function clearingDevices(
  table: SubjectTable,
  { devices, bonds }: Pick<RowCaches, 'devices' | 'bonds'>,
): SubjectTable {
  // The caches cannot be searched by subject.
  const clearing = (cache: { clear(): void }) => ({ write: () => cache.clear() })
  return cachedTable<SubjectTable>(table, {
    block: clearing(devices),
    unblock: clearing(devices),
    blockAt: clearing(bonds),
    unblockAt: clearing(bonds),
    pauseInbox: 'passed',
    resumeInbox: 'passed',
    keys: 'passed',
    family: 'passed',
    blockedAt: 'passed',
    find: 'passed',
    references: 'passed',
    lastBonds: 'passed',
  })
}
