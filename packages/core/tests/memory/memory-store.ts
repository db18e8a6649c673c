import { makeId, type TenantId } from '@bonded/contract'
import type { Due, PurgedKind } from '../../src/domain/retention.ts'
import type { Tenant } from '../../src/domain/tenant.ts'
import type { Bus, ChangeNotification } from '../../src/ports/bus.ts'
import type { Cause, ServingNode, Store, Tables, Unit } from '../../src/ports/store.ts'
import type { IdempotencyTable } from '../../src/ports/tables/idempotency-table.ts'
import type { RejectionTable, StoredRejection } from '../../src/ports/tables/rejection-table.ts'
import type { SettingTable } from '../../src/ports/tables/setting-table.ts'
import type { Work } from '../../src/ports/work.ts'
import { deviceTable, subjectTable } from './device-table.ts'
import { backup, emptyMemory, keyOf, type Memory, tableOf } from './memory.ts'
import { receiptLogTable, receiptTable } from './receipt-tables.ts'
import { sessionTable } from './session-table.ts'

/**
 * A store in memory, for tests of core that need no database, and for the game in `proofs`. A unit
 * runs to its end at once, so units never overlap. It has the tables of sessions, devices,
 * subjects, rejections, idempotency keys, settings and receipts, and finds the given tenants. A
 * unit that uses another one throws.
 *
 * @param memory what is stored, for a caller that restores a backup
 */
export function memoryStore(
  { publish }: Pick<Bus, 'publish'>,
  tenants: readonly Tenant[] = [],
  memory: Memory = emptyMemory(),
): Store {
  let usedLevel = 0
  let cause: Cause | undefined
  let notifications: ChangeNotification[] = []
  const tables: Omit<Tables, 'mayWrite'> = {
    sessions: sessionTable(memory, {
      cause: () => cause,
      notify: (notification) => void notifications.push(notification),
    }),
    devices: deviceTable(memory, () => cause),
    subjects: subjectTable(memory),
    rejections: rejectionTable(memory),
    idempotency: idempotencyTable(memory),
    settings: settingTable(memory),
    tenants: {
      ...absent<Tables['tenants']>('tenants'),
      // oxlint-disable-next-line require-yield -- it is in memory
      *find(id: TenantId) {
        return tenants.find((tenant) => tenant.id === id)
      },
    },
    webhooks: absent<Tables['webhooks']>('webhooks'),
    push: {
      ...absent<Tables['push']>('push'),
      // No phone in memory subscribes.
      *subscribe() {},
      // oxlint-disable-next-line require-yield -- there is none
      *key() {
        return undefined
      },
      // oxlint-disable-next-line require-yield -- there are none
      *subscriptions() {
        return []
      },
    },
    receipts: receiptTable(memory),
    *concerns() {},
    // oxlint-disable-next-line require-yield -- there is one node
    *claimLevel(level: number) {
      usedLevel = Math.max(usedLevel, level)
      return true
    },
    // oxlint-disable-next-line require-yield -- it is in memory
    *usedLevel() {
      return usedLevel
    },
    // oxlint-disable-next-line require-yield -- it is in memory
    *admitNode({ level }: Pick<ServingNode, 'level'>) {
      return usedLevel <= level
    },
    totals: absent<Tables['totals']>('totals'),
    // oxlint-disable-next-line require-yield -- it sends no messages
    *nodes() {
      return []
    },
    audit: {
      ...absent<Tables['audit']>('audit'),
      // oxlint-disable-next-line require-yield -- it records no action
      *list() {
        return []
      },
    },
    receiptLog: receiptLogTable(memory),
    subjectData: absent<Tables['subjectData']>('subjectData'),
    // oxlint-disable-next-line require-yield -- the rows are in memory
    *purge(kind: PurgedKind, due: Due) {
      if (kind === 'reasons') return purgeRejections(memory, due)
      throw new TypeError(`the store in memory has no ${kind}`)
    },
    *phoneRows(...[id, { id: deviceId }]: Parameters<Tables['phoneRows']>) {
      const device = yield* tables.devices.find(deviceId)
      const session = yield* tables.sessions.find(id)
      const tenant = session && (yield* tables.tenants.find(session.tenantId))
      if (device === undefined || session === undefined || tenant === undefined) return undefined
      return { device, session, tenant, stats: yield* tables.sessions.deviceStats(session, device) }
    },
  }

  function run<T>(unit: Unit<T>, by: Cause | undefined): T {
    const restore = backup(memory)
    cause = by
    notifications = []
    try {
      return valueOf(unit({ ...tables, mayWrite: true }))
    } catch (failure) {
      restore()
      notifications = []
      throw failure
    }
  }
  const storeFor = (by: Cause | undefined): Store => ({
    async write(unit) {
      const value = run(unit, by)
      for (const notification of notifications) publish(notification)
      return value
    },
    read: async (unit) => valueOf(unit({ ...tables, mayWrite: false })),
    newSessionId: (_, random) => makeId('sess', random),
    during: storeFor,
    health: async () => [],
    hasClock: false,
    externalChanges: async () => [],
    async [Symbol.asyncDispose]() {},
  })
  return storeFor(undefined)
}

function valueOf<T>(work: Work<T>): T {
  const step = work.next()
  if (step.done !== true) throw new TypeError('the unit waits for another store')
  return step.value
}

function absent<Table extends object>(name: string): Table {
  return new Proxy({} as Table, {
    get() {
      throw new Error(`the store in memory has no table ${name}`)
    },
  })
}

function byTime({ rejections }: Memory): readonly StoredRejection[] {
  return [...rejections.values()].toSorted(
    (a, b) => b.at - a.at || (a.requestId < b.requestId ? 1 : -1),
  )
}

function purgeRejections(memory: Memory, { now, usualMs, limit }: Due): number {
  const doomed = byTime(memory)
    .toReversed()
    .filter(({ at }) => at <= now - usualMs)
    .slice(0, limit)
  for (const { tenantId, at, requestId } of doomed)
    memory.rejections.delete(keyOf(tenantId, at, requestId))
  return doomed.length
}

function rejectionTable(memory: Memory): RejectionTable {
  return tableOf<RejectionTable>({
    list({ since = 0, until = Number.MAX_SAFE_INTEGER, before, limit, ...wanted }) {
      const filters = Object.entries(wanted).filter(([, value]) => value !== undefined)
      const found = byTime(memory)
        .filter((row) =>
          filters.every(([member, value]) => row[member as keyof typeof row] === value),
        )
        .filter(({ at }) => at >= since && at <= until)
        .filter(
          ({ at, requestId }) =>
            before === undefined ||
            at < before.at ||
            (at === before.at && requestId < before.requestId),
        )
        .slice(0, limit)
      return { rejections: found, next: found.length === limit ? (found.at(-1) ?? null) : null }
    },
  })
}

function idempotencyTable({ idempotency }: Memory): IdempotencyTable {
  return tableOf<IdempotencyTable>({
    take({ tenantId, key, session, ...row }) {
      if (idempotency.has(keyOf(tenantId, key))) return false
      const { id: sessionId, createdAt } = session
      idempotency.set(keyOf(tenantId, key), { ...row, sessionId, createdAt })
      return true
    },
    find: (tenantId, key) => idempotency.get(keyOf(tenantId, key)),
    release(tenantId, key, sessionId) {
      if (idempotency.get(keyOf(tenantId, key))?.sessionId === sessionId)
        idempotency.delete(keyOf(tenantId, key))
    },
    purge(createdBy, limit) {
      const doomed = [...idempotency].filter(([, { createdAt }]) => createdAt <= createdBy)
      const oldest = doomed.toSorted(([, a], [, b]) => a.createdAt - b.createdAt).slice(0, limit)
      for (const [key] of oldest) idempotency.delete(key)
      return oldest.length
    },
  })
}

function settingTable({ settings }: Memory): SettingTable {
  return tableOf<SettingTable>({
    record(names, version) {
      for (const name of names) if (!settings.has(name)) settings.set(name, version)
    },
    versions: () => new Map(settings),
  })
}
