import type { DeviceId, SessionId, TenantId } from '@bonded/contract'
import type { Session } from '@bonded/core/domain/session'
import type { Tables } from '@bonded/core/ports/store'
import type { DeviceByToken, DeviceTable } from '@bonded/core/ports/tables/device-table'
import type { SessionTable } from '@bonded/core/ports/tables/session-table'
import type { Work } from '@bonded/core/ports/work'
import type { TenantTable } from '@bonded/core/ports/tables/tenant-table'
import { GenerationCache } from '@bonded/core/collections/generation-cache'
import { insertPairwise } from '../../tables/device-table.ts'
import type { SessionKeys } from '../../tables/session-keys.ts'
import { differenceOf } from '../../tables/session-row.ts'
import { KINDS, type RowKind, type StoredDevice } from './row-kinds.ts'
import { type RowKey, rowKey } from './row-cache.ts'
import { MISSING, MissingRows, NEEDS_SQL, type UnitRun } from './unit-run.ts'

interface Parts {
  readonly sessionKeys: SessionKeys
  /** The run that is under way. Runs do not pause, so there is one at a time. */
  readonly run: () => UnitRun
}

/**
 * Returns the tables with their reads by key from the cache. If the cache does not have the row,
 * the unit yields `MissingRows` and runs again from the beginning once the row has been read. Later
 * reads of the same unit see what it has written. The other methods are those of the SQL tables.
 */
export function cachedTables(tables: Tables, parts: Parts): Tables {
  return {
    ...tables,
    get mayWrite() {
      return parts.run().mayWrite
    },
    sessions: cachedSessions(tables.sessions, parts),
    devices: cachedDevices(tables.devices, parts),
    tenants: cachedTenants(tables.tenants, parts),
  }
}

function* find<Value>(run: UnitRun, key: RowKey<Value>): Work<Value | undefined> {
  const found = run.find(key)
  if (found !== MISSING && found !== NEEDS_SQL) return found
  // The driver ends the run here. It runs the unit again with the row, or runs it on SQL.
  yield found === MISSING ? new MissingRows([key]) : found
  return undefined
}

// oxlint-disable-next-line max-lines-per-function -- one table, a few lines for each method
function cachedSessions(table: SessionTable, { sessionKeys, run }: Parts): SessionTable {
  function* keyOf(id: SessionId): Work<RowKey<Session>> {
    return rowKey(KINDS.session, yield* sessionKeys.of(id))
  }

  function* drop(id: SessionId): Work<void> {
    const key = yield* keyOf(id)
    run().changed.set(key.text, { key, value: undefined })
  }

  function* replacing(before: Session, work: Work<Session | undefined>): Work<Session | undefined> {
    const key = yield* keyOf(before.id)
    // If the unit started from another version, `after` is not what the database will store, so
    // the row is dropped instead of replaced.
    const isCurrent = run().find(key) === before
    const after = yield* work
    if (after !== undefined && differenceOf(before, after).values.length > 0)
      run().changed.set(key.text, { key, value: isCurrent ? after : undefined })
    return after
  }

  return {
    ...table,

    *create(session) {
      const created = yield* table.create(session)
      const key = yield* keyOf(session.id)
      run().changed.set(key.text, { key, value: session })
      return created
    },

    *find(id) {
      const found = yield* find(run(), yield* keyOf(id))
      // Two ids can have the same key.
      return found?.id === id ? found : undefined
    },

    move: (session, move, change) => replacing(session, table.move(session, move, change)),
    countMiss: (session, change) => replacing(session, table.countMiss(session, change)),
    claim: (session, claim) => replacing(session, table.claim(session, claim)),
    hint: (session, hint, now) => replacing(session, table.hint(session, hint, now)),

    *withdraw(session) {
      yield* drop(session.id)
      yield* table.withdraw(session)
    },

    *receiptMade(session) {
      yield* drop(session.id)
      yield* table.receiptMade(session)
    },

    *storeOrigin(id, origin) {
      yield* drop(id)
      yield* table.storeOrigin(id, origin)
    },

    *deviceStats({ id, tenantId }, device) {
      const failures = rowKey(KINDS.failures, yield* sessionKeys.of(id), device.id)
      const subjectRef = rowKey(KINDS.subjectRef, tenantId, device.subjectId)
      const continuity = rowKey(KINDS.continuity, tenantId, device.id)
      const missing = [failures, subjectRef, continuity].filter(
        (key: RowKey) => run().find(key) === MISSING,
      )
      if (missing.length > 0) yield new MissingRows(missing)
      const bonds = yield* find(run(), continuity)
      const reference = yield* find(run(), subjectRef)
      return {
        failures: (yield* find(run(), failures)) ?? 0,
        subjectRef: reference?.subjectRef,
        subjectBlocked: reference?.blocked === true,
        continuity: bonds?.mean,
        hasCompleted: bonds?.hasCompleted === true,
      }
    },

    *storeContinuity(row) {
      const key = rowKey(KINDS.continuity, row.tenantId, row.deviceId)
      const before = yield* find(run(), key)
      yield* table.storeContinuity(row)
      const value = { mean: row.mean, hasCompleted: before?.hasCompleted === true }
      run().changed.set(key.text, { key, value })
    },

    *storeCompletion(row) {
      const key = rowKey(KINDS.continuity, row.tenantId, row.deviceId)
      // The statement is guarded, so a row that is not in the cache need not be read for it.
      const before = run().find(key)
      const isFound = typeof before === 'object'
      if (isFound && before.hasCompleted) return
      yield* table.storeCompletion(row)
      const value = isFound ? { ...before, hasCompleted: true } : undefined
      run().changed.set(key.text, { key, value })
    },
  }
}

/** As many tokens as devices: each device uses one. */
const MAX_TOKENS = KINDS.device.maxRows

function cachedDevices(table: DeviceTable, { run }: Parts): DeviceTable {
  /** Which device to look at for a token. Its row says whether the token is still valid. */
  const owners = new GenerationCache<string, DeviceId>(MAX_TOKENS)

  function* findStored(key: RowKey<StoredDevice>): Work<StoredDevice | undefined> {
    const found = yield* find(run(), key)
    // Units that act for one subject run one after another.
    if (found !== undefined) run().subjectIds.add(found.device.subjectId)
    return found
  }

  return {
    ...table,

    *find(id) {
      return (yield* findStored(rowKey(KINDS.device, id)))?.device
    },

    *findByToken(tokenId) {
      const owner = owners.get(tokenId)
      if (owner !== undefined) {
        const byToken = byTokenOf(yield* find(run(), rowKey(KINDS.device, owner)), tokenId)
        if (byToken !== undefined) return byToken
      }
      const found = yield* find(run(), rowKey(KINDS.token, tokenId))
      if (found !== undefined) owners.set(tokenId, found.device.id)
      return byTokenOf(found, tokenId)
    },

    *raiseCounter(id, counter, issuedAt) {
      const key = rowKey(KINDS.device, id)
      const before = yield* findStored(key)
      const raised = yield* table.raiseCounter(id, counter, issuedAt)
      if (before === undefined) yield NEEDS_SQL
      else {
        const lastIssuedAt = Math.max(before.device.lastIssuedAt ?? issuedAt, issuedAt)
        const device = { ...before.device, counter, lastIssuedAt }
        run().changed.set(key.text, { key, value: { ...before, device } })
      }
      return raised
    },

    *offerToken() {
      yield NEEDS_SQL
    },

    *pairwise(row) {
      const key = rowKey(KINDS.subjectRef, row.tenantId, row.subjectId)
      const stored = yield* find(run(), key)
      if (stored !== undefined) return stored.subjectRef
      // The transaction fails if another one stores the reference first.
      yield* insertPairwise(row)
      const value = { subjectRef: row.subjectRef, blocked: false }
      run().changed.set(key.text, { key, value })
      return row.subjectRef
    },

    *motion(id: DeviceId) {
      return yield* find(run(), rowKey(KINDS.motion, id))
    },

    *storeMotion(id, memory) {
      yield* table.storeMotion(id, memory)
      const key = rowKey(KINDS.motion, id)
      run().changed.set(key.text, { key, value: memory })
    },
  }
}

function byTokenOf(found: StoredDevice | undefined, tokenId: string): DeviceByToken | undefined {
  const of = found?.tokens.find(({ token }) => token.id === tokenId)
  return found && of && { device: found.device, ...of }
}

function cachedTenants(table: TenantTable, { run }: Parts): TenantTable {
  const finder =
    <Value>(kind: RowKind<Value>) =>
    (key: string) =>
      find(run(), rowKey(kind, key))
  return {
    ...table,
    find: (id: TenantId) => finder(KINDS.tenant)(id),
    findServerCredential: finder(KINDS.serverCredential),
    findPublishableKey: finder(KINDS.publishableKey),
    *knowsOrigin(origin) {
      return (yield* find(run(), rowKey(KINDS.origin, origin))) === true
    },
  }
}
