import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { after, mock, test } from 'node:test'
import type { SessionId, SubjectId } from '@bonded/contract'
import { reportBrowserProof } from '../../../../core/src/operations/admin/browser-proof.ts'
import { inspectSession } from '../../../../core/src/operations/admin/inspect-session.ts'
import { listSessions } from '../../../../core/src/operations/admin/list-sessions.ts'
import { reportCompletions } from '../../../../core/src/operations/admin/report-completions.ts'
import { findSubjectId, inspectSubject } from '../../../../core/src/operations/admin/subjects.ts'
import { reportTotals } from '../../../../core/src/operations/admin/report-totals.ts'
import { reportWebhooks } from '../../../../core/src/operations/admin/report-webhooks.ts'
import {
  createEndpoint,
  inspectEvent,
  listDeliveries,
  recoverEndpoint,
} from '../../../../core/src/operations/admin/webhooks.ts'
import { TOTALS_GROUPINGS } from '../../../../core/src/domain/totals.ts'
import { expireSessions } from '../../../../core/src/operations/maintenance/expire-sessions.ts'
import { purgeSessions } from '../../../../core/src/operations/maintenance/purge-sessions.ts'
import {
  dueEndpoints,
  measureWebhooks,
} from '../../../../core/src/operations/webhook/send-webhooks.ts'
import { harness, ROOT_KEY } from '../../../../../tests/harness/harness.ts'
import { keyringOf } from '../../../src/adapters/keys/keyring.ts'
import { SessionKeys } from '../../../../store/src/tables/session-keys.ts'
import { MAX_FILTERED } from '../../../../store/src/tables/session-list.ts'

/**
 * Parts of a statement, which are bounded, and tables with a few rows for each tenant. The poll of
 * webhooks, which runs twice a second, names their endpoints `e`.
 */
const SMALL = new Set(
  'part w due counted firsts live total sqlite_schema tenant webhook_endpoint'.split(' '),
)

const h = await harness()
after(() => h[Symbol.asyncDispose]())
const file = h.databaseFile

/** The texts of all statements that the work runs. */
async function textsOf(work: () => Promise<unknown>): Promise<readonly string[]> {
  const texts = new Set<string>()
  const prepare = mock.method(DatabaseSync.prototype, 'prepare')
  try {
    // A new connection, because each prepares a text once.
    await h.restart()
    await work()
  } finally {
    prepare.mock.restore()
  }
  for (const { arguments: given } of prepare.mock.calls) texts.add(given[0])
  return [...texts]
}

test('no command, page, or background work of the operator reads a growing table from end to end', async () => {
  const { session, phone } = await h.reach('completed')
  const tenantId = h.shop.tenant.id
  const url = 'https://bank.example/hook'
  const { endpoint } = await createEndpoint(h.service, {
    tenantId,
    url,
    events: null,
    scheme: 'v1',
  })
  await h.create()
  const texts = await textsOf(async () => {
    const { service } = h
    const now = h.clock.now()
    await listSessions(service, { limit: 10 })
    await listSessions(service, {
      limit: 10,
      tenantId,
      state: 'expired',
      after: session.id as SessionId,
    })
    const subjectRef = 'x'.repeat(43)
    await listSessions(service, { limit: 10, subjectRef, since: now, until: now })
    for (const by of TOTALS_GROUPINGS)
      await reportTotals(service, { since: 0, by, limit: 10, tenantId, workflow: 'w' })
    await inspectSession(service, session.id as SessionId)
    await inspectSubject(service, phone.subject_id as SubjectId)
    await assert.rejects(findSubjectId(service, { subjectRef }), /knows no user/)
    await reportBrowserProof(service, () => undefined)
    await reportCompletions(service)
    await reportWebhooks(service)
    for (const state of [undefined, 'failed'] as const)
      await listDeliveries(service, { tenantId, limit: 10, state })
    const [delivery] = (await listDeliveries(service, { tenantId, limit: 1 })).deliveries
    if (delivery !== undefined) await inspectEvent(service, delivery.eventId)
    await recoverEndpoint(service, endpoint.id, now)
    await dueEndpoints(service, 10)
    await measureWebhooks(service)
    await expireSessions(service)
    await purgeSessions(service)
  })
  using database = new DatabaseSync(file, { readOnly: true })
  const expensive = texts
    .filter((text) => /^\s*(with|select|update|delete)\b/i.test(text))
    .map((text) => ({ text, scans: planOf(database, text).flatMap(scanOf) }))
    .filter(({ scans }) => scans.some((name) => !SMALL.has(name)))
  assert.deepEqual(expensive, [])
})

/** What a line of a plan reads from end to end. */
function scanOf(line: string): string[] {
  const [, name] = /^SCAN (\S+)(?! USING .*INDEX)$/.exec(line) ?? []
  return name === undefined ? [] : [name]
}

function planOf(database: DatabaseSync, text: string): readonly string[] {
  return database
    .prepare(`explain query plan ${text}`)
    .all()
    .map(({ detail }) => String(detail))
}

test('a filter reads a part of the sessions, and the next page begins there', async () => {
  const newest = await h.create()
  {
    using database = new DatabaseSync(file)
    const columns = database
      .prepare(`select name from pragma_table_info('session')`)
      .all()
      .map(({ name }) => String(name))
      .filter((name) => !['session_key', 'id', 'tenant_id'].includes(name))
    const list = columns.join(', ')
    const stored = database.prepare('select sealed from session_id_key').get()
    const { idKeys } = keyringOf([ROOT_KEY])
    const keys = new SessionKeys(idKeys.open(String(stored?.sealed)).cipher)
    const insert = database.prepare(
      `insert into session (session_key, id, tenant_id, ${list})
       select ?, ?, 'ten_other', ${list} from session where session_key = ?`,
    )
    database.exec('begin')
    for (let at = 1; at <= MAX_FILTERED + 5; at++) {
      const id = keys.newId(at, Buffer.alloc(16))
      insert.run(keys.of(id), id, keys.of(newest.id as SessionId))
    }
    database.exec('commit')
  }
  await h.restart()
  const tenantId = h.shop.tenant.id
  const own = (await listSessions(h.service, { limit: 1_000 })).sessions.filter(
    ({ session }) => session.tenantId === tenantId,
  )
  const first = await listSessions(h.service, { tenantId, limit: 1_000 })
  assert.deepEqual(
    first.sessions.map(({ session }) => session.id),
    own.map(({ session }) => session.id),
  )
  assert.ok(first.next !== undefined)
  const rest = await listSessions(h.service, { tenantId, limit: 10, after: first.next })
  assert.deepEqual(rest, { sessions: [], next: undefined })
})
