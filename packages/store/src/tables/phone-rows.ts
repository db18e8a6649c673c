import type { Tables } from '@bonded/core/ports/store'
import { rowOfEach } from '../statement.ts'
import { deviceFromRow, SELECT_DEVICE } from './device-table.ts'
import type { Writing } from './event-publisher.ts'
import { sessionFromRow } from './session-row.ts'
import { DEVICE_STATS, deviceStatsFromRow } from './session-table.ts'
import { tenantFromRow } from './tenant-row.ts'

type FindPhoneRows = Tables['phoneRows']

const DEVICE = `${SELECT_DEVICE} where id = $1`
const TENANT_AND_STATS = `${DEVICE_STATS}, tenant.*
  from (select tenant_id from session where session_key = $1 and id = $2) one
    join tenant on tenant.id = one.tenant_id
    left join pairwise_subject on pairwise_subject.tenant_id = one.tenant_id and subject_id = $3
    left join device_continuity on device_continuity.tenant_id = one.tenant_id and device_id = $4`

/** The rows table by table, each from its cache where that has it. */
export function phoneRowsOf({
  devices,
  sessions,
  tenants,
}: Pick<Tables, 'devices' | 'sessions' | 'tenants'>): FindPhoneRows {
  return function* (id, { id: deviceId, subjectId }) {
    const device = yield* devices.find(deviceId)
    const session = yield* sessions.find(id)
    const tenant = session && (yield* tenants.find(session.tenantId))
    if (device === undefined || session === undefined || tenant === undefined) return undefined
    const stats = yield* sessions.deviceStats(session, { id: deviceId, subjectId })
    return { device, session, tenant, stats }
  }
}

/** The same rows in one message. Each statement sees what others committed before it began. */
export function phoneRowsTogether({
  dialect,
  sessionKeys,
}: Pick<Writing, 'dialect' | 'sessionKeys'>): FindPhoneRows {
  return function* (id, { id: deviceId, subjectId }) {
    const key = sessionKeys.of(id)
    yield* dialect.lockSubjectOf(deviceId)
    const [device, session, rest] = yield* rowOfEach([
      { text: DEVICE, values: [deviceId] },
      {
        text: `select * from session where session_key = $1 and id = $2 ${dialect.forUpdate}`,
        values: [key, id],
      },
      { text: TENANT_AND_STATS, values: [key, id, subjectId, deviceId] },
    ])
    if (device === undefined || session === undefined || rest === undefined) return undefined
    return {
      device: deviceFromRow(device),
      session: sessionFromRow(session),
      tenant: tenantFromRow(rest),
      stats: deviceStatsFromRow(rest),
    }
  }
}
