import type { DeviceId, SubjectId } from '@bonded/contract'
import type { Device, Instant } from '../../src/domain/session.ts'
import { isUsable } from '../../src/domain/subject-keys.ts'
import type { DeviceTable, DeviceToken } from '../../src/ports/tables/device-table.ts'
import type { SubjectTable } from '../../src/ports/tables/subject-table.ts'
import { type CauseOf, keyOf, type Memory, type StoredDevice, tableOf } from './memory.ts'

const MAX_EVENTS = 200
const KEY_CHANGE = /^(?:browser_)?key_(?:added|removed)$/

/** The devices in memory, each with the block of its subject. */
const devicesOf = ({ devices, blocked }: Memory): Device[] =>
  [...devices.values()].map(({ device }) => ({
    ...device,
    subjectBlocked: blocked.has(device.subjectId),
  }))

const rises = ({ format, counter }: Device, next: number) =>
  counter < next || (format === 'webauthn' && counter === 0 && next === 0)
const later = (one: Instant | null, other: Instant) => Math.max(one ?? other, other)

/** The devices in memory. */
export function deviceTable(memory: Memory, cause: CauseOf): DeviceTable {
  const { devices, deviceEvents, motion, keyReceipts, challenges, blocked, references } = memory
  const all = () => devicesOf(memory)

  /** The guarded statement: changes a device if it is as the guard requires. */
  function change(
    id: DeviceId,
    guard: (row: StoredDevice) => boolean,
    update: (row: StoredDevice) => Partial<Omit<StoredDevice, 'device'>> & {
      device?: Partial<Device>
    },
  ): boolean {
    const row = devices.get(id)
    if (row === undefined || !guard(row)) return false
    const { device, ...others } = update(row)
    devices.set(id, { ...row, ...others, device: { ...row.device, ...device } })
    return true
  }

  function insert(device: Device, token: DeviceToken): boolean {
    if (all().some(({ keyId }) => keyId === device.keyId)) return false
    devices.set(device.id, {
      device: { ...device, addedBy: device.addedBy ?? null },
      token,
      offered: undefined,
      requestIssuedAt: null,
    })
    return true
  }

  return tableOf<DeviceTable>({
    register: insert,
    addKey(device, token, maxKeys) {
      const own = all().filter(({ subjectId }) => subjectId === device.subjectId)
      const approver = own.find(({ id }) => id === device.addedBy)
      if (approver?.status !== 'active' || blocked.has(device.subjectId)) return false
      if (own.filter(({ status }) => status !== 'removed').length >= maxKeys) return false
      return insert(device, token)
    },
    keepReceipt: (id, receipt) => void keyReceipts.set(id, receipt),
    find: (id) => all().find((device) => device.id === id),
    findByKey: (keyId) => all().find((device) => device.keyId === keyId),
    findByToken(tokenId) {
      const row = [...devices.values()].find(
        ({ token, offered }) => token.id === tokenId || offered?.id === tokenId,
      )
      const device = all().find(({ id }) => id === row?.device.id)
      if (row === undefined || device === undefined) return undefined
      return row.offered?.id === tokenId
        ? { device, token: row.offered, offered: true }
        : { device, token: row.token, offered: false }
    },
    raiseCounter: (id, counter, issuedAt) =>
      change(
        id,
        ({ device }) => isUsable({ status: device.status }) && rises(device, counter),
        ({ device }) => ({
          device: { counter, lastIssuedAt: later(device.lastIssuedAt, issuedAt) },
        }),
      ),
    useRequest: (id, counter, issuedAt) =>
      change(
        id,
        ({ device, requestIssuedAt }) =>
          isUsable({ status: device.status, subjectBlocked: blocked.has(device.subjectId) }) &&
          rises(device, counter) &&
          (device.counter < counter || requestIssuedAt === null || requestIssuedAt < issuedAt),
        ({ device, requestIssuedAt }) => ({
          device: { counter, lastIssuedAt: later(device.lastIssuedAt, issuedAt) },
          requestIssuedAt: later(requestIssuedAt, issuedAt),
        }),
      ),
    setBrowserKey: (id, browserKey) =>
      change(
        id,
        ({ device }) =>
          isUsable({ status: device.status }) &&
          !all().some(
            (other) =>
              other.keyId === browserKey.keyId ||
              (other.id !== id && other.browserKey?.keyId === browserKey.keyId),
          ),
        () => ({ device: { browserKey } }),
      ),
    removeBrowserKey: (id) =>
      change(
        id,
        ({ device }) => device.browserKey !== undefined,
        () => ({ device: { browserKey: undefined } }),
      ),
    raiseBrowserCounter: (id, keyId, counter) =>
      change(
        id,
        ({ device: { status, browserKey } }) =>
          isUsable({ status }) &&
          browserKey?.keyId === keyId &&
          (browserKey.counter < counter || (browserKey.counter === 0 && counter === 0)),
        ({ device: { browserKey } }) => ({
          device: { browserKey: browserKey && { ...browserKey, counter } },
        }),
      ),
    suspect: (id, issuedAt) =>
      change(
        id,
        ({ device: { status, lastIssuedAt } }) =>
          status === 'active' && lastIssuedAt !== null && lastIssuedAt < issuedAt,
        () => ({ device: { status: 'suspect' } }),
      ),
    move(id, { from, to }) {
      if (to === 'removed') for (const stored of [motion, keyReceipts]) stored.delete(id)
      return change(
        id,
        ({ device }) => from.includes(device.status),
        () => ({ device: { status: to } }),
      )
    },
    rpIds() {
      const kept = all().filter(({ status }) => status !== 'removed')
      const ids = kept.flatMap(({ format, appId, browserKey }) => [
        ...(format === 'webauthn' ? [appId] : []),
        ...(browserKey ? [browserKey.rpId] : []),
      ])
      return [...new Set(ids)].toSorted()
    },
    record(id, event) {
      const before = deviceEvents.get(id) ?? []
      const seq = (before.at(-1)?.seq ?? 0) + 1
      const stored = { ...event, seq, requestId: cause()?.requestId ?? null }
      deviceEvents.set(id, [...before, stored].slice(-MAX_EVENTS))
    },
    events: (id) => deviceEvents.get(id) ?? [],
    keysChangedAt(id) {
      const changes = (deviceEvents.get(id) ?? []).filter(({ kind }) => KEY_CHANGE.test(kind))
      return changes.length === 0 ? undefined : Math.max(...changes.map(({ at }) => at))
    },
    offerToken: (id, token) =>
      void change(
        id,
        () => true,
        () => ({ offered: token }),
      ),
    useToken(id, tokenId) {
      const isFirst = change(
        id,
        ({ offered }) => offered?.id === tokenId,
        ({ offered, token }) => ({ token: offered ?? token, offered: undefined }),
      )
      if (isFirst) return 'now'
      return devices.get(id)?.token.id === tokenId ? 'before' : 'never'
    },
    recent: ({ status, subjectId, limit }) =>
      all()
        .filter((device) => status === undefined || device.status === status)
        .filter((device) => subjectId === undefined || device.subjectId === subjectId)
        .toSorted((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1))
        .slice(0, limit),
    useChallenge(challenge, expiresAt) {
      if (challenges.has(challenge)) return false
      challenges.set(challenge, expiresAt)
      return true
    },
    purgeChallenges(now, limit) {
      const expired = [...challenges].filter(([, expiresAt]) => expiresAt <= now)
      const doomed = expired.toSorted(([, a], [, b]) => a - b).slice(0, limit)
      for (const [challenge] of doomed) challenges.delete(challenge)
      return doomed.length
    },
    motion: (id) => motion.get(id),
    storeMotion: (id, stored) => void motion.set(id, stored),
    pairwise({ tenantId, subjectId, subjectRef }) {
      const key = keyOf(tenantId, subjectId)
      const isTaken = [...references.values()].some(
        (other) => other.tenantId === tenantId && other.subjectRef === subjectRef,
      )
      if (!references.has(key) && isTaken) throw new Error('another subject has this subject_ref')
      const reference = references.get(key) ?? {
        tenantId,
        subjectId,
        subjectRef,
        blockedAt: undefined,
        inboxPausedUntil: 0,
        inboxReports: 0,
      }
      references.set(key, reference)
      return reference.subjectRef
    },
  })
}

/** The subjects in memory. */
export function subjectTable(memory: Memory): SubjectTable {
  const { blocked, references, bonds } = memory
  const family = (subjectId: SubjectId) =>
    devicesOf(memory)
      .filter((device) => device.subjectId === subjectId)
      .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
  const all = () => [...references.values()]
  return tableOf<SubjectTable>({
    keys: (id) => family(id).filter(({ status }) => status !== 'removed'),
    family,
    blockedAt: (id) => blocked.get(id),
    block(id, now) {
      if (blocked.has(id)) return false
      blocked.set(id, now)
      return true
    },
    unblock: (id) => blocked.delete(id),
    find: (tenantId, subjectRef) =>
      all().find(
        (one) => one.subjectRef === subjectRef && one.tenantId === (tenantId ?? one.tenantId),
      ),
    references: (id) =>
      all()
        .filter(({ subjectId }) => subjectId === id)
        .toSorted((a, b) => (a.tenantId < b.tenantId ? -1 : 1)),
    pauseInbox() {
      throw new Error('the inbox has no table in memory')
    },
    resumeInbox: () => false,
    lastBonds({ tenantId, subjectId }) {
      const ids = new Set(family(subjectId).map(({ id }) => id))
      const own = [...bonds.values()].filter(
        (bond) => bond.tenantId === tenantId && ids.has(bond.deviceId),
      )
      return new Map(own.map(({ deviceId, updatedAt }) => [deviceId, updatedAt]))
    },
    blockAt({ tenantId, subjectId }, now) {
      const reference = references.get(keyOf(tenantId, subjectId))
      if (reference === undefined || reference.blockedAt !== undefined) return false
      references.set(keyOf(tenantId, subjectId), { ...reference, blockedAt: now })
      return true
    },
    unblockAt({ tenantId, subjectId }) {
      const reference = references.get(keyOf(tenantId, subjectId))
      if (reference?.blockedAt === undefined) return false
      references.set(keyOf(tenantId, subjectId), { ...reference, blockedAt: undefined })
      return true
    },
  })
}
