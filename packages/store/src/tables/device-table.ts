import type { DeviceEvent } from '@bonded/core/domain/device-moves'
import type { Device } from '@bonded/core/domain/session'
import type {
  DeviceByToken,
  DeviceTable,
  DeviceToken,
} from '@bonded/core/ports/tables/device-table'
import type { Work } from '@bonded/core/ports/work'
import { browserKeyFromRow, browserKeyStatements } from './browser-key-columns.ts'
import type { Writing } from './event-publisher.ts'
import { membersOf, recordReader } from './record.ts'
import { windowsFromBytes, windowsToBytes } from './motion-row.ts'
import { changed, changedOnce, type Row, row, rows, sent, type SqlValue } from '../statement.ts'

/** Events stored per device: more than a phone causes in years, and a bound on storage. */
const MAX_EVENTS = 200
const eventFromRow = recordReader<DeviceEvent>(['seq', 'at', 'kind', 'step', 'request_id'])

/** The columns that a registration sets, and that need no conversion. */
const COLUMNS =
  'id subject_id format key_id public_key environment status app_id counter last_issued_at created_at added_by'.split(
    ' ',
  )
const MEMBERS = membersOf<Device>(COLUMNS)
const readDevice = recordReader<Device>(COLUMNS)

/** The SQL of the devices and of each subject's reference at a tenant. */
// oxlint-disable-next-line max-lines-per-function -- one table, a statement or two for each method
export function deviceTable({ cause, dialect }: Pick<Writing, 'cause' | 'dialect'>): DeviceTable {
  return {
    *register(device, token) {
      return yield* insertDevice(device, { token, guard: 'where true', guardValues: [] })
    },

    *addKey(device, token, maxKeys) {
      return yield* insertDevice(device, {
        token,
        guard: `where exists (select 1 from device approver
             where approver.id = $12 and approver.subject_id = $2 and approver.status = 'active')
           and not exists (select 1 from blocked_subject where subject_id = $2)
           and (select count(*) from device own where own.subject_id = $2 and own.status <> 'removed') < $18`,
        guardValues: [maxKeys],
      })
    },

    *keepReceipt(id, finding) {
      const { receipt, ...facts } = finding.verified ? finding : { ...finding, receipt: null }
      yield* row(
        'insert into device_receipt (device_id, finding, receipt) values ($1, $2, $3) returning device_id',
        [id, JSON.stringify(facts), receipt],
      )
    },

    *find(id) {
      yield* dialect.lockSubjectOf(id)
      const found = yield* row(`${SELECT_DEVICE} where id = $1`, [id])
      return found && deviceFromRow(found)
    },

    *findByKey(keyId) {
      const found = yield* row(`${SELECT_DEVICE} where key_id = $1`, [keyId])
      return found && deviceFromRow(found)
    },

    *findByToken(tokenId) {
      // One statement, because a token can move from one column to the other in between.
      const found = yield* row(`${SELECT_DEVICE} where id = (${ID_BY_TOKEN})`, [tokenId])
      return found && deviceByToken(found, found.token_id === tokenId ? IN_USE : OFFERED)
    },

    *raiseCounter(id, counter, issuedAt) {
      const raised = yield* changedOnce(
        // Synced passkeys have no counter: theirs stays 0. Requests may arrive out of order, so the
        // latest time is stored.
        `update device set counter = $2, last_issued_at = case when last_issued_at > $3 then last_issued_at else $3 end
         where id = $1 and (counter < $2 or (format = 'webauthn' and counter = 0 and $2 = 0)) and status in ('active', 'suspect')`,
        [id, counter, issuedAt],
      )
      return raised === 1
    },

    *useRequest(id, counter, issuedAt) {
      const used = yield* changed(
        `update device set counter = $2,
           last_issued_at = case when last_issued_at > $3 then last_issued_at else $3 end,
           request_issued_at = case when request_issued_at > $3 then request_issued_at else $3 end
         where id = $1 and status in ('active', 'suspect')
           and (counter < $2 or (format = 'webauthn' and counter = 0 and $2 = 0
             and (request_issued_at is null or request_issued_at < $3)))
           and not exists (select 1 from blocked_subject where blocked_subject.subject_id = device.subject_id)`,
        [id, counter, issuedAt],
      )
      return used === 1
    },

    ...browserKeyStatements,

    *suspect(id, issuedAt) {
      return (
        (yield* changed(
          `update device set status = 'suspect' where id = $1 and status = 'active' and last_issued_at < $2`,
          [id, issuedAt],
        )) === 1
      )
    },

    *move(id, { from, to }) {
      yield* changed('delete from push_subscription where device_id = $1', [id])
      if (to === 'removed') {
        yield* changed('delete from device_receipt where device_id = $1', [id])
        yield* changed('delete from device_motion where device_id = $1', [id])
      }
      const states = from.map((status) => `'${status}'`).join(', ')
      return (
        (yield* changed(`update device set status = $2 where id = $1 and status in (${states})`, [
          id,
          to,
        ])) === 1
      )
    },

    *rpIds() {
      const ids: string[] = []
      // One step in the index for each id: there are few, but as many keys as phones.
      for (;;) {
        const next = yield* row(
          `select min(rp_id) as rp_id from (
             select min(app_id) as rp_id from device
             where format = 'webauthn' and status <> 'removed' and app_id > $1
             union all
             select min(browser_rp_id) from device
             where browser_rp_id is not null and status <> 'removed' and browser_rp_id > $1) ids`,
          [ids.at(-1) ?? ''],
        )
        if (typeof next?.rp_id !== 'string') return ids
        ids.push(next.rp_id)
      }
    },

    *record(id, { at, kind, step }) {
      yield* dialect.lockDevice(id)
      yield* sent(
        `insert into device_event (device_id, seq, at, kind, step, request_id)
         select $1, coalesce(max(seq), 0) + 1, $2, $3, $4, $5 from device_event where device_id = $1`,
        [id, at, kind, step, cause()?.requestId ?? null],
      )
      yield* sent(
        'delete from device_event where device_id = $1 and seq <= (select max(seq) from device_event where device_id = $1) - $2',
        [id, MAX_EVENTS],
      )
    },

    *events(id) {
      const found = yield* rows('select * from device_event where device_id = $1 order by seq', [
        id,
      ])
      return found.map(eventFromRow)
    },

    *keysChangedAt(id) {
      const found = yield* row(
        `select max(at) as at from device_event where device_id = $1
           and kind in ('key_added', 'key_removed', 'browser_key_added', 'browser_key_removed')`,
        [id],
      )
      return typeof found?.at === 'number' ? found.at : undefined
    },

    *offerToken(id, token) {
      yield* sent(
        'update device set offered_token_id = $2, offered_token_hash = $3, offered_token_issued_at = $4 where id = $1',
        [id, token.id, token.hash, token.issuedAt],
      )
    },

    *useToken(id, tokenId) {
      const begun = yield* changed(
        `update device set token_id = offered_token_id, token_hash = offered_token_hash,
           token_issued_at = offered_token_issued_at,
           offered_token_id = null, offered_token_hash = null, offered_token_issued_at = null
         where id = $1 and offered_token_id = $2`,
        [id, tokenId],
      )
      if (begun === 1) return 'now'
      const current = yield* row('select token_id from device where id = $1', [id])
      return current?.token_id === tokenId ? 'before' : 'never'
    },

    *recent({ status, subjectId, limit }) {
      // A condition that may also be absent would keep a database from the index of subjects.
      const [ofSubject, subject] = subjectId ? ['subject_id = $3 and ', [subjectId]] : ['', []]
      const found = yield* rows(
        `${SELECT_DEVICE} where ${ofSubject}($1 = '' or status = $1) order by created_at desc, id limit $2`,
        [status ?? '', limit, ...subject],
      )
      return found.map(deviceFromRow)
    },

    *useChallenge(challenge, expiresAt) {
      const used = yield* row(
        'insert into used_challenge (challenge, expires_at) values ($1, $2) on conflict (challenge) do nothing returning challenge',
        [challenge, expiresAt],
      )
      return used !== undefined
    },

    *purgeChallenges(now, limit) {
      const doomed = yield* rows(
        `select challenge from used_challenge where expires_at between 0 and $1
         order by expires_at limit $2 ${dialect.forWork}`,
        [now, limit],
      )
      // One at a time: until PostgreSQL has analyzed a table, it reads all of it to find several.
      for (const { challenge } of doomed)
        yield* sent('delete from used_challenge where challenge = $1', [String(challenge)])
      return doomed.length
    },

    *motion(id) {
      const found = yield* row(
        'select root_key_id, windows from device_motion where device_id = $1',
        [id],
      )
      if (found === undefined) return undefined
      return {
        keyId: String(found.root_key_id),
        windows: windowsFromBytes(found.windows as Uint8Array),
      }
    },

    *storeMotion(id, memory) {
      const { keyId, windows } = memory
      yield* sent(
        `insert into device_motion (device_id, root_key_id, windows) values ($1, $2, $3)
         on conflict (device_id) do update set root_key_id = excluded.root_key_id, windows = excluded.windows`,
        [id, keyId, windowsToBytes(windows)],
      )
    },

    *pairwise({ tenantId, subjectId, subjectRef }) {
      yield* sent(INSERT_PAIRWISE, [tenantId, subjectId, subjectRef])
      const stored = yield* row(
        'select subject_ref from pairwise_subject where tenant_id = $1 and subject_id = $2',
        [tenantId, subjectId],
      )
      if (stored === undefined) throw new Error('another subject has this subject_ref')
      return String(stored.subject_ref)
    },
  }
}

const INSERT_PAIRWISE = `insert into pairwise_subject (tenant_id, subject_id, subject_ref)
  values ($1, $2, $3) on conflict do nothing`

/** `guard` may use the columns' values by number. Its own values start at $18. */
function* insertDevice(
  device: Device,
  change: { token: DeviceToken; guard: string; guardValues: readonly number[] },
): Work<boolean> {
  const { token, guard, guardValues } = change
  const registered = yield* row(
    `insert into device (${COLUMNS.join(', ')}, webauthn, build, token_id, token_hash, token_issued_at)
     select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17
     ${guard} on conflict (key_id) do nothing returning id`,
    [
      ...MEMBERS.map(([, member]) => (device[member] ?? null) as SqlValue),
      jsonOrNull(device.webauthn),
      jsonOrNull(device.build),
      token.id,
      token.hash,
      token.issuedAt,
      ...guardValues,
    ],
  )
  return registered !== undefined
}

/** The columns of the token in use. */
const IN_USE = {
  id: 'token_id',
  hash: 'token_hash',
  issuedAt: 'token_issued_at',
  offered: false,
} as const
/** The columns of the token that is offered beside it. */
const OFFERED = {
  id: 'offered_token_id',
  hash: 'offered_token_hash',
  issuedAt: 'offered_token_issued_at',
  offered: true,
} as const

function deviceByToken(found: Row, column: typeof IN_USE | typeof OFFERED): DeviceByToken {
  const token = {
    id: found[column.id] as string,
    hash: found[column.hash] as Uint8Array,
    issuedAt: Number(found[column.issuedAt]),
  }
  return { device: deviceFromRow(found), token, offered: column.offered }
}

/** Each part has an index. With `or`, PostgreSQL reads all devices until it has analyzed them. */
const ID_BY_TOKEN = `select id from device where token_id = $1
  union all select id from device where offered_token_id = $1 limit 1`

/**
 * Selects devices with the block of their subject, which applies to all of the subject's devices.
 */
export const SELECT_DEVICE =
  'select device.*, exists (select 1 from blocked_subject where blocked_subject.subject_id = device.subject_id) as subject_blocked from device'

/** Converts a row of `SELECT_DEVICE` into a device. */
export function deviceFromRow(found: Row): Device {
  return {
    ...readDevice(found),
    subjectBlocked: Boolean(found.subject_blocked),
    webauthn: fromJson(found.webauthn) as Device['webauthn'],
    build: fromJson(found.build) as Device['build'],
    browserKey: browserKeyFromRow(found),
  }
}

function jsonOrNull(facts: object | undefined): string | null {
  return facts === undefined ? null : JSON.stringify(facts)
}

function fromJson(text: Row[string] | undefined): unknown {
  return typeof text === 'string' ? (JSON.parse(text) as unknown) : undefined
}
