import type { Tables } from '@bonded/core/ports/store'
import type { Work } from '@bonded/core/ports/work'
import { row, sent } from '../statement.ts'
import { auditTable } from './audit-table.ts'
import { clearingDevices, deviceCache } from './device-cache.ts'
import { deviceTable } from './device-table.ts'
import { purgeDue } from './due-rows.ts'
import type { Writing } from './event-publisher.ts'
import { idempotencyTable } from './idempotency-table.ts'
import type { RowCaches } from './row-cache.ts'
import { phoneRowsOf, phoneRowsTogether } from './phone-rows.ts'
import { pushTable } from './push-table.ts'
import { receiptLogTable } from './receipt-log-table.ts'
import { receiptTable } from './receipt-table.ts'
import { rejectionTable } from './rejection-table.ts'
import { sessionCache } from './session-cache.ts'
import { sessionTable } from './session-table.ts'
import { settingTable } from './setting-table.ts'
import { subjectDataCache } from './subject-data-cache.ts'
import { subjectDataTable } from './subject-data-table.ts'
import { subjectTable } from './subject-table.ts'
import { tenantCache } from './tenant-cache.ts'
import { tenantTable } from './tenant-table.ts'
import { totalTable } from './total-table.ts'
import { webhookTable } from './webhook-table.ts'

/** The tables as SQL: each call yields its statements and remembers nothing. */
export function sqlTables(writing: Writing): Tables {
  const parts = {
    sessions: sessionTable(writing),
    devices: deviceTable(writing),
    tenants: tenantTable(writing),
  }
  return {
    ...parts,
    mayWrite: writing.mayWrite,
    phoneRows: writing.dialect.isRemote ? phoneRowsTogether(writing) : phoneRowsOf(parts),
    subjects: subjectTable(writing),
    idempotency: idempotencyTable(writing.dialect),
    push: pushTable(writing.dialect),
    webhooks: webhookTable(writing.dialect),
    rejections: rejectionTable,
    settings: settingTable,
    totals: totalTable(writing.dialect),
    *claimLevel(level) {
      const { dialect } = writing
      if (yield* dialect.servesBelow(level)) return false
      if ((yield* usedLevel()) >= level) return true
      // A node that starts waits for this lock. One that has it before is found below.
      yield* usedLevel(dialect.forUpdate)
      if (yield* dialect.servesBelow(level)) return false
      yield* sent('update used_level set level = $1 where level < $1', [level])
      return true
    },
    usedLevel: () => usedLevel(),
    admitNode: ({ node, level }) => writing.dialect.admitNode(node, level),
    *nodes() {
      const found = yield* writing.dialect.nodes()
      return found.map(({ node, level, age_ms }) => ({
        node: String(node),
        level: Number(level),
        ageMs: Math.max(0, Number(age_ms)),
      }))
    },
    receipts: receiptTable(writing.dialect),
    receiptLog: receiptLogTable(writing.dialect),
    audit: auditTable(writing.dialect),
    *concerns() {},
    subjectData: subjectDataTable(writing.sessionKeys),
    purge: (kind, due) => purgeDue(writing.dialect, kind, due),
  }
}

function* usedLevel(lock = ''): Work<number> {
  return Number((yield* row(`select level from used_level ${lock}`, []))?.level)
}

/**
 * The same tables, which answer from memory where they can.
 *
 * @param caches the driver clears them when a unit is undone or another process has committed
 */
export function cachedTables(tables: Tables, caches: RowCaches): Tables {
  const parts = {
    sessions: sessionCache(tables.sessions, caches),
    devices: deviceCache(tables.devices, caches),
    tenants: tenantCache(tables.tenants, caches),
  }
  return {
    ...parts,
    mayWrite: tables.mayWrite,
    phoneRows: phoneRowsOf(parts),
    subjects: clearingDevices(tables.subjects, caches),
    idempotency: tables.idempotency,
    push: tables.push,
    webhooks: tables.webhooks,
    rejections: tables.rejections,
    settings: tables.settings,
    totals: tables.totals,
    claimLevel: (level) => tables.claimLevel(level),
    usedLevel: () => tables.usedLevel(),
    admitNode: (node) => tables.admitNode(node),
    nodes: () => tables.nodes(),
    receipts: tables.receipts,
    receiptLog: tables.receiptLog,
    audit: tables.audit,
    concerns: () => tables.concerns({}),
    subjectData: subjectDataCache(tables.subjectData, caches),
    purge: (kind, due) => tables.purge(kind, due),
  }
}
